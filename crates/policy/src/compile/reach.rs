//! Rules that no packet can reach, because rules before them decide about all that they match. A rule that
//! some packet can reach is never called unreached; some that none can reach are not found: only one
//! earlier rule, or several that differ from it in one field, are tried.

mod shape;
#[cfg(test)]
mod tests;
mod values;

use self::shape::{Cover, Field, SetNumbers, Shape};
use self::values::Values;
use crate::{Enforcement, Matcher, PlannedRule};

/// The rules of an interface, ready to be compared.
pub(super) struct Reach<'a> {
    rules: &'a [PlannedRule],
    shapes: Vec<Shape>,
    sets: SetNumbers,
}

impl<'a> Reach<'a> {
    pub fn new(rules: &'a [PlannedRule]) -> Self {
        let mut sets = SetNumbers::default();
        let shapes = rules.iter().map(|rule| Shape::new(&rule.matcher, &mut sets)).collect();
        Self { rules, shapes, sets }
    }

    /// A match of which rules can be asked.
    pub fn shape(&mut self, matcher: &Matcher) -> Shape {
        Shape::new(matcher, &mut self.sets)
    }

    /// Whether a rule before `index` passes all of `packets` that come so far.
    pub fn passes_all(&self, packets: &Shape, index: usize) -> bool {
        self.passing(index).any(|earlier| self.shapes[earlier].covers(packets) == Cover::Whole)
    }

    /// Whether a rule of a policy before `index` may pass some of `packets`.
    pub fn may_pass_some(&self, packets: &Shape, index: usize) -> bool {
        let of_policies = self.passing(index).filter(|earlier| !self.rules[*earlier].is_failsafe());
        of_policies.into_iter().any(|earlier| !self.shapes[earlier].is_apart_from(packets))
    }

    /// Whether some packet may match both rules.
    pub fn may_meet(&self, one: usize, other: usize) -> bool {
        !self.shapes[one].is_apart_from(&self.shapes[other])
    }

    /// The rules before `index` that pass packets, of policies and of the failsafe.
    fn passing(&self, index: usize) -> impl Iterator<Item = usize> {
        let passes = |earlier: &usize| self.rules[*earlier].action.passes();
        (0..index).filter(move |earlier| self.decides_for(*earlier, index)).filter(passes)
    }

    /// Indexes of the rules that are never reached, each with the rules that decide in its place. Whoever
    /// reads of a rule that matches nothing by itself looks for no other reason: such rules are left out.
    pub fn unreached(&self) -> Vec<(usize, Vec<usize>)> {
        let candidates = (0..self.rules.len()).filter(|index| !self.rules[*index].is_failsafe());
        let candidates = candidates.filter(|index| !self.shapes[*index].is_void());
        candidates.filter_map(|index| Some((index, self.deciders(index)?))).collect()
    }

    /// The rules before `index` that decide about all that it matches.
    fn deciders(&self, index: usize) -> Option<Vec<usize>> {
        let shape = &self.shapes[index];
        let mut partial: Vec<(Field, usize)> = Vec::new();
        for earlier in (0..index).filter(|earlier| self.decides_for(*earlier, index)) {
            match self.shapes[earlier].covers(shape) {
                Cover::Whole => return Some(vec![earlier]),
                Cover::But(field) if self.helps(earlier, field, shape) => partial.push((field, earlier)),
                Cover::But(_) | Cover::No => {}
            }
        }
        partial.sort_unstable();
        partial.chunk_by(|left, right| left.0 == right.0).find_map(|part| self.together(part, shape))
    }

    /// Whether a rule has any value of a field that `shape` asks for.
    fn helps(&self, index: usize, field: Field, shape: &Shape) -> bool {
        let (values, wanted) = (self.shapes[index].get(field), shape.get(field));
        values.zip(wanted).is_some_and(|(values, wanted)| values.intersects(wanted))
    }

    /// Of rules that cover `shape` but for one field, those that do so together.
    fn together(&self, partial: &[(Field, usize)], shape: &Shape) -> Option<Vec<usize>> {
        let (field, _) = partial.first()?;
        let union = Values::union(partial.iter().filter_map(|(_, index)| self.shapes[*index].get(*field)));
        let is_whole = shape.get(*field).is_some_and(|wanted| union.contains(wanted));
        is_whole.then(|| partial.iter().map(|(_, index)| *index).collect())
    }

    /// Whether evaluation that gets to `earlier`, and matches it, never gets to `later`.
    fn decides_for(&self, earlier: usize, later: usize) -> bool {
        let rule = &self.rules[earlier];
        rule.action.is_terminal() && (rule.enforcement == Enforcement::Enforce || later < rule.policy_end)
    }
}
