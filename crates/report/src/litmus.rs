//! Results of *litmus tests* in the form of herd's logs, which other tools read:
//!
//! ```text
//! Test SB Allowed
//! States 4
//! 0:EAX=0; 1:EAX=0;
//! ...
//! Ok
//! Witnesses
//! Positive: 1 Negative: 3
//! Condition exists (0:EAX=0 /\ 1:EAX=0)
//! Observation SB Sometimes 1 3
//! ```
//!
//! Witnesses are counted in states; herd counts executions.

use std::fmt::Write;

use serde_json::{Map, Value, json};

/// The result of one test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LitmusReport {
    /// The file as given.
    pub file: String,
    /// The test's name.
    pub name: String,
    /// `Allowed`, `Forbidden` or `Required`.
    pub kind: &'static str,
    /// `exists (...)`, as herd prints it.
    pub condition: String,
    /// What came out.
    pub result: LitmusResult,
    /// States that the search stored.
    pub explored: u64,
    /// Whether some run has a data race (RC11).
    pub has_race: bool,
}

/// What came out of a test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LitmusResult {
    /// All final states are known.
    Complete {
        /// The final states, each a list of names and values.
        states: Vec<Vec<(String, String)>>,
        /// `Ok` or `No`.
        answer: &'static str,
        /// `Never`, `Sometimes` or `Always`.
        observation: &'static str,
        /// States that satisfy the proposition.
        positive: usize,
        /// States that do not.
        negative: usize,
    },
    /// The search could not be finished: why.
    Unknown(String),
}

impl LitmusReport {
    /// The result as text, ended by an empty line.
    pub fn render(&self) -> String {
        let mut out = format!("Test {} {}\n", self.name, self.kind);
        // Writing to a string does not fail.
        let _ = match &self.result {
            LitmusResult::Unknown(why) => writeln!(out, "Unknown {why}"),
            LitmusResult::Complete {
                states,
                answer,
                observation,
                positive,
                negative,
            } => {
                let _ = writeln!(out, "States {}", states.len());
                for state in states {
                    out.push_str(&state_line(state));
                    out.push('\n');
                }
                // herd counts as positive what speaks for the condition.
                let (pro, con) = match self.kind {
                    "Forbidden" => (negative, positive),
                    _ => (positive, negative),
                };
                writeln!(
                    out,
                    "{answer}\nWitnesses\nPositive: {pro} Negative: {con}\nCondition {}\n\
                     Observation {} {observation} {positive} {negative}",
                    self.condition, self.name
                )
            }
        };
        if self.has_race {
            out.push_str("Flag data-race\n");
        }
        out.push('\n');
        out
    }

    /// The result for the document's `tests`.
    pub fn value(&self) -> Value {
        let mut value = json!({
            "file": self.file,
            "name": self.name,
            "kind": self.kind,
            "condition": self.condition,
        });
        let more = match &self.result {
            LitmusResult::Unknown(why) => json!({ "verdict": "unknown", "reason": why }),
            LitmusResult::Complete {
                states,
                answer,
                observation,
                positive,
                negative,
            } => json!({
                "verdict": answer,
                "observation": observation,
                "positive": positive,
                "negative": negative,
                "states": states.len(),
                "outcomes": states.iter().map(|s| state_value(s)).collect::<Vec<_>>(),
            }),
        };
        if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
            if self.has_race {
                value.insert("data_race".to_owned(), json!(true));
            }
            value.extend(more);
            value.insert("explored".to_owned(), json!(self.explored));
        }
        value
    }
}

fn state_line(state: &[(String, String)]) -> String {
    let parts: Vec<String> = state.iter().map(|(k, v)| format!("{k}={v};")).collect();
    parts.join(" ")
}

fn state_value(state: &[(String, String)]) -> Value {
    let entries = state.iter().map(|(k, v)| (k.clone(), number_or_text(v)));
    Value::Object(entries.collect::<Map<_, _>>())
}

/// Numbers as numbers, addresses and arrays as text.
fn number_or_text(text: &str) -> Value {
    match (text.parse::<i64>(), text.parse::<u64>()) {
        (Ok(n), _) => json!(n),
        (_, Ok(n)) => json!(n),
        (Err(_), Err(_)) => json!(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(kind: &'static str) -> LitmusReport {
        let state = |a: &str, x: &str| {
            vec![
                ("0:EAX".to_owned(), a.to_owned()),
                ("[x]".to_owned(), x.to_owned()),
            ]
        };
        LitmusReport {
            file: "t.litmus".to_owned(),
            name: "T".to_owned(),
            kind,
            condition: "~exists (0:EAX=1)".to_owned(),
            result: LitmusResult::Complete {
                states: vec![state("0", "1"), state("0", "y")],
                answer: "Ok",
                observation: "Never",
                positive: 0,
                negative: 2,
            },
            has_race: false,
            explored: 9,
        }
    }

    #[test]
    fn text_is_herds() {
        let expected = "Test T Forbidden\nStates 2\n0:EAX=0; [x]=1;\n0:EAX=0; [x]=y;\nOk\n\
                        Witnesses\nPositive: 2 Negative: 0\nCondition ~exists (0:EAX=1)\n\
                        Observation T Never 0 2\n\n";
        assert_eq!(report("Forbidden").render(), expected);
    }

    #[test]
    fn json_has_values() {
        let value = report("Forbidden").value();
        assert_eq!(value["states"], 2);
        assert_eq!(value["outcomes"][0]["[x]"], 1);
        assert_eq!(value["outcomes"][1]["[x]"], "y");
        assert_eq!(value["observation"], "Never");
    }

    #[test]
    fn unknown_says_why() {
        let report = LitmusReport {
            result: LitmusResult::Unknown("time limit reached".to_owned()),
            ..report("Allowed")
        };
        assert_eq!(
            report.render(),
            "Test T Allowed\nUnknown time limit reached\n\n"
        );
        assert_eq!(report.value()["verdict"], "unknown");
    }
}
