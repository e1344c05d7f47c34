//! Reads the report that the test runner writes: which tests ran, and which failed. Of JUnit's XML it knows
//! only what that runner uses.

/// One test that ran.
#[derive(Debug, Eq, PartialEq)]
pub struct TestCase {
    /// The test binary, as the runner names it.
    pub binary: String,
    /// The test's path inside the binary.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
}

/// All the tests of a report, in its order.
pub fn parse(report: &str) -> Vec<TestCase> {
    report.split("<testcase ").skip(1).filter_map(test_case).collect()
}

fn test_case(text: &str) -> Option<TestCase> {
    // Whatever follows this test's own end belongs to the suite.
    let (attributes, rest) = text.split_once('>')?;
    let body = if attributes.ends_with('/') { "" } else { rest.split("</testcase>").next().unwrap_or(rest) };
    Some(TestCase {
        binary: attribute(attributes, "classname")?,
        name: attribute(attributes, "name")?,
        passed: !body.contains("<failure") && !body.contains("<error"),
    })
}

fn attribute(attributes: &str, name: &str) -> Option<String> {
    let start = format!(" {name}=\"");
    let padded = format!(" {attributes}");
    let (value, _) = padded.split_once(&start)?.1.split_once('"')?;
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    Some(entities.iter().fold(value.to_owned(), |text, (entity, char)| text.replace(entity, char)))
}

#[cfg(test)]
mod tests {
    use super::{TestCase, parse};

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="3" failures="1" errors="1" time="1.2">
    <testsuite name="a::lab" tests="2" failures="1">
        <testcase name="m::good" classname="a::lab" timestamp="2026-01-01T00:00:00" time="0.4">
        </testcase>
        <testcase name="m::bad" classname="a::lab" time="0.4">
            <failure message="&lt;no&gt;" type="test failure with exit code 101">...</failure>
        </testcase>
    </testsuite>
    <testsuite name="b" tests="2">
        <testcase name="short&amp;sweet" classname="b" time="0.4"/>
        <testcase name="killed" classname="b" time="0.4"><error type="test timeout"/></testcase>
    </testsuite>
</testsuites>"#;

    #[test]
    fn tests_and_their_outcomes_are_read() {
        let case =
            |binary: &str, name: &str, passed| TestCase { binary: binary.into(), name: name.into(), passed };
        assert_eq!(
            parse(REPORT),
            [
                case("a::lab", "m::good", true),
                case("a::lab", "m::bad", false),
                case("b", "short&sweet", true),
                case("b", "killed", false),
            ]
        );
    }

    #[test]
    fn an_empty_report_has_no_tests() {
        assert_eq!(parse("<testsuites name=\"nextest-run\" tests=\"0\"></testsuites>"), []);
    }
}
