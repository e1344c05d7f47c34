//! One figure of the bench, the table of all of them, and the file of results. Pure.

use serde_json::{Value, json};

use super::statistics::Summary;

/// Something that was measured.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Group and name, as program/one-rule.
    pub name: &'static str,
    /// ns, ms, MB, ...
    pub unit: &'static str,
    /// The figure itself; its median is the value.
    pub summary: Summary,
    /// What it is compared with, measured in turn with it.
    pub baseline: Option<(&'static str, f64)>,
    /// The value must not be above it.
    pub limit: Option<f64>,
    /// What else there is to say.
    pub notes: String,
}

impl Figure {
    /// How many times the baseline it is.
    fn ratio(&self) -> Option<f64> {
        let (_, baseline) = self.baseline?;
        (baseline > 0.0).then(|| self.summary.median / baseline)
    }

    /// Whether it keeps to its limit.
    pub fn holds(&self) -> bool {
        self.limit.is_none_or(|limit| self.summary.median <= limit)
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "value": self.summary.median,
            "unit": self.unit,
            "baseline": self.baseline.map(|(name, _)| name),
            "baseline_value": self.baseline.map(|(_, value)| value),
            "ratio": self.ratio(),
            "limit": self.limit,
            "runs": self.summary.runs,
            "min": self.summary.min,
            "max": self.summary.max,
            "notes": self.notes,
        })
    }

    fn cells(&self) -> [String; 8] {
        let open = || "-".to_owned();
        let (name, value) =
            self.baseline.map_or((open(), open()), |(name, value)| (name.to_owned(), short(value)));
        let limit = self.limit.map_or_else(open, |limit| {
            format!("{} {}", short(limit), if self.holds() { "holds" } else { "MISSED" })
        });
        [
            self.name.to_owned(),
            format!("{} {}", short(self.summary.median), self.unit),
            format!("{}..{}", short(self.summary.min), short(self.summary.max)),
            self.summary.runs.to_string(),
            value,
            self.ratio().map_or_else(open, |ratio| format!("{ratio:.2}")),
            limit,
            name,
        ]
    }
}

/// The file of results.
pub fn file(figures: &[Figure]) -> String {
    let figures: Vec<Value> = figures.iter().map(Figure::json).collect();
    format!("{:#}\n", Value::from(figures))
}

/// The table, each line ended; notes below it.
pub fn table(figures: &[Figure]) -> String {
    let titles = ["FIGURE", "VALUE", "RANGE", "RUNS", "BASELINE", "RATIO", "LIMIT", "COMPARED WITH"];
    let mut rows = vec![titles.map(str::to_owned)];
    rows.extend(figures.iter().map(Figure::cells));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; 8] = std::array::from_fn(width);
    let mut lines: Vec<String> = rows.iter().map(|row| line(row, &widths)).collect();
    let notes = figures.iter().filter(|figure| !figure.notes.is_empty());
    lines.push(String::new());
    lines.extend(notes.map(|figure| format!("{}: {}", figure.name, figure.notes)));
    lines.iter().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

/// The first and the last cell to the left, the others to the right.
fn line(cells: &[String; 8], widths: &[usize; 8]) -> String {
    let last = cells.len() - 1;
    let aligned = |(index, (cell, width)): (usize, (&String, &usize))| {
        if index == 0 || index == last { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
    };
    cells.iter().zip(widths).enumerate().map(aligned).collect::<Vec<_>>().join("  ")
}

/// About three digits.
fn short(number: f64) -> String {
    match number.abs() {
        size if size >= 99.95 => format!("{number:.0}"),
        size if size >= 9.995 || number.fract() == 0.0 => {
            format!("{number:.1}").trim_end_matches(".0").to_owned()
        }
        _ => format!("{number:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Figure, file, short, table};
    use crate::bench::statistics::Summary;

    fn figures() -> Vec<Figure> {
        let one = |name, unit, median, limit, baseline, notes: &str| Figure {
            name,
            unit,
            summary: Summary { median, min: median - 1.0, max: median + 10.25, runs: 15 },
            baseline,
            limit,
            notes: notes.to_owned(),
        };
        vec![
            one("program/one-rule", "ns", 38.0, None, Some(("count-and-drop", 29.0)), ""),
            one("program/one-rule-over-baseline", "ns", 9.0, Some(10.0), None, "median of the differences"),
            one("apply/latency-p99", "ms", 123.456, Some(100.0), None, ""),
        ]
    }

    #[test]
    fn the_table() {
        insta::assert_snapshot!(table(&figures()));
    }

    #[test]
    fn the_file() {
        insta::assert_snapshot!(file(&figures()));
    }

    #[test]
    fn limits_are_kept_or_missed() {
        let holds: Vec<bool> = figures().iter().map(Figure::holds).collect();
        assert_eq!(holds, [true, true, false]);
    }

    #[test]
    fn a_baseline_of_zero_has_no_ratio() {
        let mut figure = figures().remove(0);
        figure.baseline = Some(("nothing", 0.0));
        assert_eq!(figure.ratio(), None);
    }

    #[test]
    fn about_three_digits() {
        let shown = [0.0, 0.25, 9.0, 9.25, 12.34, 123.4, -1.5].map(short);
        assert_eq!(shown, ["0", "0.25", "9", "9.25", "12.3", "123", "-1.50"]);
    }
}
