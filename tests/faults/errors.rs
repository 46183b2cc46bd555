//! I/O errors, a full disk and a loss of power at every sync of each of the store's files. The
//! scenario creates objects, fills drawers, moves and removes, makes a checkpoint, and restarts the
//! server.

use super::model::{FIRST, Possible, SECOND, Step, THIRD};
use super::*;

/// A plan for one file, printed when something fails.
#[derive(Debug, Clone, Copy)]
pub struct At {
    pub file: StoreFile,
    pub plan: FaultPlan,
}

/// A run of the scenario under a plan.
struct Run {
    house: House,
    possible: Possible,
    when: String,
}

impl Run {
    fn is_down(&self) -> bool {
        self.house.disk.boots() > 0
    }

    /// Starts the server. If the fault strikes then, it comes up once that is over.
    fn start(&mut self) {
        if self.house.try_start().is_err() {
            let when = &self.when;
            assert!(self.house.disk.struck() > 0, "{when}: it does not come up, for no reason");
            self.house.disk.heal();
            self.house.try_start().unwrap_or_else(|error| panic!("{when}: it does not come up: {error}"));
        }
    }

    /// Sends calls, until the machine is down. A fault that lasts is mended once a call has met it,
    /// and the call is sent again.
    fn send(&mut self, steps: &[Step]) {
        let client = self.house.client();
        for step in steps {
            if self.is_down() {
                return;
            }
            let disk = self.house.disk.clone();
            let answer = self.possible.send(&client, *step, || disk.boots() > 0);
            if matches!(answer.status, 500 | 507) {
                assert!(disk.struck() > 0, "{}: {step:?} failed for no reason: {answer:?}", self.when);
                disk.heal();
                self.recovers();
                let begun = std::time::Instant::now();
                // The server reports that it is ready while it still reopens the journal after a
                // full disk.
                while !self.is_down() && self.possible.send(&client, *step, || disk.boots() > 0).status != 200 {
                    assert!(begun.elapsed() < PATIENCE, "{}: {step:?} never goes through", self.when);
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
            }
        }
    }

    /// Waits until the store works again, by itself.
    fn recovers(&self) {
        let ready = || self.is_down() || self.house.readiness().0 == 200;
        wait_until(&format!("{}: the server is ready again", self.when), ready);
    }

    /// Waits for the checkpoint that the number of rows has started. It syncs twice.
    fn checkpoint(&self, before: u64) {
        let done = || {
            let well = self.house.readiness().1.is_empty();
            // A failed step is retried. A lasting fault is removed once it has been reported.
            if self.house.disk.struck() > 0 && !well {
                self.house.disk.heal();
            }
            self.is_down() || (well && self.house.disk.syncs_of(StoreFile::State) >= before + 2)
        };
        wait_until(&format!("{}: the checkpoint is made", self.when), done);
    }

    /// Runs the whole scenario, and checks the state before and after a loss of power.
    fn all(mut self, seed: u64) -> Run {
        self.start();
        let before = self.house.disk.syncs_of(StoreFile::State);
        self.send(FIRST);
        self.checkpoint(before);
        self.send(SECOND);
        self.house.stop();
        if !self.is_down() {
            self.start();
            self.send(THIRD);
        }
        if !self.is_down() {
            self.house.disk.heal();
            self.recovers();
            let when = format!("{}, still running", self.when);
            self.possible.check(&self.house.client(), &when);
        }
        if self.is_down() {
            self.house.stop()
        } else {
            self.house.lose_power(seed)
        }
        self.house.start();
        let when = format!("{}, after a loss of power", self.when);
        let client = self.house.client();
        self.possible.check(&client, &when);
        let after = self.possible.send(&client, Step::Story("after", 10), || false);
        assert_eq!(after.status, 200, "{when}: {after:?}");
        assert_eq!(self.house.readiness(), (200, String::new()), "{when}");
        self.house.stop();
        assert_eq!(self.house.faults(), Vec::<String>::new(), "{when}");
        self
    }
}

/// Runs the scenario. Returns the number of syncs of each file, and whether the fault occurred.
fn play(at: Option<At>) -> ([u64; 3], bool) {
    let mut house = House::shared();
    // The calls before the restart reach this number, so that a checkpoint runs among them.
    house.config.store.checkpoint_rows = 45;
    let when = format!("{at:?}");
    if let Some(At { file, plan }) = at {
        house.disk.plan_for(file, plan);
    }
    let run = Run { house, possible: Possible::new(), when }.all(at.map_or(0, |at| at.plan.at));
    let came = run.house.disk.struck() > 0 || run.is_down();
    (StoreFile::ALL.map(|file| run.house.disk.syncs_of(file)), came)
}

/// The number of syncs of a file that not every run has. The server's own commits share a call's
/// commit in some runs and not in others.
const LOOSE: u64 = 6;

/// Lets every sync of each file fail in this way, each in a run of its own.
///
/// In the short form, every third sync fails. Of the six faults, two begin with each of the first
/// three syncs (`begin`), so each sync meets two faults. `STET_FAULT_STRIDE=1` selects the long
/// form.
pub fn at_every_sync(fault: DiskFault, times: u64, begin: u64) {
    let (counted, _) = play(None);
    let stride = setting("STET_FAULT_STRIDE").unwrap_or(3).max(1);
    for (file, syncs) in StoreFile::ALL.into_iter().zip(counted) {
        for at in (1..=syncs).filter(|at| at % stride == begin % stride) {
            let at = At { file, plan: FaultPlan { at, times, fault } };
            let (_, came) = play(Some(at));
            assert!(came || at.plan.at + LOOSE > syncs, "{at:?}: the fault never came");
        }
    }
}

#[test]
fn an_io_error_at_any_sync_is_told_and_loses_nothing_acknowledged() {
    at_every_sync(DiskFault::Sync, 1, 1);
}

#[test]
fn io_errors_that_last_are_told_and_the_server_recovers_when_they_end() {
    at_every_sync(DiskFault::Write, u64::MAX, 2);
}

#[test]
fn a_sync_that_fails_and_forgets_loses_nothing_acknowledged() {
    at_every_sync(DiskFault::SyncForgets, 1, 3);
}
