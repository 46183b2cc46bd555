//! Products, and on which days they appear.

use std::collections::HashMap;

use chrono::{Datelike, NaiveDate};
use stet_actors::object::Text;

use super::channels::{Edition, editions};
use crate::sysconfig::document::{Element, Once};
use crate::sysconfig::vocabulary::DAYS;

/// A newspaper, magazine or site.
#[derive(Debug, Clone)]
pub struct Product {
    /// What calls name it by.
    pub name: Text,
    /// What people read.
    pub title: Text,
    /// Whether it is the one that is meant where none is named.
    pub is_default: bool,
    /// In the order of the file.
    pub editions: Vec<Edition>,
    /// In the order of the file.
    pub inserts: Vec<Insert>,
    /// In the order of the file.
    pub calendars: Vec<Calendar>,
}

/// A part of a product that is printed by itself.
#[derive(Debug, Clone)]
pub struct Insert {
    /// Its name.
    pub name: Text,
    /// Whether it is the one that is meant where none is named.
    pub is_default: bool,
}

/// On which days there are issues.
#[derive(Debug, Clone)]
pub struct Calendar {
    /// What channels name it by.
    pub name: Text,
    /// Days of the week with an issue, Monday first.
    weekdays: [bool; 7],
    exceptions: HashMap<NaiveDate, bool>,
}

impl Calendar {
    /// Whether there is an issue on a day.
    pub fn publishes(&self, day: NaiveDate) -> bool {
        let weekday = day.weekday().num_days_from_monday() as usize;
        self.exceptions.get(&day).copied().unwrap_or(self.weekdays[weekday])
    }
}

pub(super) fn read(root: Element<'_>) -> Vec<Product> {
    let mut known = Once::default();
    let product = |element: Element<'_>| {
        let name = element.required("name");
        known.check(element, "product", name);
        Product {
            name: name.into(),
            title: element.attribute("title").unwrap_or(name).into(),
            is_default: element.flag("isDefault"),
            editions: editions(element),
            inserts: inserts(element),
            calendars: calendars(element),
        }
    };
    root.all_in("products", "product").map(product).collect()
}

fn inserts(element: Element<'_>) -> Vec<Insert> {
    let mut known = Once::default();
    let insert = |element: Element<'_>| {
        let name = element.required("name");
        known.check(element, "insert", name);
        for day in element.attribute("days").unwrap_or_default().split_whitespace() {
            if !DAYS.contains(&day) {
                element.fault(format!("`days` names `{day}`, which is none of {}", DAYS.join(", ")));
            }
        }
        Insert { name: name.into(), is_default: element.flag("isDefault") }
    };
    element.all_in("inserts", "insert").map(insert).collect()
}

fn calendars(element: Element<'_>) -> Vec<Calendar> {
    let mut known = Once::default();
    let calendar = |element: Element<'_>| {
        let name = element.required("name");
        known.check(element, "calendar", name);
        let mut calendar = Calendar { name: name.into(), weekdays: [false; 7], exceptions: HashMap::new() };
        for day in element.all("publishes") {
            // One that is no day has been refused.
            if let Some(place) = DAYS.iter().position(|known| *known == day.required("day")) {
                calendar.weekdays[place] = true;
            }
        }
        for exception in element.all("exception") {
            let date = exception.required("date");
            let Ok(day) = NaiveDate::parse_from_str(date, "%Y%m%d") else { continue };
            if calendar.exceptions.insert(day, exception.flag("publishes")).is_some() {
                exception.fault(format!("the day {date} is there a second time"));
            }
        }
        calendar
    };
    element.all("calendar").map(calendar).collect()
}
