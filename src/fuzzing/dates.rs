//! Fuzzing of dates in patterns that callers choose.

use jiff::civil::date;
use jiff::tz::TimeZone;
use stet_base::simple_date_format::SimpleDateFormat;

/// Takes a pattern, and a text on the next line. A day that was read can be written and read again.
pub fn dates(data: &[u8]) -> bool {
    let Ok(given) = std::str::from_utf8(data) else { return false };
    let Some((pattern, text)) = given.split_once('\n') else { return false };
    let format = match SimpleDateFormat::parse(pattern) {
        Ok(format) => format,
        Err(why) => {
            assert!(!why.is_empty());
            return false;
        }
    };
    let zone = TimeZone::UTC;
    let read = match format.read(text, &zone, 2026) {
        Ok(day) => day,
        Err(why) => {
            assert!(!why.is_empty());
            return false;
        }
    };
    for day in [read, date(-9999, 1, 2), date(9999, 12, 30)] {
        let Ok(time) = day.to_zoned_datetime(zone.clone()) else { continue };
        let written = format.write(&time);
        // The day may depend on fields that the pattern does not write; then nothing is asserted.
        if let Err(why) = format.read(&written, &zone, 2026) {
            assert!(!why.is_empty(), "{written}");
        }
    }
    true
}
