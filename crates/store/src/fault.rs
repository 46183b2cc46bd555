//! A simulated disk in memory that fails, stalls and crashes at the request of a test.
//!
//! Written data is kept apart from synced data, as on a real disk. Readers see both. A crash keeps
//! the synced part and any part of the rest, torn at any sector.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use redb::{BackendError, StorageBackend};

use crate::record::PAGE;
use crate::{Backends, StoreFile};

const SECTOR: usize = 512;

/// A kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskFault {
    /// Syncs return an I/O error, and their data stays unsynced.
    Sync,
    /// Syncs return an I/O error, and their data is never written, though it still reads back.
    /// Linux does that.
    SyncForgets,
    /// Writes and syncs return an I/O error.
    Write,
    /// Writes return that the disk is full.
    Full,
    /// Writes to places never written before return that the disk is full. Existing bytes can be
    /// overwritten. Most file systems do that.
    NoRoom,
    /// The machine crashes in the middle of a sync.
    Crash,
    /// Writes panic, as redb does on some damaged pages.
    Panic,
}

/// A planned failure: it begins at the sync of number `at` (from 1, over both files or one) and
/// affects `times` operations.
#[derive(Debug, Clone, Copy)]
pub struct FaultPlan {
    /// The number of the sync at which it begins.
    pub at: u64,
    /// The number of operations that fail.
    pub times: u64,
    /// The kind of failure.
    pub fault: DiskFault,
}

#[derive(Default)]
struct SimulatedFile {
    /// The bytes that reads return.
    now: Vec<u8>,
    /// The bytes that certainly survive a crash.
    synced: Vec<u8>,
    unsynced: Vec<UnsyncedOperation>,
    /// The sectors that are allocated to the file.
    given: HashSet<usize>,
    locked: Vec<(Bound<u64>, Bound<u64>)>,
}

enum UnsyncedOperation {
    Write(usize, Vec<u8>),
    Len(usize),
}

fn apply(bytes: &mut Vec<u8>, op: &UnsyncedOperation) {
    match op {
        UnsyncedOperation::Len(len) => bytes.resize(*len, 0),
        UnsyncedOperation::Write(at, data) => {
            if bytes.len() < at + data.len() {
                bytes.resize(at + data.len(), 0);
            }
            bytes[*at..at + data.len()].copy_from_slice(data);
        }
    }
}

#[derive(Default)]
struct SimulatedDiskState {
    files: HashMap<StoreFile, SimulatedFile>,
    syncs: u64,
    syncs_of: HashMap<StoreFile, u64>,
    writes: u64,
    plan: Option<ScheduledFault>,
    /// The number of operations that failed by the plan.
    struck: u64,
    stalled: Option<StoreFile>,
    /// The number of syncs that wait because their file is stalled.
    waiting: usize,
    failing_reads: Option<(StoreFile, u64)>,
    /// The number of reads of a file before the one that runs out of memory.
    reads_in_memory: Option<(StoreFile, u64)>,
    bad: Option<BadSectors>,
    /// The number of crashes. Handles from before the last one are dead.
    boot: u64,
}

/// Sectors that cannot be read.
struct BadSectors {
    file: StoreFile,
    sectors: HashSet<usize>,
    /// Whether reading them panics, as redb does on some damaged pages.
    panics: bool,
    /// Whether they can be read again after they have been written.
    mends: bool,
}

#[derive(Clone, Copy)]
struct ScheduledFault {
    plan: FaultPlan,
    /// The only affected file.
    file: Option<StoreFile>,
    /// Whether `at` counts writes instead of syncs.
    writes: bool,
}

/// The simulated disk. Clones are the same disk.
#[derive(Clone, Default)]
pub struct SimulatedDisk(Arc<(Mutex<SimulatedDiskState>, Condvar)>);

impl SimulatedDisk {
    /// Creates an empty disk that works.
    pub fn new() -> SimulatedDisk {
        SimulatedDisk::default()
    }

    /// Creates a disk with these files, synced.
    pub fn holding(files: impl IntoIterator<Item = (StoreFile, Vec<u8>)>) -> SimulatedDisk {
        let disk = SimulatedDisk::new();
        for (file, bytes) in files {
            let given = (0..bytes.len().div_ceil(SECTOR)).collect();
            let content = SimulatedFile { now: bytes.clone(), synced: bytes, given, ..SimulatedFile::default() };
            disk.0.0.lock().files.insert(file, content);
        }
        disk
    }

