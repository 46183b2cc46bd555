//! Numbers as people read them.

/// A whole number with a comma for each three digits.
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

/// A time given in microseconds, with its unit and two digits or more.
pub fn duration_us(us: u64) -> String {
    let (value, unit) = match us {
        0..1000 => return format!("{us} µs"),
        1000..1_000_000 => (us as f64 / 1e3, "ms"),
        _ => (us as f64 / 1e6, "s"),
    };
    if value < 100.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}
