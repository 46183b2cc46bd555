//! The whole server, used over HTTP, on a disk in memory that fails, stalls and crashes on demand.
//! Some tests use a real disk that is full. Each kind of fault has a file. These tests show the
//! promises of `docs/DURABILITY.md`.

mod alerts;
mod corrupt;
mod crash;
mod errors;
mod filling;
mod followers;
mod full;
mod house;
mod model;
pub mod mounted;
mod panic;
mod stall;

use stet_store::StoreFile;

use self::house::House;
use crate::harness::disk::{DiskFault, FaultPlan, SimulatedDisk};
use crate::harness::{FollowedEvent, *};
