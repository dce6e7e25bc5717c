//! *C tasks*: C programs and SV-COMP task files with what is asked about them. A
//! task says which calls are violations, which integers are meant, and (from a
//! `.yml` file) which verdict is expected. What the front end does not support but
//! a run may reach stands in the program as an assertion; a run that fails it makes
//! the verdict unknown here.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use palisade_frontend::c::{self, DataModel, Races};
use palisade_program::{AssertKind, Cfg, Program, Step, Unknown, Verdict, Violation};
use palisade_report::Outcome;

use crate::args::{CArgs, IntsArg};
use crate::context::Context;
use crate::input;

/// The words of the front end for a signed overflow.
const OVERFLOW: &str = "signed overflow";

/// What is asked about a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Property {
    /// Everything that the program itself says: assertions, bounds, error functions.
    All,
    /// A function is never called: `unreach-call`.
    Unreachable(String),
    /// No signed overflow: `no-overflow`.
    NoOverflow,
    /// No data race: `no-data-race`.
    NoRace,
}

impl Property {
    /// Its name in SV-COMP.
    const fn name(&self) -> &'static str {
        match self {
            Self::All | Self::Unreachable(_) => "unreach-call",
            Self::NoOverflow => "no-overflow",
            Self::NoRace => "no-data-race",
        }
    }
}

/// A task.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// The file with the program.
    pub(crate) file: PathBuf,
    pub(crate) property: Property,
    pub(crate) data_model: DataModel,
    pub(crate) expected: Option<bool>,
    math: bool,
    check_overflow: bool,
    check_races: bool,
    ranks: Option<u32>,
}

/// Whether a file is for this front end.
pub(crate) fn is_c(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str());
    matches!(extension, Some("c" | "i" | "yml" | "yaml"))
}

impl Task {
    /// What the command line asks about a file.
    pub(crate) fn new(path: &Path, args: &CArgs) -> Result<Self> {
        let extension = path.extension().and_then(|e| e.to_str());
        let mut task = if matches!(extension, Some("yml" | "yaml")) {
            Self::from_yaml(path, args.property.is_some())?
        } else {
            Self {
                file: path.to_owned(),
                property: Property::All,
                data_model: DataModel::Lp64,
                expected: None,
                math: false,
                check_overflow: false,
                check_races: false,
                ranks: None,
            }
        };
        if let Some(file) = &args.property {
            task.property = read_property(file)?;
        }
        if let Some(model) = args.data_model {
            task.data_model = model.into();
        }
        task.math = args.ints == IntsArg::Math;
        task.ranks = args.ranks;
        Ok(task)
    }

    /// With further checks.
    pub(crate) fn checking(mut self, overflow: bool, races: bool) -> Self {
        self.check_overflow |= overflow;
        self.check_races |= races;
        self
    }

    fn from_yaml(path: &Path, has_property: bool) -> Result<Self> {
        let name = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        let yaml = Yaml::parse(&text);
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        let input = match yaml.inputs.as_slice() {
            [input] => input,
            [] => bail!("{name}: no input file (`input_files: 'program.c'`)"),
            [_, second, ..] => bail!(
                "{name}: unsupported: more than one input file (`{second}`); make one file of them"
            ),
        };
        let mut task = Self {
            file: folder.join(input),
            property: Property::All,
            data_model: match yaml.data_model.as_deref() {
                Some("LP64") => DataModel::Lp64,
                _ => DataModel::Ilp32,
            },
            expected: None,
            math: false,
            check_overflow: false,
            check_races: false,
            ranks: None,
        };
        if has_property {
            return Ok(task);
        }
        // A task may ask several questions; the first of this list is answered.
        for stem in ["unreach-call", "no-overflow", "no-data-race"] {
            let asked = yaml.properties.iter().find(|(file, _)| {
                let file = Path::new(file).file_stem();
                file.is_some_and(|f| f == stem)
            });
            let Some((file, expected)) = asked else {
                continue;
            };
            task.property = match stem {
                "unreach-call" => read_property(&folder.join(file))
                    .unwrap_or_else(|_| Property::Unreachable("reach_error".to_owned())),
                "no-overflow" => Property::NoOverflow,
                _ => Property::NoRace,
            };
            task.expected = *expected;
            return Ok(task);
        }
        bail!(
            "{name}: unsupported: none of its properties is known (unreach-call, no-overflow, no-data-race)"
        )
    }

