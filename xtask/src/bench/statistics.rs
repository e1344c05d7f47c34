//! Medians and percentiles. Pure.

/// What repeated measurements gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// How many there are.
    pub runs: usize,
}

/// `None` of nothing.
pub fn summarise(values: &[f64]) -> Option<Summary> {
    let sorted = sorted(values);
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    let middle = sorted.len() / 2;
    let median = if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    } else {
        sorted[middle]
    };
    Some(Summary { median, min, max, runs: sorted.len() })
}

/// The smallest value that at least so many percent of the values do not exceed. `None` of nothing.
pub fn percentile(values: &[f64], percent: usize) -> Option<f64> {
    let sorted = sorted(values);
    let rank = (sorted.len() * percent.min(100)).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::{Summary, percentile, summarise};

    #[test]
    fn odd_and_even_counts() {
        let three = Summary { median: 2.0, min: 1.0, max: 9.0, runs: 3 };
        assert_eq!(summarise(&[9.0, 1.0, 2.0]), Some(three));
        let four = Summary { median: 2.5, min: 1.0, max: 9.0, runs: 4 };
        assert_eq!(summarise(&[9.0, 1.0, 2.0, 3.0]), Some(four));
        assert_eq!(summarise(&[]), None);
    }

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let hundred: Vec<f64> = (1..=100u32).rev().map(f64::from).collect();
        let of = |percent| percentile(&hundred, percent).unwrap_or_default();
        assert_eq!(
            [0, 1, 50, 99, 100, 200].map(of).map(|value| value.to_string()),
            ["1", "1", "50", "99", "100", "100"]
        );
        assert_eq!(percentile(&[7.0], 99), Some(7.0));
        assert_eq!(percentile(&[1.0, 2.0, 3.0], 50), Some(2.0));
        assert_eq!(percentile(&[], 50), None);
    }
}