    /// Returns the bytes that readers of `file` see.
    pub fn bytes(&self, file: StoreFile) -> Vec<u8> {
        self.0.0.lock().files.get(&file).map(|content| content.now.clone()).unwrap_or_default()
    }

    /// Returns the number of syncs.
    pub fn syncs(&self) -> u64 {
        self.0.0.lock().syncs
    }

    /// Returns the number of syncs of `file`.
    pub fn syncs_of(&self, file: StoreFile) -> u64 {
        self.0.0.lock().syncs_of.get(&file).copied().unwrap_or_default()
    }

    /// Returns the number of writes.
    pub fn writes(&self) -> u64 {
        self.0.0.lock().writes
    }

    /// Sets the plan of failures.
    pub fn plan(&self, plan: FaultPlan) {
        self.set_plan(ScheduledFault { plan, file: None, writes: false });
    }

    /// Sets a plan that counts the syncs of `file` and affects only that file.
    pub fn plan_for(&self, file: StoreFile, plan: FaultPlan) {
        self.set_plan(ScheduledFault { plan, file: Some(file), writes: false });
    }

    /// Sets a plan that counts writes.
    pub fn plan_at_write(&self, plan: FaultPlan) {
        self.set_plan(ScheduledFault { plan, file: None, writes: true });
    }

    fn set_plan(&self, planned: ScheduledFault) {
        let mut inner = self.0.0.lock();
        inner.plan = Some(planned);
        inner.struck = 0;
    }

    /// Returns the number of operations that failed by the last plan.
    pub fn struck(&self) -> u64 {
        self.0.0.lock().struck
    }

    /// Returns the number of syncs that wait at a stalled file.
    pub fn waiting(&self) -> usize {
        self.0.0.lock().waiting
    }

    /// Returns the number of crashes.
    pub fn boots(&self) -> u64 {
        self.0.0.lock().boot
    }

    /// Makes everything work again.
    pub fn heal(&self) {
        self.0.0.lock().plan = None;
    }

    /// Makes the next `times` reads of `file` fail.
    pub fn fail_reads(&self, file: StoreFile, times: u64) {
        self.0.0.lock().failing_reads = Some((file, times));
    }

    /// Makes one read of `file` run out of memory, after `reads` others of it. Such a failure says
    /// nothing about the bytes.
    pub fn run_out_of_memory(&self, file: StoreFile, reads: u64) {
        self.0.0.lock().reads_in_memory = Some((file, reads));
    }

    /// Reports whether a read has run out of memory as planned, and drops the plan otherwise.
    pub fn has_run_out_of_memory(&self) -> bool {
        self.0.0.lock().reads_in_memory.take().is_none()
    }

    /// Makes each sector of `file` that contains `text` unreadable, or reading it panic. Returns
    /// the number of these sectors.
    pub fn spoil(&self, file: StoreFile, text: &[u8], panics: bool) -> usize {
        let bytes = self.bytes(file);
        let places = bytes.windows(text.len()).enumerate().filter(|(_, found)| *found == text);
        let sectors: HashSet<usize> = places.map(|(at, _)| at / SECTOR).collect();
        let count = sectors.len();
        self.0.0.lock().bad = Some(BadSectors { file, sectors, panics, mends: false });
        count
    }

    /// Makes the page of `file` at `offset` unreadable until it is written.
    pub fn lose_page(&self, file: StoreFile, offset: usize) {
        let mut inner = self.0.0.lock();
        let sectors = (offset / SECTOR..(offset + 4096) / SECTOR).collect();
        inner.bad = Some(BadSectors { file, sectors, panics: false, mends: true });
    }

    /// Makes all sectors readable again.
    pub fn mend(&self) {
        self.0.0.lock().bad = None;
    }

    /// Makes syncs of `file` wait until [`SimulatedDisk::release`].
    pub fn stall(&self, file: StoreFile) {
        self.0.0.lock().stalled = Some(file);
    }

    /// Lets waiting syncs proceed.
    pub fn release(&self) {
        self.0.0.lock().stalled = None;
        self.0.1.notify_all();
    }

    /// Crashes the machine. Handles are dead, and only part of the unsynced data survives,
    /// depending on `seed`.
    pub fn crash(&self, seed: u64) {
        self.0.0.lock().crash(seed);
        self.0.1.notify_all();
    }
}

