//! Work that several threads do, of which some brings more.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

struct State<T> {
    waiting: VecDeque<T>,
    under_way: usize,
}

/// Work that is to be done.
pub struct Work<T> {
    state: Mutex<State<T>>,
    more: Condvar,
}

impl<T: Send> Work<T> {
    /// Does all of it, and all that comes with it, on so many threads.
    pub fn all(first: Vec<T>, threads: usize, one: impl Fn(T, &Work<T>) + Sync) {
        let work = Work { state: Mutex::new(State { waiting: first.into(), under_way: 0 }), more: Condvar::new() };
        std::thread::scope(|scope| {
            for _ in 0..threads.max(1) {
                scope.spawn(|| {
                    while let Some(next) = work.take() {
                        let _done = Done(&work);
                        one(next, &work);
                    }
                });
            }
        });
    }

    /// More work.
    pub fn add(&self, more: impl IntoIterator<Item = T>) {
        self.state.lock().waiting.extend(more);
        self.more.notify_all();
    }

    /// The next; `None` when there is no more, and none that could bring some.
    fn take(&self) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if let Some(next) = state.waiting.pop_front() {
                state.under_way += 1;
                return Some(next);
            }
            if state.under_way == 0 {
                return None;
            }
            self.more.wait(&mut state);
        }
    }
}

/// One piece of work has ended, be it in a panic.
struct Done<'w, T>(&'w Work<T>);

impl<T> Drop for Done<'_, T> {
    fn drop(&mut self) {
        self.0.state.lock().under_way -= 1;
        self.0.more.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_is_done_by_many_and_what_comes_with_it() {
        let done = Mutex::new(Vec::new());
        Work::all(vec![3_u32, 2], 4, |n, work| {
            work.add((0..n).map(|_| n - 1));
            done.lock().push(n);
        });
        let mut done = done.into_inner();
        done.sort_unstable();
        // 3 brings three 2, each of which two 1, each of which a 0; and there is a 2 beside.
        let count = |n: u32| done.iter().filter(|done| **done == n).count();
        assert_eq!([3, 2, 1, 0].map(count), [1, 4, 8, 8]);
        Work::all(Vec::<u32>::new(), 4, |_, _| unreachable!("there is no work"));
    }
}
