//! The options of a load of drawers beyond the common ones.

use clap::Args;
use serde::{Deserialize, Serialize};

/// The interface's own limit for the capacity of a drawer.
pub const MAX_CAPACITY: u32 = 10_000;

/// The flags. Each overrides the key of the same name in the section `[drawer]`.
#[derive(Debug, Clone, PartialEq, Args, Serialize)]
pub struct DrawerFlags {
    /// Number of drawers; 1 is one hot drawer, without moves between drawers [default: 4]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    drawers: Option<u16>,
    /// One hot drawer, like --drawers 1
    #[arg(long, conflicts_with = "drawers")]
    #[serde(rename = "drawers", skip_serializing_if = "std::ops::Not::not", serialize_with = "serialize_one")]
    hot: bool,
    /// Zipf exponent: the n-th drawer gets 1/n^S of the first one's load; 0 treats all alike
    /// [default: 1]
    #[arg(long, value_name = "S")]
    #[serde(skip_serializing_if = "Option::is_none")]
    skew: Option<f64>,
    /// Items that fit into a drawer [default: 50]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<u32>,
    /// Stories to put into drawers [default: twice the capacity]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    objects: Option<u32>,
    /// Initial items of each drawer [default: half the capacity]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    fill: Option<u32>,
}

/// Serializes the flag `hot` as the number of drawers.
fn serialize_one<S: serde::Serializer>(_: &bool, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u16(1)
}

/// The section `[drawer]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DrawerSettings {
    /// The number of drawers.
    pub drawers: u16,
    /// The Zipf exponent.
    pub skew: f64,
    /// The number of items that fit.
    pub capacity: u32,
    /// The number of stories.
    pub objects: Option<u32>,
    /// The initial number of items of each drawer.
    pub fill: Option<u32>,
}

impl Default for DrawerSettings {
    fn default() -> DrawerSettings {
        DrawerSettings { drawers: 4, skew: 1.0, capacity: 50, objects: None, fill: None }
    }
}

impl DrawerSettings {
    /// Returns the number of stories.
    pub fn objects(&self) -> u32 {
        self.objects.unwrap_or(self.capacity * 2)
    }

    /// Returns the initial number of items of each drawer.
    pub fn fill(&self) -> u32 {
        self.fill.unwrap_or((self.capacity / 2).min(self.objects()))
    }

    /// Checks the ranges of all values.
    ///
    /// # Errors
    /// A sentence that names the key and the value.
    pub fn check(&self) -> Result<(), String> {
        let between = |key: &str, value: u32, least: u32, most: u32| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(format!("`drawer.{key}` is {value}, which is not between {least} and {most}"))
        };
        between("drawers", self.drawers.into(), 1, 1000)?;
        if !(0.0..=10.0).contains(&self.skew) {
            return Err(format!("`drawer.skew` is {}, which is not between 0 and 10", self.skew));
        }
        between("capacity", self.capacity, 1, MAX_CAPACITY)?;
        between("objects", self.objects(), 1, 100_000)?;
        between("fill", self.fill(), 0, self.capacity.min(self.objects()))
    }
}
