//! Numbers as people read them.

/// A rate: three digits and a unit.
pub fn rate(number: f64) -> String {
    let (number, unit) = match number {
        number if number >= 999_500.0 => (number / 1e6, "M"),
        number if number >= 9_999.5 => (number / 1e3, "k"),
        number => return format!("{number:.0}"),
    };
    let digits = match number {
        number if number < 9.995 => 2,
        number if number < 99.95 => 1,
        _ => 0,
    };
    format!("{number:.digits$}{unit}")
}

/// A whole number, its thousands apart.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The same of a rate or a mean.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "What is shown is small and positive."
)]
pub fn whole(number: f64) -> String {
    count(number.round() as u64)
}

/// A share as whole percent.
pub fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.0} %", 100.0 * part / whole) } else { "-".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{count, percent, rate};

    #[test]
    fn rates() {
        let shown =
            [0.0, 412.4, 9_999.0, 10_000.0, 123_456.0, 999_600.0, 1_234_567.0, 12_345_678.0].map(rate);
        assert_eq!(shown, ["0", "412", "9999", "10.0k", "123k", "1.00M", "1.23M", "12.3M"]);
    }

    #[test]
    fn counts() {
        let shown = [0, 999, 1_000, 1_234_567, 12_345_678].map(count);
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567", "12,345,678"]);
    }

    #[test]
    fn shares() {
        assert_eq!(percent(1.0, 3.0), "33 %");
        assert_eq!(percent(1.0, 0.0), "-");
    }
}
