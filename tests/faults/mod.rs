//! The whole server on a disk in memory that fails, stalls and crashes when a test says so, or on a real one that is full;
//! spoken to over HTTP. Each kind of fault has a file. What `docs/DURABILITY.md` says is shown here.

/// The disk is the one of the store's own tests.
#[path = "../../src/store/fault.rs"]
mod disk;

mod corrupt;
mod crash;
mod errors;
mod full;
mod house;
mod model;
mod mounted;
mod panic;
mod stall;

use stet::store::{Backends, StoreFile};

use self::disk::{Disk, Fault, Plan};
use self::house::House;
use crate::harness::*;
