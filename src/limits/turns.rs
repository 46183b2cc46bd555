//! Work of which few are done at a time, with turns that are fair: whoever asks for much of it waits for their own.
//!
//! Those who wait stand in one line for each holder, and the lines have turns one after the other. So a caller with one piece of
//! work waits for one piece of each other, however many those have.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use foldhash::HashMap;
use parking_lot::Mutex;
use stet_actors::error::{Code, Error, Result};
use tokio::sync::oneshot;

use super::Holder;

tokio::task_local! {
    /// On whose behalf a request's task works; nobody's until that is known.
    static BEHALF: RefCell<Option<Holder>>;
}

/// Runs a task that can say on whose behalf it works ([`on_behalf_of`]).
pub async fn with_behalf<T>(task: impl Future<Output = T>) -> T {
    BEHALF.scope(RefCell::new(None), task).await
}

/// What this task does from here on is for that holder.
pub fn on_behalf_of(holder: Holder) {
    // Outside a request it is nobody's.
    let _ = BEHALF.try_with(|behalf| *behalf.borrow_mut() = Some(holder));
}

fn behalf() -> Option<Holder> {
    BEHALF.try_with(|behalf| behalf.borrow().clone()).ok().flatten()
}

/// See the module's head. A clone is the same.
#[derive(Clone)]
pub struct Turns(Arc<Inner>);

struct Inner {
    /// What waits, for people: `passwords`.
    about: &'static str,
    /// How many of one holder may wait.
    most: usize,
    lines: Mutex<Lines>,
    refused: metrics::Counter,
}

struct Lines {
    /// How many more may work now; none while somebody waits.
    free: usize,
    /// Those who wait, by holder. Nobody's own is the server's.
    waiting: HashMap<Option<Holder>, VecDeque<oneshot::Sender<Turn>>>,
    /// Whose line is next.
    order: VecDeque<Option<Holder>>,
}

/// Somebody's turn, until this is dropped.
pub struct Turn(Option<Arc<Inner>>);

impl Turns {
    /// `at_once` have a turn at a time; `most` of one holder may wait. `name` is the label in the metrics, `about` what messages
    /// call the work.
    pub fn new(name: &'static str, about: &'static str, at_once: usize, most: usize) -> Turns {
        let lines = Lines { free: at_once.max(1), waiting: HashMap::default(), order: VecDeque::new() };
        let refused = metrics::counter!("stet_overloaded_total", "what" => name);
        Turns(Arc::new(Inner { about, most, lines: Mutex::new(lines), refused }))
    }

    /// A turn, when it has come, for whom the present task works.
    ///
    /// # Errors
    /// `Overloaded`: too many of the same holder wait already.
    pub async fn turn(&self) -> Result<Turn> {
        let holder = behalf();
        let coming = {
            let mut lines = self.0.lines.lock();
            if lines.free > 0 {
                lines.free -= 1;
                return Ok(Turn(Some(self.0.clone())));
            }
            let Lines { waiting, order, .. } = &mut *lines;
            let is_new = !waiting.contains_key(&holder);
            let line = waiting.entry(holder.clone()).or_default();
            // Who has gone away waits no more.
            if line.len() >= self.0.most {
                line.retain(|waiting| !waiting.is_closed());
            }
            if holder.is_some() && line.len() >= self.0.most {
                self.0.refused.increment(1);
                let message =
                    format!("Too many of your {} wait for their turn; nothing was changed, try again.", self.0.about);
                return Err(Error::new(Code::Overloaded, message));
            }
            if is_new {
                order.push_back(holder);
            }
            let (give, coming) = oneshot::channel();
            line.push_back(give);
            coming
        };
        // The sender is only dropped with a turn.
        coming.await.map_err(|_| Error::internal())
    }
}

impl Lines {
    /// Who is next.
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        let holder = self.order.pop_front()?;
        let line = self.waiting.get_mut(&holder)?;
        let next = line.pop_front();
        if line.is_empty() {
            self.waiting.remove(&holder);
        } else {
            self.order.push_back(holder);
        }
        next
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(inner) = self.0.take() else { return };
        loop {
            let mut lines = inner.lines.lock();
            let Some(next) = lines.next() else {
                lines.free += 1;
                return;
            };
            drop(lines);
            // One that has gone away gives the turn back, to be offered to the next: not dropped here, or this would be recursive.
            match next.send(Turn(Some(inner.clone()))) {
                Ok(()) => return,
                Err(mut unwanted) => unwanted.0 = None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::join_all;

    use super::*;

    fn user(name: &str) -> Holder {
        Holder::User(name.into())
    }

    async fn of<T>(name: &str, task: impl Future<Output = T>) -> T {
        with_behalf(async {
            on_behalf_of(user(name));
            task.await
        })
        .await
    }

    #[tokio::test]
    async fn lines_have_turns_one_after_the_other_however_long_they_are() {
        let turns = Turns::new("test", "tests", 1, 100);
        let first = turns.turn().await.unwrap();
        let order = Mutex::new(Vec::new());
        let work = async |name: &'static str| {
            let turn = of(name, turns.turn()).await.unwrap();
            order.lock().push(name);
            tokio::task::yield_now().await;
            drop(turn);
        };
        let names = ["a", "a", "a", "a", "b", "c", "b"];
        let all = join_all(names.map(work));
        let begin = async {
            tokio::task::yield_now().await;
            drop(first);
        };
        tokio::join!(all, begin);
        assert_eq!(*order.lock(), ["a", "b", "c", "a", "b", "a", "a"]);
        let lines = turns.0.lines.lock();
        assert_eq!((lines.free, lines.waiting.len(), lines.order.len()), (1, 0, 0));
    }

    #[tokio::test]
    async fn one_holder_has_so_many_waiting_and_who_goes_away_takes_no_turn() {
        let turns = Turns::new("test", "tests", 1, 2);
        let first = of("a", turns.turn()).await.unwrap();
        let mut waiting: Vec<_> = (0..2).map(|_| Box::pin(of("a", turns.turn()))).collect();
        for waiting in &mut waiting {
            assert!(waiting.as_mut().now_or_never().is_none());
        }
        let refused = of("a", turns.turn()).await.err().expect("two wait");
        assert_eq!(refused.code, Code::Overloaded);
        // Others wait, and so do those who come when others of the same have gone away.
        let mut other = Box::pin(of("b", turns.turn()));
        assert!(other.as_mut().now_or_never().is_none());
        drop(waiting);
        let mut again = Box::pin(of("a", turns.turn()));
        assert!(again.as_mut().now_or_never().is_none());
        drop(first);
        assert!(other.as_mut().now_or_never().is_none(), "one at a time");
        drop(again.await.unwrap());
        drop(other.await.unwrap());
        // What is nobody's is the server's own.
        drop(turns.turn().await.unwrap());
    }
}
