//! *Outcomes* and exit codes: how a command ended, for scripts; and a verdict in
//! words, for people.
//!
//! | outcome | exit code |
//! |---|---|
//! | holds, or the command did what was asked | 0 |
//! | violated | 1 |
//! | bad input or usage | 2 |
//! | unknown: time, memory, a bound, or gave up | 3 |

use std::fmt::Write;

use palisade_program::{Source, Unknown, Verdict, listed};

use crate::style::{Ink, Style};

/// How a command ended, hence its exit code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// It did what was asked, and no verdict was asked for.
    Done,
    /// The properties hold.
    Holds,
    /// A property is violated.
    Violated,
    /// The input or the command line is wrong.
    BadInput,
    /// No answer.
    Unknown,
}

impl Outcome {
    /// The process's exit code.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Done | Self::Holds => 0,
            Self::Violated => 1,
            Self::BadInput => 2,
            Self::Unknown => 3,
        }
    }
}

impl From<&Verdict> for Outcome {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Holds => Self::Holds,
            Verdict::Violated(_) => Self::Violated,
            Verdict::Unknown(_) => Self::Unknown,
        }
    }
}

/// The verdict as the JSON documents spell it.
pub const fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown(_) => "unknown",
    }
}

/// What the verdict rests on in one line: the broken property, or what ran out.
pub fn reason(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Holds => None,
        Verdict::Violated(violation) => {
            // The machine's message for `never` and `finally` repeats the verdict.
            let message = &violation.message;
            Some(
                message
                    .strip_prefix("violated: ")
                    .unwrap_or(message)
                    .to_owned(),
            )
        }
        Verdict::Unknown(why) => Some(why.to_string()),
    }
}

/// The bounds that were touched, if they are what stands in the way.
pub fn bound(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Unknown(Unknown::Bound(bounds)) => Some(listed(bounds)),
        Verdict::Holds | Verdict::Violated(_) | Verdict::Unknown(_) => None,
    }
}

/// The verdict on a line of its own: `violated: assertion failed (dekker.pal:7:3)`.
pub fn line(verdict: &Verdict, source: &Source, style: Style) -> String {
    let ink = match verdict {
        Verdict::Holds => Ink::Good,
        Verdict::Violated(_) => Ink::Bad,
        Verdict::Unknown(_) => Ink::Doubt,
    };
    let mut line = style.paint(ink, word(verdict));
    if let Some(reason) = reason(verdict) {
        line.push_str(": ");
        line.push_str(&reason);
    }
    let span = match verdict {
        Verdict::Violated(violation) => Some(violation.span),
        Verdict::Unknown(Unknown::Unsupported(_, span) | Unknown::Uninitialised(_, span)) => {
            Some(*span)
        }
        Verdict::Holds | Verdict::Unknown(_) => None,
    };
    if let Some(span) = span {
        // Writing to a string does not fail.
        let _ = write!(line, " ({})", source.place(span.start));
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_program::{Broken, Span, Trace, Violation};

    #[test]
    fn exit_codes_are_the_documented_ones() {
        assert_eq!(Outcome::Done.exit_code(), 0);
        assert_eq!(Outcome::from(&Verdict::Holds).exit_code(), 0);
        assert_eq!(Outcome::BadInput.exit_code(), 2);
        let unknown = Verdict::Unknown(Unknown::Time);
        assert_eq!(Outcome::from(&unknown).exit_code(), 3);
        let violated = Verdict::Violated(Box::new(Violation {
            broken: Broken::Assert(palisade_program::AssertKind::User),
            span: Span::new(2, 3),
            message: "assertion failed".into(),
            trace: Trace::default(),
        }));
        assert_eq!(Outcome::from(&violated).exit_code(), 1);
        let source = Source::new("a.pal", "x\ny");
        let text = line(&violated, &source, Style::PLAIN);
        assert_eq!(text, "violated: assertion failed (a.pal:2:1)\n");
    }

    #[test]
    fn only_bounds_are_called_bounds() {
        let touched = Verdict::Unknown(Unknown::Bound(vec![
            palisade_program::Bound::BooleanStates(10),
        ]));
        assert_eq!(bound(&touched).as_deref(), Some("10 states"));
        assert_eq!(bound(&Verdict::Unknown(Unknown::Time)), None);
    }
}