    /// Whether a task file asks about calls of an error function.
    pub(crate) fn asks_for_calls(path: &Path) -> Result<bool> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let is_calls = |file: &str| {
            Path::new(file)
                .file_stem()
                .is_some_and(|f| f == "unreach-call")
        };
        Ok(Yaml::parse(&text)
            .properties
            .iter()
            .any(|(file, _)| is_calls(file)))
    }

    /// Reads the program. What is wrong with it has been printed when this returns an
    /// outcome.
    pub(crate) fn load(&self, context: &Context) -> Result<Result<Program, Outcome>> {
        let source = input::read(&self.file)?;
        Ok(match c::parse(&self.file, &source, &self.options()) {
            Ok(parsed) => {
                input::warn(context, &parsed.program.source, &parsed.warnings);
                Ok(parsed.program)
            }
            Err(diagnostics) => Err(input::refuse(context, &diagnostics)),
        })
    }

    /// How the front end is to read the program.
    pub(crate) fn options(&self) -> c::Options {
        c::Options {
            data_model: self.data_model,
            math: self.math,
            check_overflow: self.check_overflow || self.property == Property::NoOverflow,
            races: if self.check_races || self.property == Property::NoRace {
                Races::Check
            } else {
                Races::Ignore
            },
            ranks: self.ranks,
            error_function: match &self.property {
                Property::All => None,
                Property::Unreachable(function) => Some(function.clone()),
                // No call is a violation; a failing assertion ends the program.
                Property::NoOverflow | Property::NoRace => Some(String::new()),
            },
        }
    }

    /// The verdict about the task: a run into something unsupported, or into another
    /// error than the one asked for, says nothing.
    pub(crate) fn settle(&self, program: &Program, verdict: Verdict) -> Verdict {
        let violation = match &verdict {
            Verdict::Violated(violation) => violation,
            Verdict::Holds | Verdict::Unknown(_) => return verdict,
        };
        if let Some(what) = violation.message.strip_prefix(c::UNSUPPORTED) {
            let unsupported = Unknown::Unsupported(what.to_owned(), violation.span);
            return Verdict::Unknown(unsupported);
        }
        if self.is_asked_for(program, violation) {
            return named(program, verdict);
        }
        Verdict::Unknown(Unknown::GaveUp(format!(
            "another error comes first: {} at line {}",
            violation.message,
            program.source.position(violation.span.start).line
        )))
    }

    /// The same program, asked about races only.
    pub(crate) fn about_races(&self) -> Self {
        Self {
            property: Property::NoRace,
            ..self.clone()
        }
    }

    /// Whether a violation is not the one that is asked for, or none at all.
    pub(crate) fn is_beside_the_point(&self, program: &Program, verdict: &Verdict) -> bool {
        match verdict {
            Verdict::Violated(v) => {
                v.message.starts_with(c::UNSUPPORTED) || !self.is_asked_for(program, v)
            }
            Verdict::Holds | Verdict::Unknown(_) => false,
        }
    }

    /// The program with only those assertions that are asked for; the others become
    /// assumptions. A run of it into a violation is one of the program itself, which
    /// meets nothing unsupported and no other error on its way.
    pub(crate) fn narrowed(&self, program: &Program) -> Program {
        let mut program = program.clone();
        for template in &mut program.templates {
            self.narrow(&mut template.cfg);
        }
        program
    }

    fn narrow(&self, cfg: &mut Cfg) {
        for edge in &mut cfg.edges {
            match &mut edge.step {
                Step::Assert { cond, kind } if !self.asks_about(kind) => {
                    edge.step = Step::Assume(cond.clone());
                }
                Step::Atomic(block) => self.narrow(&mut block.body),
                Step::Assert { .. } | Step::Skip | Step::Assume(_) | Step::Assign { .. } => {}
                Step::Havoc { .. } | Step::Load { .. } | Step::Store { .. } | Step::Fence(_) => {}
                Step::Put { .. } | Step::Get { .. } | Step::Flush(_) | Step::RemoteAtomic(_) => {}
            }
        }
    }

    fn asks_about(&self, kind: &AssertKind) -> bool {
        let words = match kind {
            AssertKind::Other(words) => Some(words.as_str()),
            AssertKind::User | AssertKind::Index | AssertKind::Domain => None,
        };
        match &self.property {
            Property::All => !words.is_some_and(|w| w.starts_with(c::UNSUPPORTED)),
            Property::Unreachable(f) => words.is_some_and(|w| w == c::call_of_error(f)),
            Property::NoOverflow => words == Some(OVERFLOW),
            Property::NoRace => false,
        }
    }

    fn is_asked_for(&self, program: &Program, violation: &Violation) -> bool {
        match &self.property {
            Property::All => true,
            Property::Unreachable(function) => violation.message == c::call_of_error(function),
            Property::NoOverflow => violation.message == OVERFLOW,
            Property::NoRace => matches!(violation.broken, palisade_program::Broken::Property(k)
                if k < program.properties.len()),
        }
    }

    /// How the command ends: a verdict that the task does not expect is a failure too.
    pub(crate) fn outcome(&self, verdict: &Verdict) -> Outcome {
        match verdict {
            Verdict::Holds if self.expected == Some(false) => Outcome::Violated,
            Verdict::Holds | Verdict::Violated(_) | Verdict::Unknown(_) => Outcome::from(verdict),
        }
    }

    /// SV-COMP's line.
    pub(crate) fn verdict_line(&self, verdict: &Verdict) -> String {
        let answer = match verdict {
            Verdict::Holds => "true".to_owned(),
            Verdict::Violated(violation) => format!("false({})", self.broken_name(violation)),
            Verdict::Unknown(_) => "unknown".to_owned(),
        };
        format!("VERDICT: {answer}\n")
    }

    fn broken_name(&self, violation: &Violation) -> &'static str {
        match (&self.property, &violation.broken) {
            (Property::All, palisade_program::Broken::Property(_)) => "no-data-race",
            (Property::All, _) if violation.message == OVERFLOW => "no-overflow",
            _ => self.property.name(),
        }
    }

    /// What is said with every verdict.
    pub(crate) fn notes(&self, program: &Program, verdict: &Verdict) -> Vec<String> {
        let mut notes = vec![c::ASSUMPTION.to_owned()];
        if self.math {
            notes.push("integers are mathematical, not those of C (--ints math)".to_owned());
        }
        let allocates = program.globals.iter().any(|g| g.name.starts_with("heap"));
        if allocates {
            notes
                .push("assumes that allocation succeeds; use after free is not checked".to_owned());
        }
        let got = match verdict {
            Verdict::Holds => Some(true),
            Verdict::Violated(_) => Some(false),
            Verdict::Unknown(_) => None,
        };
        if let (Some(expected), Some(got)) = (self.expected, got) {
            let word = if expected == got { "as" } else { "NOT as" };
            notes.push(format!("{word} expected ({expected})"));
        } else if let Some(expected) = self.expected {
            notes.push(format!("expected {expected}"));
        }
        notes
    }
}

