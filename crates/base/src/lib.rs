//! The floor of stet's server: limits of memory, time and rates, JSON that is rendered once, dates and wildcards

pub mod disk;
pub mod json;
pub mod limits;
pub mod nearest;
pub mod simple_date_format;
pub mod wildcards;
