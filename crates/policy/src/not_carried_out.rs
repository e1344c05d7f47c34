//! Actions that are understood, but that no agent of this release carries out.

use crate::problem::{Finding, Problem, Reason};
use crate::{Action, Policy};

impl Policy {
    /// Everything about this policy that an agent of this release cannot do. The agent refuses such a
    /// policy as a whole; who only reads policies may show it.
    #[must_use]
    pub fn not_carried_out(&self) -> Vec<Problem> {
        let rules = self.rules.iter().enumerate();
        let actions = rules.filter(|(_, rule)| matches!(rule.action, Action::Steer(_) | Action::Socket(_)));
        let problem = |(index, name): (usize, &str)| {
            Finding::new(
                format!("spec.rules[{index}].action.type"),
                Reason::NotImplemented,
                format!("{name} is not implemented in this release"),
                "Write Drop, Pass, Count, RateLimit or Mark",
            )
            .into_problem(&self.file, Some(&self.name))
        };
        actions.map(|(index, rule)| problem((index, rule.action.as_str()))).collect()
    }
}
