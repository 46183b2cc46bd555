//! A work queue for several threads, to which the work itself can add.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

struct TransferQueueState<T> {
    waiting: VecDeque<T>,
    under_way: usize,
}

/// A queue of tasks for a group of threads.
pub struct TransferQueue<T> {
    state: Mutex<TransferQueueState<T>>,
    more: Condvar,
}

impl<T: Send> TransferQueue<T> {
    /// Runs all tasks, and those that they add, on the given number of threads.
    pub fn all(first: Vec<T>, threads: usize, one: impl Fn(T, &TransferQueue<T>) + Sync) {
        let work = TransferQueue {
            state: Mutex::new(TransferQueueState { waiting: first.into(), under_way: 0 }),
            more: Condvar::new(),
        };
        std::thread::scope(|scope| {
            for _ in 0..threads.max(1) {
                scope.spawn(|| {
                    while let Some(next) = work.take() {
                        let _done = RunningTask(&work);
                        one(next, &work);
                    }
                });
            }
        });
    }

    /// Adds tasks.
    pub fn add(&self, more: impl IntoIterator<Item = T>) {
        self.state.lock().waiting.extend(more);
        self.more.notify_all();
    }

    /// Returns the next task; `None` when the queue is empty and no running task could add any.
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

/// Marks a task as ended when it is dropped, even in a panic.
struct RunningTask<'w, T>(&'w TransferQueue<T>);

impl<T> Drop for RunningTask<'_, T> {
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
        TransferQueue::all(vec![3_u32, 2], 4, |n, work| {
            work.add((0..n).map(|_| n - 1));
            done.lock().push(n);
        });
        let mut done = done.into_inner();
        done.sort_unstable();
        // 3 adds three 2, each of which adds two 1, each of which adds a 0; and one more 2 was
        // there from the start.
        let count = |n: u32| done.iter().filter(|done| **done == n).count();
        assert_eq!([3, 2, 1, 0].map(count), [1, 4, 8, 8]);
        TransferQueue::all(Vec::<u32>::new(), 4, |_, _| unreachable!("there is no work"));
    }
}
