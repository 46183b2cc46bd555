//! The whole server on a disk in memory that fails, stalls and crashes when a test says so, or on a
//! real one that is full; spoken to over HTTP. Each kind of fault has a file. What
//! `docs/DURABILITY.md` says is shown here.

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
