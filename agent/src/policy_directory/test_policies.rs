//! Policy documents for the tests of this module.

/// A valid policy that drops UDP to `port`.
pub fn good(name: &str, port: u16) -> String {
    let rule = format!(
        "  - name: drop\n    match: {{protocol: UDP, destinationPorts: [\"{port}\"]}}\n    action: {{type: Drop}}\n"
    );
    format!(
        "apiVersion: sluice.dev/v1alpha1\nkind: XdpPolicy\nmetadata: {{name: {name}}}\nspec:\n  interfaces:\n  - names: [eth0]\n  rules:\n{rule}"
    )
}

/// Several documents in one file.
pub fn together(documents: &[String]) -> String {
    documents.join("---\n")
}

/// Contents of a file for policy `name` that are wrong in every way there is, each with a word for it.
pub fn bad(name: &str) -> Vec<(&'static str, Vec<u8>)> {
    let good = good(name, 9);
    let changed = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replace(from, to).into_bytes()
    };
    vec![
        ("unknown field", changed("protocol: UDP", "protocol: UDP, protocl: TCP")),
        ("unknown field in spec", changed("spec:\n", "spec:\n  colour: red\n")),
        ("not implemented", changed("spec:\n", "spec:\n  remedies: [Channels]\n")),
        ("not carried out", changed("type: Drop", "type: Steer, steer: {cpus: \"2-5\"}")),
        ("wrong type", changed("interfaces:\n  - names: [eth0]", "interfaces: eth0")),
        ("ports 0 to 70000", changed("\"9\"", "\"0-70000\"")),
        ("port 70000", changed("\"9\"", "\"70000\"")),
        ("range reversed", changed("\"9\"", "\"200-100\"")),
        ("wrong kind", changed("kind: XdpPolicy", "kind: XdpPolice")),
        ("no name", changed(&format!("metadata: {{name: {name}}}\n"), "")),
        ("no name and an empty spec", b"kind: XdpPolicy\nspec: {}\n".to_vec()),
        ("a name that is a number", changed(&format!("name: {name}"), "name: 7")),
        ("empty", Vec::new()),
        ("only a comment", b"# nothing\n".to_vec()),
        ("null", b"null\n".to_vec()),
        ("a list", b"- 1\n- 2\n".to_vec()),
        ("a word", b"hello\n".to_vec()),
        ("an open bracket", b"spec: [\n".to_vec()),
        ("half of it", good.as_bytes()[..good.len() / 2].to_vec()),
        ("not UTF-8", [good.as_bytes(), b"# \xff\xfe\n"].concat()),
        ("NUL bytes", vec![0; 4096]),
        ("10 MB", vec![b' '; 10_000_000]),
        ("the same name twice", together(&[good.clone(), good.clone()]).into_bytes()),
        ("good, then broken", [good.as_bytes(), b"---\nspec: [\n"].concat()),
    ]
}