impl SimulatedDiskState {
    fn crash(&mut self, mut seed: u64) {
        self.boot += 1;
        self.stalled = None;
        self.plan = None;
        for content in self.files.values_mut() {
            let mut left = std::mem::take(&mut content.synced);
            for op in content.unsynced.drain(..) {
                match random(&mut seed) % 3 {
                    0 => (),
                    1 => apply(&mut left, &op),
                    _ => apply(&mut left, &tear_write(op, random(&mut seed) as usize)),
                }
            }
            content.now = left.clone();
            content.synced = left;
            content.locked.clear();
        }
    }
}

fn tear_write(op: UnsyncedOperation, at: usize) -> UnsyncedOperation {
    match op {
        UnsyncedOperation::Len(len) => UnsyncedOperation::Len(len),
        UnsyncedOperation::Write(offset, mut data) => {
            let sectors = data.len() / SECTOR;
            data.truncate(if sectors == 0 { 0 } else { at % sectors * SECTOR });
            UnsyncedOperation::Write(offset, data)
        }
    }
}

/// Returns the next pseudo-random number (splitmix64).
pub fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *seed;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Backends for SimulatedDisk {
    fn open(&self, file: StoreFile) -> io::Result<Box<dyn StorageBackend>> {
        let mut inner = self.0.0.lock();
        inner.files.entry(file).or_default();
        Ok(Box::new(Handle { disk: self.clone(), file, boot: inner.boot }))
    }

    fn is_there(&self, file: StoreFile) -> io::Result<bool> {
        Ok(self.0.0.lock().files.contains_key(&file))
    }

    fn remove(&self, file: StoreFile) -> io::Result<()> {
        self.0.0.lock().files.remove(&file);
        Ok(())
    }

    fn open_existing(&self, file: StoreFile) -> io::Result<Option<Box<dyn StorageBackend>>> {
        let is_there = self.0.0.lock().files.get(&file).is_some_and(|content| !content.now.is_empty());
        if is_there { self.open(file).map(Some) } else { Ok(None) }
    }

    fn set_aside(&self, file: StoreFile) -> io::Result<Option<String>> {
        let mut inner = self.0.0.lock();
        Ok(inner.files.remove(&file).map(|_| format!("{}.lost", file.name())))
    }
}

struct Handle {
    disk: SimulatedDisk,
    file: StoreFile,
    boot: u64,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Handle").field(&self.file).finish()
    }
}

impl Handle {
    fn with<T>(&self, work: impl FnOnce(&mut SimulatedDiskState) -> io::Result<T>) -> io::Result<T> {
        let mut inner = self.disk.0.0.lock();
        if inner.boot != self.boot {
            return Err(io::Error::other("the machine is down"));
        }
        work(&mut inner)
    }

    fn content<'a>(&self, inner: &'a mut SimulatedDiskState) -> &'a mut SimulatedFile {
        inner.files.get_mut(&self.file).expect("a handle's file was made when it was opened")
    }
}

impl SimulatedDiskState {
    /// Returns the fault that affects the present operation.
    fn strike(&mut self, file: StoreFile, sync: bool, grows: bool) -> Option<DiskFault> {
        let ScheduledFault { plan, file: only, writes } = self.plan.as_mut()?;
        let strikes = match plan.fault {
            DiskFault::Sync | DiskFault::SyncForgets => sync,
            // A plan that counts writes crashes at a write.
            DiskFault::Crash => sync != *writes,
            DiskFault::Write => true,
            DiskFault::Full | DiskFault::Panic => !sync,
            DiskFault::NoRoom => grows,
        };
        let syncs = match only {
            Some(only) => self.syncs_of.get(only).copied().unwrap_or_default(),
            None => self.syncs,
        };
        let reached = match (*writes, sync) {
            (true, _) => self.writes >= plan.at,
            (false, true) => syncs >= plan.at,
            // A fault of writes begins with the writes before the sync of that number.
            (false, false) => syncs + 1 >= plan.at,
        };
        if !strikes || !reached || plan.times == 0 || only.is_some_and(|only| only != file) {
            return None;
        }
        plan.times -= 1;
        self.struck += 1;
        Some(plan.fault)
    }
}

