//! *Test results*: what `palisade test` found, as a table, as JUnit's XML, and as SARIF.

use std::fmt::Write;

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_sarif::sarif::{
    ArtifactLocation, Location, Message, PhysicalLocation, Region, ReportingDescriptor,
    Result as Finding, ResultLevel, Run, Sarif, Tool, ToolComponent,
};

use crate::style::{Ink, Style};
use crate::wrap::width;

/// How a test ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Status {
    /// The verdict is the expected one.
    Passed,
    /// The verdict is another one.
    Failed,
    /// There is no verdict although one was expected.
    Unknown,
    /// The input could not be read.
    Error,
}

impl Status {
    /// All, in the order in which they are counted.
    const ALL: [Self; 4] = [Self::Passed, Self::Failed, Self::Unknown, Self::Error];

    /// The word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Error => "error",
        }
    }

    /// The rule that SARIF knows it by, and what that means.
    const fn rule(self) -> Option<(&'static str, &'static str, ResultLevel)> {
        match self {
            Self::Passed => None,
            Self::Failed => Some((
                "verdict",
                "The verdict is not the expected one.",
                ResultLevel::Error,
            )),
            Self::Unknown => Some((
                "unknown",
                "Neither a proof nor a violation was found.",
                ResultLevel::Warning,
            )),
            Self::Error => Some(("input", "The input could not be read.", ResultLevel::Error)),
        }
    }

    const fn ink(self) -> Ink {
        match self {
            Self::Passed => Ink::Good,
            Self::Failed | Self::Error => Ink::Bad,
            Self::Unknown => Ink::Doubt,
        }
    }
}

/// One file under one model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tested {
    /// The file as given.
    pub file: String,
    /// The memory model, where there is one.
    pub model: Option<String>,
    /// The verdict, if there was one.
    pub verdict: Option<String>,
    /// The verdict that was expected.
    pub expected: String,
    /// How it ended.
    pub status: Status,
    /// Why: what is violated, what ran out, what cannot be read.
    pub reason: Option<String>,
    /// Where in the file, if it is a place: line and column.
    pub place: Option<(u64, u64)>,
    /// The command that does the same.
    pub command: String,
    /// Seconds that it took.
    pub seconds: f64,
}

impl Tested {
    /// `file (model)`.
    fn name(&self) -> String {
        match &self.model {
            Some(model) => format!("{} ({model})", self.file),
            None => self.file.clone(),
        }
    }

    /// What is wrong, in one line.
    fn complaint(&self) -> String {
        let found = self.verdict.as_deref().unwrap_or("no verdict");
        let reason = self.reason.as_ref().map(|r| format!(": {r}"));
        format!(
            "{found}{}, expected {}",
            reason.unwrap_or_default(),
            self.expected
        )
    }
}

/// How many tests ended so.
pub fn count(tests: &[Tested], status: Status) -> usize {
    tests.iter().filter(|test| test.status == status).count()
}

/// The tests as a table, with what went wrong and a summary below.
pub fn table(tests: &[Tested], style: Style) -> String {
    let widest = |of: fn(&Tested) -> usize| tests.iter().map(of).max().unwrap_or(0);
    let names = widest(|test| width(&test.file));
    let models = widest(|test| test.model.as_deref().map_or(0, width));
    let mut text = String::new();
    for test in tests {
        let verdict = test.verdict.as_deref().unwrap_or("-");
        let status = style.paint(test.status.ink(), test.status.word());
        let pad = " ".repeat(8_usize.saturating_sub(test.status.word().len()));
        let row = format!(
            "{:names$}  {:models$}  {verdict:9} {status}{pad} {:7.2} s",
            test.file,
            test.model.as_deref().unwrap_or_default(),
            test.seconds,
        );
        text.push_str(row.trim_end());
        text.push('\n');
    }
    for test in tests.iter().filter(|test| test.status != Status::Passed) {
        let head = style.paint(test.status.ink(), test.status.word());
        let (name, why) = (test.name(), test.complaint());
        // Writing to a string does not fail.
        let _ = writeln!(text, "\n{head}: {name}\n  {why}\n  {}", test.command);
    }
    let counts: Vec<String> = Status::ALL
        .iter()
        .map(|status| (count(tests, *status), status.word()))
        .filter(|(n, word)| *n > 0 || *word == "passed")
        .map(|(n, word)| format!("{n} {word}"))
        .collect();
    let noun = if tests.len() == 1 { "test" } else { "tests" };
    let gap = if tests.is_empty() { "" } else { "\n" };
    let _ = writeln!(text, "{gap}{} {noun}: {}", tests.len(), counts.join(", "));
    text
}

