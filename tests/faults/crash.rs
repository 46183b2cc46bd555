//! Losses of power: any part of the unsynced writes may remain, torn at any sector, or nothing.

use super::errors::at_every_sync;
use super::model::{FIRST, Possible};
use super::*;

#[test]
fn a_loss_of_power_at_any_sync_loses_nothing_acknowledged() {
    at_every_sync(DiskFault::Crash, 1, 3);
}

#[test]
fn acknowledged_calls_survive_power_loss_after_each_call() {
    for (seed, last) in (1..=FIRST.len()).enumerate() {
        let mut house = House::shared();
        house.start();
        let mut possible = Possible::new();
        for step in &FIRST[..last] {
            assert_eq!(possible.send(&house.client(), *step, || false).status, 200);
        }
        house.lose_power(seed as u64);
        house.start();
        possible.check(&house.client(), &format!("after {last} calls"));
        house.stop();
        assert_eq!(house.faults(), Vec::<String>::new(), "after {last} calls");
    }
}
