//! The table of the demo, as it fills while it runs and as it is printed at the end. Plain text.

use super::figures::{count, percent, rate, whole};

/// One mode's line. What is not known yet is left open.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Native or Generic.
    pub mode: &'static str,
    /// Flood packets a second that arrive while the policy is in force.
    pub flood_per_second: Option<f64>,
    /// What one dropped packet costs the receiving CPU.
    pub nanoseconds: Option<f64>,
    /// The part of it that is the program's own.
    pub program_nanoseconds: Option<f64>,
    /// Flood packets dropped.
    pub dropped: Option<u64>,
    /// Honest transactions a second without a flood.
    pub idle: Option<f64>,
    /// The same under the flood, without the policy.
    pub flooded: Option<f64>,
    /// The same under the flood, with the policy.
    pub protected: Option<f64>,
}

const WIDTHS: [usize; 8] = [9, 11, 11, 9, 13, 11, 9, 17];
const TITLES: [&str; 8] =
    ["MODE", "PACKETS/S", "NS/PACKET", "PROGRAM", "DROPPED", "NO FLOOD", "FLOOD", "FLOOD + POLICY"];

/// The titles and a line for each row, each line ended.
pub fn render(rows: &[Row]) -> String {
    let groups = format!(
        "{:WIDTH_OF_MODE$}{:>FLOOD$}{:>HONEST$}",
        "", "flood, while the policy is in force", "honest transactions a second"
    );
    let mut lines = vec![groups, line(&TITLES.map(str::to_owned))];
    lines.extend(rows.iter().map(|row| line(&cells(row))));
    lines.iter().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

const WIDTH_OF_MODE: usize = WIDTHS[0];
const FLOOD: usize = WIDTHS[1] + WIDTHS[2] + WIDTHS[3] + WIDTHS[4];
const HONEST: usize = WIDTHS[5] + WIDTHS[6] + WIDTHS[7];

fn cells(row: &Row) -> [String; 8] {
    let open = || "-".to_owned();
    let protected = row.protected.map(|rate| match row.idle {
        Some(idle) => format!("{} {:>7}", whole(rate), format!("({})", percent(rate, idle))),
        None => whole(rate),
    });
    [
        row.mode.to_owned(),
        row.flood_per_second.map_or_else(open, rate),
        row.nanoseconds.map_or_else(open, whole),
        row.program_nanoseconds.map_or_else(open, whole),
        row.dropped.map_or_else(open, count),
        row.idle.map_or_else(open, whole),
        row.flooded.map_or_else(open, whole),
        protected.unwrap_or_else(open),
    ]
}

/// The first cell to the left, the others to the right.
fn line(cells: &[String; 8]) -> String {
    let aligned = |(index, (cell, width)): (usize, (&String, usize))| {
        if index == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
    };
    cells.iter().zip(WIDTHS).enumerate().map(aligned).collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use super::{Row, render};

    fn native() -> Row {
        Row {
            mode: "Native",
            flood_per_second: Some(1_423_123.4),
            nanoseconds: Some(190.2),
            program_nanoseconds: Some(38.4),
            dropped: Some(5_679_123),
            idle: Some(9_812.3),
            flooded: Some(431.4),
            protected: Some(8_930.0),
        }
    }

    #[test]
    fn finished() {
        let generic = Row {
            mode: "Generic",
            flood_per_second: Some(812_345.6),
            nanoseconds: Some(624.0),
            program_nanoseconds: None,
            dropped: Some(123_456_789),
            idle: Some(10_012.0),
            flooded: Some(0.0),
            protected: Some(10_400.0),
        };
        insta::assert_snapshot!(render(&[native(), generic]));
    }

    #[test]
    fn while_it_runs() {
        let started = Row { mode: "Generic", idle: Some(9_700.0), ..Row::default() };
        let waiting = Row { mode: "Later", ..Row::default() };
        insta::assert_snapshot!(render(&[native(), started, waiting]));
    }
}
