//! Policies as text, as a user writes them.

use std::fmt::Write as _;

/// A policy in the making.
#[derive(Clone, Debug)]
pub struct PolicyText {
    name: String,
    names: String,
    mode: &'static str,
    priority: i32,
    rules: String,
}

impl PolicyText {
    /// A policy without rules for one device, or for several with a comma in between.
    pub fn new(name: &str, devices: &str, mode: &'static str) -> Self {
        let (name, names) = (name.to_owned(), devices.to_owned());
        Self { name, names, mode, priority: 100, rules: String::new() }
    }

    /// The place among other policies.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Adds a rule for a UDP port.
    pub fn rule(mut self, name: &str, port: u16, action: &str) -> Self {
        let matches = format!("{{protocol: UDP, destinationPorts: [\"{port}\"]}}");
        writeln!(self.rules, "    - {{name: {name}, match: {matches}, action: {{type: {action}}}}}").unwrap();
        self
    }

    /// The document.
    pub fn yaml(&self) -> String {
        let Self { name, names, mode, priority, rules } = self;
        format!(
            "apiVersion: sluice.dev/v1alpha1\nkind: XdpPolicy\nmetadata: {{name: {name}}}\nspec:\n  \
             interfaces: [{{names: [{names}]}}]\n  mode: {mode}\n  priority: {priority}\n  rules:\n{rules}"
        )
    }
}

/// A policy that drops UDP to these ports; each is a rule `port-PORT`.
pub fn drops(name: &str, device: &str, mode: &'static str, ports: &[u16]) -> String {
    let policy = PolicyText::new(name, device, mode);
    ports.iter().fold(policy, |policy, port| policy.rule(&format!("port-{port}"), *port, "Drop")).yaml()
}
