//! *Verdicts* and exit codes: the answer of a command, for people and scripts.
//!
//! | answer | exit code |
//! |---|---|
//! | holds, or the command did what was asked | 0 |
//! | violated | 1 |
//! | bad input or usage | 2 |
//! | unknown: time, memory, a bound, or gave up | 3 |

use std::fmt;

use serde::Serialize;

/// The answer about a program's properties.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Every run keeps the properties.
    Holds,
    /// Some run, shown as a trace, breaks one.
    Violated,
    /// No answer; the report says what ran out.
    Unknown,
}

impl Verdict {
    /// The verdict as the documents spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Violated => "violated",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a command ended, hence its exit code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// It did what was asked, and no verdict was asked for.
    Done,
    /// It has a verdict.
    Verdict(Verdict),
    /// The input or the command line is wrong.
    BadInput,
}

impl Outcome {
    /// The process's exit code.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Done | Self::Verdict(Verdict::Holds) => 0,
            Self::Verdict(Verdict::Violated) => 1,
            Self::BadInput => 2,
            Self::Verdict(Verdict::Unknown) => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_the_documented_ones() {
        assert_eq!(Outcome::Done.exit_code(), 0);
        assert_eq!(Outcome::Verdict(Verdict::Holds).exit_code(), 0);
        assert_eq!(Outcome::Verdict(Verdict::Violated).exit_code(), 1);
        assert_eq!(Outcome::BadInput.exit_code(), 2);
        assert_eq!(Outcome::Verdict(Verdict::Unknown).exit_code(), 3);
    }
}
