//! Plain tables without lines: names to the left, numbers to the right, two spaces between.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

use crate::output::clean;

/// Titles, with those of number columns marked by a leading `>`.
pub type Columns<'a> = &'a [&'a str];

/// Aligns rows below titles. With a `width` long words are broken so that the table fits it;
/// without, each row stays on one line.
pub fn table(titles: Columns<'_>, rows: Vec<Vec<String>>, width: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(titles.iter().map(|title| title.trim_start_matches('>')).collect::<Vec<_>>());
    for row in rows {
        table.add_row(row.iter().map(|cell| clean(cell)).collect::<Vec<_>>());
    }
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for (column, title) in table.column_iter_mut().zip(titles) {
        column.set_padding((0, 2));
        if title.starts_with('>') {
            column.set_cell_alignment(CellAlignment::Right);
            // Half a number is a wrong number.
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    let mut text = String::new();
    for line in table.lines() {
        text += line.trim_end();
        text.push('\n');
    }
    text
}