fn error(fault: DiskFault) -> io::Error {
    match fault {
        DiskFault::Full | DiskFault::NoRoom => io::Error::from_raw_os_error(28),
        _ => io::Error::from_raw_os_error(5),
    }
}

impl StorageBackend for Handle {
    fn len(&self) -> io::Result<u64> {
        self.with(|inner| Ok(self.content(inner).now.len() as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.with(|inner| {
            if let Some((file, times)) = &mut inner.failing_reads
                && *file == self.file
                && *times > 0
            {
                *times -= 1;
                return Err(error(DiskFault::Sync));
            }
            if let Some((_, reads)) = inner.reads_in_memory.as_mut().filter(|(file, _)| *file == self.file) {
                if *reads == 0 {
                    inner.reads_in_memory = None;
                    return Err(io::ErrorKind::OutOfMemory.into());
                }
                *reads -= 1;
            }
            let from = offset as usize;
            if let Some(bad) = inner.bad.as_ref().filter(|bad| bad.file == self.file)
                && (from / SECTOR..(from + out.len()).div_ceil(SECTOR)).any(|sector| bad.sectors.contains(&sector))
            {
                assert!(!bad.panics, "as the test wants");
                return Err(error(DiskFault::Sync));
            }
            let found = self.content(inner).now.get(from..from + out.len());
            out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with(|inner| {
            let op = UnsyncedOperation::Len(len as usize);
            let content = self.content(inner);
            content.given.retain(|sector| sector * SECTOR < len as usize);
            apply(&mut content.now, &op);
            content.unsynced.push(op);
            Ok(())
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.with(|inner| {
            inner.writes += 1;
            let sectors = offset as usize / SECTOR..(offset as usize + data.len()).div_ceil(SECTOR);
            let grows = sectors.clone().any(|sector| !self.content(inner).given.contains(&sector));
            match inner.strike(self.file, false, grows) {
                Some(DiskFault::Panic) => panic!("as the test wants"),
                Some(DiskFault::Crash) => {
                    inner.crash(inner.writes);
                    return Err(error(DiskFault::Crash));
                }
                Some(fault) => return Err(error(fault)),
                None => {}
            }
            // Overwritten pages get another place on the disk, but only whole ones: for a partial
            // write the system reads the rest first.
            if let Some(bad) = inner.bad.as_mut().filter(|bad| bad.file == self.file && bad.mends) {
                let (first, behind) = (offset as usize / PAGE, (offset as usize + data.len()).div_ceil(PAGE));
                let whole = (offset as usize).div_ceil(PAGE)..(offset as usize + data.len()) / PAGE;
                let page = |sector: usize| sector * SECTOR / PAGE;
                let touched = |sector: &usize| (first..behind).contains(&page(*sector));
                if bad.sectors.iter().any(|sector| touched(sector) && !whole.contains(&page(*sector))) {
                    return Err(error(DiskFault::Write));
                }
                bad.sectors.retain(|sector| !whole.contains(&page(*sector)));
            }
            let op = UnsyncedOperation::Write(offset as usize, data.to_vec());
            let content = self.content(inner);
            content.given.extend(sectors);
            apply(&mut content.now, &op);
            content.unsynced.push(op);
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        {
            let mut inner = self.disk.0.0.lock();
            inner.waiting += 1;
            while inner.boot == self.boot && inner.stalled == Some(self.file) {
                self.disk.0.1.wait(&mut inner);
            }
            inner.waiting -= 1;
        }
        self.with(|inner| {
            inner.syncs += 1;
            *inner.syncs_of.entry(self.file).or_default() += 1;
            if let Some(fault) = inner.strike(self.file, true, false) {
                match fault {
                    DiskFault::SyncForgets => self.content(inner).unsynced.clear(),
                    DiskFault::Crash => inner.crash(inner.syncs),
                    _ => (),
                }
                return Err(error(fault));
            }
            let content = self.content(inner);
            for op in content.unsynced.drain(..) {
                apply(&mut content.synced, &op);
            }
            Ok(())
        })
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        let free = self.with(|inner| {
            let locked = &mut self.content(inner).locked;
            let free = !locked.contains(&(start, end));
            locked.push((start, end));
            Ok(free)
        });
        Ok(free?)
    }

    fn close(&self) -> io::Result<()> {
        self.with(|inner| {
            self.content(inner).locked.clear();
            Ok(())
        })
    }
}
