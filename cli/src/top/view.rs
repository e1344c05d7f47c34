//! Draws the model. Names that do not fit end in `…`; numbers never do.

use ratatui::{
    Frame,
    layout::{Alignment, Constraint, Layout, Rect},
    style::{Color, Style, Stylize},
    text::{Line, Text},
    widgets::{Cell, Paragraph, Row, Table},
};
use sluice_ipc::v1alpha1::{InterfaceStatus, StatusReply};

use super::model::{BusyRule, Model};
use crate::{numbers, output::clean};

/// Names of interfaces have 15 bytes at most.
const INTERFACE: u16 = 15;
/// `RateLimit` is the longest.
const ACTION: u16 = 9;
const NUMBER: u16 = 9;

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, model: &Model) {
    let [title, notice, body, footer] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(headline(model).bold(), title);
    frame.render_widget(notice_line(model).fg(Color::Red), notice);
    frame.render_widget(Line::from("q quits").dim(), footer);
    if let Some(reply) = &model.reply {
        draw_body(frame, body, reply, &model.rules);
    }
}

fn headline(model: &Model) -> Line<'static> {
    match model.reply.as_ref().map(|reply| reply.agent.clone().unwrap_or_default()) {
        None => Line::from("sluicectl top: waiting for the agent's first answer"),
        Some(agent) if agent.node_name.is_empty() => {
            Line::from(format!("Sluice {}, pid {}", clean(&agent.version), agent.pid))
        }
        Some(agent) => Line::from(format!(
            "Sluice {} on {}, pid {}",
            clean(&agent.version),
            clean(&agent.node_name),
            agent.pid
        )),
    }
}

/// One line for what the reader must know first.
fn notice_line(model: &Model) -> Line<'static> {
    if let Some(error) = &model.error {
        return Line::from(clean(error));
    }
    let problems = model.reply.as_ref().map_or(0, crate::status::count_problems);
    match problems {
        0 => Line::default(),
        1 => Line::from("1 problem: see sluicectl status"),
        many => Line::from(format!("{many} problems: see sluicectl status")),
    }
}

fn draw_body(frame: &mut Frame<'_>, area: Rect, reply: &StatusReply, rules: &[BusyRule]) {
    if reply.interfaces.is_empty() {
        let words = "No interface is attached: no packet is filtered on this node.";
        frame.render_widget(Paragraph::new(words), area);
        return;
    }
    // The upper half may go to interfaces; what they leave goes to rules.
    let wanted = u16::try_from(reply.interfaces.len()).unwrap_or(u16::MAX).saturating_add(2);
    let height = if rules.is_empty() { area.height } else { wanted.min(area.height.div_ceil(2)) };
    let [upper, lower] = Layout::vertical([Constraint::Length(height), Constraint::Min(0)]).areas(area);
    draw_interfaces(frame, upper, &reply.interfaces);
    draw_rules(frame, lower, rules);
}

fn draw_interfaces(frame: &mut Frame<'_>, area: Rect, interfaces: &[InterfaceStatus]) {
    let titles = ["INTERFACE", "MODE", "VERIFIED"].map(left);
    let numbers = ["PACKETS/S", "DROPS/S", "NS/PACKET"].map(right);
    let widths = [INTERFACE, 8, 10, NUMBER, NUMBER, NUMBER].map(Constraint::Length);
    let rows = fit(interfaces, area, interface_row);
    let header = Row::new(titles.into_iter().chain(numbers)).bold();
    frame.render_widget(Table::new(rows, widths).header(header).column_spacing(2), area);
}

fn interface_row(interface: &InterfaceStatus) -> Row<'static> {
    let mode = if interface.mode_in_force.is_empty() { "none" } else { &interface.mode_in_force };
    let verified = interface.verified.split(' ').next().unwrap_or_default();
    let row = Row::new([
        left(&shorten(&clean(&interface.name), INTERFACE.into())),
        left(mode),
        left(verified),
        right(&numbers::rate(interface.packets_per_second)),
        right(&numbers::rate(interface.drops_per_second)),
        right(&numbers::nanoseconds(interface.nanoseconds_per_packet)),
    ]);
    if verified == "Bypassed" || interface.mode_in_force.is_empty() {
        row.style(Style::new().fg(Color::Red))
    } else {
        row
    }
}

