//! Why a rule matches a packet, in words: everything that fits, or the first field that does not. It decides
//! nothing: the answers are those of the matching.

mod found;
mod packet;
mod unknown;
mod wanted;

use super::matching::{Answer, Field, answers};
use super::{Packet, Sets};
use crate::{Fields, Matcher};

/// Why the rule with this matcher matches, or does not.
pub(super) fn why(matcher: &Matcher, packet: &Packet, sets: &dyn Sets) -> String {
    let misfit = answers(&matcher.fields, packet, sets).find(|(_, answer)| *answer != Answer::Fits);
    if let Some((field, answer)) = misfit {
        return reason(field, answer, &matcher.fields, packet);
    }
    let fits = answers(&matcher.fields, packet, sets);
    let mut parts: Vec<String> = fits.map(|(field, _)| found::sentence(field, packet)).collect();
    match matcher.not.as_ref().map(|not| why_not(not, packet, sets)) {
        None => {}
        Some(Ok(holds)) => parts.push(holds),
        Some(Err(fails)) => return fails,
    }
    if parts.is_empty() { "it takes every packet".to_owned() } else { parts.join(", ") }
}

/// What makes `not` certainly false, or why it is not.
fn why_not(not: &Fields, packet: &Packet, sets: &dyn Sets) -> Result<String, String> {
    let answers: Vec<(Field, Answer)> = answers(not, packet, sets).collect();
    if let Some((field, _)) = answers.iter().find(|(_, answer)| *answer == Answer::DoesNotFit) {
        let (found, unwanted) = (found::sentence(*field, packet), wanted::words(*field, not));
        return Ok(format!("{found}, while not wants {unwanted}"));
    }
    if let Some((field, answer)) = answers.iter().find(|(_, answer)| *answer == Answer::Unknown) {
        return Err(format!("not cannot be told: {}", reason(*field, *answer, not, packet)));
    }
    let all: Vec<String> = answers.iter().map(|(field, _)| found::sentence(*field, packet)).collect();
    Err(format!("not excludes it: {}", all.join(", ")))
}

/// Why one field does not fit.
fn reason(field: Field, answer: Answer, wanted: &Fields, packet: &Packet) -> String {
    if answer == Answer::Unknown {
        return format!("{} is unknown: {}", found::name(field), unknown::because(field, packet));
    }
    format!("{}, the rule wants {}", found::sentence(field, packet), wanted::words(field, wanted))
}