/// A race in words: the properties of C programs are all about races.
fn named(program: &Program, mut verdict: Verdict) -> Verdict {
    if let Verdict::Violated(violation) = &mut verdict
        && matches!(violation.broken, palisade_program::Broken::Property(_))
    {
        let text = program.source.slice(violation.span);
        let line = text.lines().next().unwrap_or_default();
        violation.message = format!("data race: `{line}` while another thread accesses it");
    }
    verdict
}

/// Whether a program has such an assertion.
#[cfg(test)]
fn has_kind(program: &Program, kind: &AssertKind) -> bool {
    program.templates.iter().any(|t| {
        t.cfg
            .edges
            .iter()
            .any(|e| matches!(&e.step, palisade_program::Step::Assert { kind: k, .. } if k == kind))
    })
}

/// The property in a `.prp` file.
fn read_property(path: &Path) -> Result<Property> {
    let name = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    let words: String = text.split_whitespace().collect();
    if let Some((_, rest)) = words.split_once("G!call(") {
        let function = rest.split(['(', ')']).next().unwrap_or_default();
        return Ok(Property::Unreachable(function.to_owned()));
    }
    if words.contains("G!overflow") {
        return Ok(Property::NoOverflow);
    }
    if words.contains("G!data-race") {
        return Ok(Property::NoRace);
    }
    bail!("{name}: unsupported property; known are G ! call(f()), G ! overflow and G ! data-race")
}

