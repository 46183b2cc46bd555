//! The table of the figures, each beside its target.

use std::time::Duration;

/// The figures so far, which are also printed at once.
#[derive(Default)]
pub struct FigureTable {
    lines: Vec<String>,
}

impl FigureTable {
    /// Adds the rates of several rounds.
    pub fn rate(&mut self, name: &str, rates: &[f64], least: Option<f64>) {
        self.add_numbers(name, rates, 0, least);
    }

    /// Adds the ratios of several rounds, which should be at least a target.
    pub fn ratio(&mut self, name: &str, ratios: &[f64], least: Option<f64>) {
        self.add_numbers(name, ratios, 2, least);
    }

    fn add_numbers(&mut self, name: &str, numbers: &[f64], digits: usize, least: Option<f64>) {
        let sorted = sorted(numbers);
        let (lowest, median, highest) = (sorted[0], at(&sorted, 0.5), sorted[sorted.len() - 1]);
        let range = if numbers.len() > 1 { format!(" (to {highest:.digits$})") } else { String::new() };
        let target = least.map(|least| (format!("at least {least}"), median >= least));
        self.add(name, [format!("{lowest:.digits$}"), format!("{median:.digits$}{range}"), String::new()], target);
    }

    /// Adds times in milliseconds, with the targets of the median and of the 99th percentile.
    pub fn times(&mut self, name: &str, times: &[Duration], most: [Option<f64>; 2]) {
        let sorted = sorted(&times.iter().map(|time| time.as_secs_f64() * 1000.0).collect::<Vec<_>>());
        if sorted.is_empty() {
            return self.add(name, [String::new(), "no reply".to_owned(), String::new()], None);
        }
        let figures = [sorted[0], at(&sorted, 0.5), at(&sorted, 0.99)];
        let targets = [("median", most[0], figures[1]), ("p99", most[1], figures[2])];
        let wanted = targets.iter().filter_map(|(name, most, figure)| most.map(|most| (name, most, *figure)));
        let target = wanted.map(|(name, most, figure)| (format!("{name} {most}"), figure <= most)).next();
        self.add(name, figures.map(|figure| format!("{figure:.2}")), target);
    }

    /// Adds a number of seconds.
    pub fn seconds(&mut self, name: &str, seconds: f64, most: Option<f64>) {
        let target = most.map(|most| (format!("at most {most:.0}"), seconds <= most));
        self.add(name, [String::new(), format!("{seconds:.1} s"), String::new()], target);
    }

    /// Adds a number of bytes.
    pub fn megabytes(&mut self, name: &str, bytes: u64, most: Option<u64>) {
        let target = most.map(|most| (format!("at most {} MB", most / 1_000_000), bytes <= most));
        self.add(name, [String::new(), format!("{:.0} MB", bytes as f64 / 1e6), String::new()], target);
    }

    /// Adds a share.
    pub fn share(&mut self, name: &str, share: f64, most: f64) {
        let target = (format!("at most {:.0} %", most * 100.0), share <= most);
        self.add(name, [String::new(), format!("{:.1} %", share * 100.0), String::new()], Some(target));
    }

    /// Adds a number of failures, if there were any.
    pub fn count(&mut self, name: &str, count: usize) {
        if count > 0 {
            self.add(name, [String::new(), count.to_string(), String::new()], Some(("none".to_owned(), false)));
        }
    }

    fn add(&mut self, name: &str, [least, median, p99]: [String; 3], target: Option<(String, bool)>) {
        let (target, verdict) = target.map_or((String::new(), ""), |(target, is_reached)| {
            (target, if is_reached { "reached" } else { "missed" })
        });
        let line = format!("| {name} | {least} | {median} | {p99} | {target} | {verdict} |");
        eprintln!("{line}");
        self.lines.push(line);
    }

    /// Returns the whole table.
    pub fn text(&self) -> String {
        format!("| | min | median | p99 | target | |\n|---|---|---|---|---|---|\n{}", self.lines.join("\n"))
    }
}

fn sorted(numbers: &[f64]) -> Vec<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Returns the number at a share of sorted numbers.
fn at(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}
