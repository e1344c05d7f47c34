//! Numbers as people read them. Scripts read the exact ones from JSON.

const UNITS: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];

/// A count: exact below ten thousand, else three digits and a unit.
pub fn count(number: u64) -> String {
    #[allow(clippy::cast_precision_loss, reason = "three digits are shown")]
    if number < 10_000 { number.to_string() } else { scaled(number as f64) }
}

/// A rate per second. Nothing to show is a dash.
pub fn rate(number: Option<f64>) -> String {
    match number {
        Some(number) if number.is_finite() && number >= 0.0 => {
            if number >= 9_999.5 {
                scaled(number)
            } else if number >= 9.95 || number == 0.0 {
                format!("{number:.0}")
            } else {
                format!("{number:.1}")
            }
        }
        _ => "-".into(),
    }
}

/// Nanoseconds for each packet.
pub fn nanoseconds(number: Option<f64>) -> String {
    match number {
        Some(number) if number.is_finite() && number >= 0.0 => format!("{number:.1}"),
        _ => "-".into(),
    }
}

/// A time span in its two largest units.
pub fn span(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

fn scaled(number: f64) -> String {
    let (mut mantissa, mut unit) = (number, 0);
    // 999.5 is shown as 1000, which is the next unit's 1.00.
    while mantissa >= 999.5 && unit + 1 < UNITS.len() {
        mantissa /= 1_000.0;
        unit += 1;
    }
    let digits = if mantissa < 9.995 { 2 } else { usize::from(mantissa < 99.95) };
    format!("{mantissa:.digits$}{}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn counts() {
        let shown =
            [0, 9_999, 10_000, 12_345, 99_949, 99_950, 999_499, 999_500, 1_000_000, u64::MAX].map(count);
        let expected = ["0", "9999", "10.0k", "12.3k", "99.9k", "100k", "999k", "1.00M", "1.00M", "18.4E"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn rates() {
        let shown = [0.0, 0.4, 9.94, 9.96, 1234.4, 9_999.6, 1_250_000.0, 1e22, f64::NAN, -1.0]
            .map(|rate_| rate(Some(rate_)));
        assert_eq!(shown, ["0", "0.4", "9.9", "10", "1234", "10.0k", "1.25M", "10000E", "-", "-"]);
        assert_eq!(rate(None), "-");
    }

    #[test]
    fn nanoseconds_for_each_packet() {
        assert_eq!(
            [Some(24.06), Some(0.0), Some(f64::INFINITY), None].map(nanoseconds),
            ["24.1", "0.0", "-", "-"]
        );
    }

    #[test]
    fn spans() {
        let shown = [0, 59, 61, 3_600, 86_399, 86_400, 90_000_000].map(span);
        assert_eq!(shown, ["0 s", "59 s", "1 min 1 s", "1 h 0 min", "23 h 59 min", "1 d 0 h", "1041 d 16 h"]);
    }
}