/// What is read of a task file: SV-COMP's files are flat.
#[derive(Default, Debug, PartialEq, Eq)]
struct Yaml {
    inputs: Vec<String>,
    data_model: Option<String>,
    /// Property files with their expected verdicts.
    properties: Vec<(String, Option<bool>)>,
}

impl Yaml {
    fn parse(text: &str) -> Self {
        let mut yaml = Self::default();
        let mut expects_input = false;
        for line in text.lines() {
            let line = line.split(" #").next().unwrap_or(line).trim();
            if line.starts_with('#') {
                continue;
            }
            let item = line.strip_prefix("- ").map(str::trim);
            if let (Some(item), true) = (item, expects_input) {
                yaml.inputs.push(unquoted(item));
                continue;
            }
            let Some((key, value)) = item.unwrap_or(line).split_once(':') else {
                continue;
            };
            let value = unquoted(value.trim());
            expects_input = false;
            match key.trim() {
                "input_files" if value.is_empty() => expects_input = true,
                "input_files" => {
                    let all = value.trim_matches(['[', ']']).split(',').map(str::trim);
                    yaml.inputs = all.filter(|f| !f.is_empty()).map(unquoted).collect();
                }
                "data_model" => yaml.data_model = Some(value),
                "property_file" => yaml.properties.push((value, None)),
                "expected_verdict" => {
                    if let Some(last) = yaml.properties.last_mut() {
                        last.1 = value.parse().ok();
                    }
                }
                _ => {}
            }
        }
        yaml
    }
}

fn unquoted(text: &str) -> String {
    text.trim_matches(['\'', '"']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_files() {
        let text = "format_version: '2.0'\n# c\ninput_files: 'a.i'\nproperties:\n  - property_file: ../properties/unreach-call.prp\n    expected_verdict: false\n  - property_file: ../properties/termination.prp\noptions:\n  language: C\n  data_model: ILP32\n";
        let yaml = Yaml::parse(text);
        assert_eq!(yaml.inputs, ["a.i"]);
        assert_eq!(yaml.data_model.as_deref(), Some("ILP32"));
        assert_eq!(yaml.properties[0].1, Some(false));
        assert_eq!(yaml.properties[1].1, None);
        let list = Yaml::parse("input_files:\n  - 'b.c'\n");
        assert_eq!(list.inputs, ["b.c"]);
        let both = Yaml::parse("input_files:\n  - 'b.c'\n  - \"c.c\"\nproperties:\n");
        assert_eq!(both.inputs, ["b.c", "c.c"]);
        assert_eq!(
            Yaml::parse("input_files: ['b.c', 'c.c']\n").inputs,
            ["b.c", "c.c"]
        );
    }

    #[test]
    fn a_run_into_something_unsupported_says_nothing() {
        let text = "void __palisade_assert(int); int x; int main() { __palisade_assert(x); }";
        let source = palisade_program::Source::new("t.c", text);
        let program = c::parse(Path::new("t.c"), &source, &c::Options::default());
        let program = program.expect("right").program;
        assert!(has_kind(&program, &AssertKind::User));
        let task = Task {
            file: PathBuf::from("t.c"),
            property: Property::All,
            data_model: DataModel::Lp64,
            expected: None,
            math: false,
            check_overflow: false,
            check_races: false,
            ranks: None,
        };
        let violation = |message: &str| {
            Verdict::Violated(Box::new(Violation {
                broken: palisade_program::Broken::Assert,
                span: palisade_program::Span::default(),
                message: message.to_owned(),
                trace: palisade_program::Trace::default(),
            }))
        };
        let settled = task.settle(&program, violation("unsupported: x"));
        assert!(matches!(
            settled,
            Verdict::Unknown(Unknown::Unsupported(..))
        ));
        let other = violation("assertion failed: x");
        assert_eq!(task.settle(&program, other.clone()), other);
        let asked = Task {
            property: Property::Unreachable("reach_error".to_owned()),
            ..task
        };
        assert!(matches!(asked.settle(&program, other), Verdict::Unknown(_)));
        let call = violation(&c::call_of_error("reach_error"));
        assert_eq!(asked.settle(&program, call.clone()), call);
    }
}
