//! Numbers in readable form.

/// Formats a whole number with a comma after each three digits.
pub fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a time given in microseconds, with its unit and at least two digits.
pub fn duration_us(us: u64) -> String {
    let (value, unit) = match us {
        0..1000 => return format!("{us} µs"),
        1000..1_000_000 => (us as f64 / 1e3, "ms"),
        _ => (us as f64 / 1e6, "s"),
    };
    if value < 100.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// Formats a share from 0 to 1 as a percentage.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Formats a number with the phrase that follows it: `one` for 1, otherwise `many`.
pub fn format_count(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(count), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_thing_is_not_called_many() {
        let drawers = [0, 1, 2, 1234].map(|count| format_count(count, "drawer is", "drawers are"));
        assert_eq!(drawers, ["0 drawers are", "1 drawer is", "2 drawers are", "1,234 drawers are"]);
    }
}