/// The tests for the JSON document.
pub fn values(tests: &[Tested]) -> Vec<Value> {
    let value = |test: &Tested| {
        json!({
            "file": test.file,
            "model": test.model,
            "verdict": test.verdict,
            "expected": test.expected,
            "status": test.status.word(),
            "reason": test.reason,
            "line": test.place.map(|p| p.0),
            "column": test.place.map(|p| p.1),
            "command": test.command,
            "seconds": test.seconds,
        })
    };
    tests.iter().map(value).collect()
}

/// JUnit's XML: one suite, a case for each test. A verdict that differs is a failure; no
/// verdict and no input are errors.
pub fn junit(tests: &[Tested]) -> Option<String> {
    let mut suite = TestSuite::new("palisade");
    for test in tests {
        let kind = match test.status {
            Status::Passed => None,
            Status::Failed => Some(NonSuccessKind::Failure),
            Status::Unknown | Status::Error => Some(NonSuccessKind::Error),
        };
        let status = match kind {
            None => TestCaseStatus::success(),
            Some(kind) => {
                let mut status = TestCaseStatus::non_success(kind);
                status
                    .set_type(test.status.word())
                    .set_message(test.complaint())
                    .set_description(test.command.clone());
                status
            }
        };
        let mut case = TestCase::new(test.name(), status);
        case.set_classname(test.file.clone());
        case.set_time(std::time::Duration::from_secs_f64(test.seconds.max(0.0)));
        suite.add_test_case(case);
    }
    let mut report = quick_junit::Report::new("palisade");
    report.add_test_suite(suite);
    report.to_string().ok()
}

/// SARIF 2.1.0: a result for each test that did not pass, at the place that it is about.
pub fn sarif(tests: &[Tested]) -> Option<String> {
    let rules: Vec<ReportingDescriptor> = Status::ALL
        .iter()
        .filter_map(|status| status.rule())
        .map(|(id, text, _)| {
            ReportingDescriptor::builder()
                .id(id)
                .short_description(&text.to_owned())
                .build()
        })
        .collect();
    let results: Vec<Finding> = tests.iter().filter_map(finding).collect();
    let driver = ToolComponent::builder()
        .name("palisade")
        .version(env!("CARGO_PKG_VERSION"))
        .rules(rules)
        .build();
    let run = Run::builder()
        .tool(Tool::builder().driver(driver).build())
        .results(results)
        .build();
    let sarif = Sarif::builder()
        .version(json!("2.1.0"))
        .schema("https://json.schemastore.org/sarif-2.1.0.json")
        .runs(vec![run])
        .build();
    serde_json::to_string_pretty(&sarif).ok()
}

fn finding(test: &Tested) -> Option<Finding> {
    let (rule, _, level) = test.status.rule()?;
    let (line, column) = test.place.unwrap_or((1, 1));
    let region = Region::builder()
        .start_line(i64::try_from(line).ok()?)
        .start_column(i64::try_from(column).ok()?)
        .build();
    let place = PhysicalLocation::builder()
        .artifact_location(ArtifactLocation::builder().uri(test.file.clone()).build())
        .region(region)
        .build();
    let under = test.model.as_ref().map(|m| format!(" under {m}"));
    let words = format!("{}{}", test.complaint(), under.unwrap_or_default());
    let found = Finding::builder()
        .rule_id(rule)
        .level(level)
        .message(Message::builder().text(words).build())
        .locations(vec![Location::builder().physical_location(place).build()])
        .build();
    Some(found)
}