/// What exceeds a rate has a column where there is a rate limit.
fn draw_rules(frame: &mut Frame<'_>, area: Rect, rules: &[BusyRule]) {
    let numbers = if rules.iter().any(|rule| rule.exceeded.is_some()) { 3 } else { 2 };
    let taken = INTERFACE + ACTION + NUMBER * numbers + 2 * (2 + numbers);
    let name_width = area.width.saturating_sub(taken);
    let words = [INTERFACE, name_width, ACTION].into_iter();
    let widths = words.chain((0..numbers).map(|_| NUMBER)).map(Constraint::Length);
    let rows = fit(rules, area, |rule| {
        let figures = [
            numbers::rate(rule.packets_per_second),
            numbers::count(rule.packets),
            rule.exceeded.map_or_else(|| "-".to_owned(), numbers::count),
        ];
        let words = [
            shorten(&clean(&rule.interface), INTERFACE.into()),
            shorten(&clean(&rule.name), name_width.into()),
            rule.action.clone(),
        ];
        let figures = figures.iter().take(numbers.into()).map(|figure| right(figure));
        Row::new(words.iter().map(|word| left(word)).chain(figures))
    });
    let titles = ["PACKETS/S", "PACKETS", "EXCEEDED"].into_iter().take(numbers.into()).map(right);
    let titles = ["INTERFACE", "BUSIEST RULES", "ACTION"].map(left).into_iter().chain(titles);
    frame.render_widget(Table::new(rows, widths).header(Row::new(titles).bold()).column_spacing(2), area);
}

/// As many rows as there is room for below the header. The last one says how many are left out.
fn fit<T>(items: &[T], area: Rect, row: impl Fn(&T) -> Row<'static>) -> Vec<Row<'static>> {
    let room = usize::from(area.height.saturating_sub(1));
    if items.len() <= room {
        return items.iter().map(row).collect();
    }
    let shown = room.saturating_sub(1);
    let more = Row::new([left(&format!("{} more", items.len() - shown))]).dim();
    items.iter().take(shown).map(row).chain([more]).collect()
}

fn left(text: &str) -> Cell<'static> {
    Cell::from(text.to_owned())
}

fn right(text: &str) -> Cell<'static> {
    Cell::from(Text::from(text.to_owned()).alignment(Alignment::Right))
}

fn shorten(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::time::Duration;

    use insta::assert_snapshot;
    use ratatui::{Terminal, backend::TestBackend};

    use super::*;
    use crate::{error::Error, samples};

    fn drawn(model: &Model, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, model)).unwrap();
        terminal.backend().to_string()
    }

    /// Two answers a second apart, between which the flood went on.
    fn model(last: StatusReply) -> Model {
        let mut first = last.clone();
        for rule in first.interfaces.iter_mut().flat_map(|interface| &mut interface.rules) {
            rule.packets -= rule.packets.min(1_200_345);
        }
        let mut model = Model::default();
        model.take(Ok(first), Duration::from_secs(1));
        model.take(Ok(last), Duration::from_secs(2));
        model
    }

    #[test]
    fn before_the_first_answer() {
        assert_snapshot!(drawn(&Model::default(), 80, 6));
    }

    #[test]
    fn everything_at_once() {
        assert_snapshot!(drawn(&model(samples::busy()), 80, 16));
    }

    #[test]
    fn everything_at_once_on_a_wide_terminal() {
        assert_snapshot!(drawn(&model(samples::busy()), 120, 16));
    }

    #[test]
    fn more_than_fits() {
        assert_snapshot!(drawn(&model(samples::busy()), 80, 8));
    }

    #[test]
    fn long_names_and_huge_counters() {
        assert_snapshot!(drawn(&model(samples::long_names()), 80, 12));
    }

    #[test]
    fn what_exceeds_a_rate_and_what_is_a_dry_run() {
        let reply = StatusReply { interfaces: vec![samples::limited()], ..samples::idle() };
        assert_snapshot!(drawn(&model(reply), 80, 14));
    }

    #[test]
    fn nothing_attached() {
        assert_snapshot!(drawn(&model(samples::idle()), 80, 6));
    }

    #[test]
    fn an_agent_that_went_away() {
        let mut model = model(samples::busy());
        let error = Error::Silent { socket: "/run/sluice/agent.sock".into(), seconds: 10 };
        model.take(Err(error), Duration::from_secs(3));
        assert_snapshot!(drawn(&model, 100, 14));
    }

    #[test]
    fn no_size_makes_it_panic() {
        let model = model(samples::busy());
        for (width, height) in [(1, 1), (2, 3), (10, 5), (40, 2), (300, 100)] {
            assert!(!drawn(&model, width, height).is_empty());
        }
    }
}
