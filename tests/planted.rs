//! Whether faults on purpose are found by the tests that are there to find faults. A binary of its own, for all that it needs has
//! to be built with the feature.

mod crash;
mod histories;

use stet_testkit as harness;
