//! *C tasks*: C programs and SV-COMP task files with what is asked about them. A
//! task says which calls are violations, which integers are meant, and (from a
//! `.yml` file) which verdict is expected.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use palisade::races;
use palisade_frontend::Stop;
use palisade_frontend::c::{self, DataModel, Races};
use palisade_program::{
    Asked, AssertKind, Broken, MemoryError, Model, Orders, Program, Verdict, Violation,
};
use palisade_report::Outcome;
use yaml_rust2::{Yaml, YamlLoader};

use crate::args::{CArgs, CheckArg, IntsArg};
use crate::context::Context;
use crate::input;
use crate::units::units;

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
    /// Pointers are followed and memory is freed as C allows, and nothing is lost:
    /// `valid-memsafety`.
    ValidMemory,
    /// All that is allocated is freed in the end: `valid-memcleanup`.
    Cleanup,
}

impl Property {
    /// Its name in SV-COMP.
    const fn name(&self) -> &'static str {
        match self {
            Self::All | Self::Unreachable(_) => "unreach-call",
            Self::NoOverflow => "no-overflow",
            Self::NoRace => "no-data-race",
            Self::ValidMemory => "valid-memsafety",
            Self::Cleanup => "valid-memcleanup",
        }
    }
}

/// A task.
// Each switch is a question of its own.
#[allow(clippy::struct_excessive_bools)]
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
    check_leaks: bool,
    /// Whether reads of what nothing was written to are violations.
    check_uninitialised: bool,
    check_waits: bool,
    outlive_main: bool,
    ranks: Option<u32>,
    orders: Orders,
    preprocessor: c::Preprocessor,
    units: Vec<c::Unit>,
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
                check_leaks: false,
                check_uninitialised: false,
                check_waits: false,
                outlive_main: false,
                ranks: None,
                orders: Orders::Mapped,
                preprocessor: c::Preprocessor::default(),
                units: Vec::new(),
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
        task.outlive_main = args.outlive_main;
        let named = task.units.iter().map(|unit| unit.file.clone());
        let more: Vec<PathBuf> = named
            .chain(args.preprocessor.more.iter().cloned())
            .collect();
        (task.preprocessor, task.units) = units(&task.file, &more, &args.preprocessor)?;
        Ok(task)
    }

    /// With further checks.
    pub(crate) fn checking(mut self, checks: &[CheckArg]) -> Self {
        for check in checks {
            match check {
                CheckArg::Overflow => self.check_overflow = true,
                CheckArg::Races => self.check_races = true,
                CheckArg::Leak => self.check_leaks = true,
                CheckArg::Uninitialised => self.check_uninitialised = true,
                CheckArg::Deadlock | CheckArg::Progress => self.check_waits = true,
            }
        }
        self
    }

    /// Read for this model.
    pub(crate) fn under(mut self, model: Model) -> Self {
        self.orders = model.orders();
        self
    }

    fn from_yaml(path: &Path, has_property: bool) -> Result<Self> {
        let name = path.display();
        let yaml = TaskFile::read(path)?;
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        let Some((input, more)) = yaml.inputs.split_first() else {
            bail!("{name}: no input file (`input_files: 'program.c'`)");
        };
        let unit = |input: &String| c::Unit {
            file: folder.join(input),
            preprocessor: c::Preprocessor::default(),
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
            check_leaks: false,
            check_uninitialised: false,
            check_waits: false,
            outlive_main: false,
            ranks: None,
            orders: Orders::Mapped,
            preprocessor: c::Preprocessor::default(),
            units: more.iter().map(unit).collect(),
        };
        if has_property {
            return Ok(task);
        }
        // A task may ask several questions; the first of this list is answered.
        for stem in [
            "unreach-call",
            "no-overflow",
            "no-data-race",
            "valid-memsafety",
            "valid-memcleanup",
        ] {
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
                "no-data-race" => Property::NoRace,
                "valid-memsafety" => Property::ValidMemory,
                _ => Property::Cleanup,
            };
            task.expected = *expected;
            return Ok(task);
        }
        bail!(
            "{name}: unsupported: none of its properties is known (unreach-call, no-overflow, \
             no-data-race, valid-memsafety, valid-memcleanup)"
        )
    }

    /// Whether a task file asks about calls of an error function.
    pub(crate) fn asks_for_calls(path: &Path) -> Result<bool> {
        let is_calls = |file: &str| {
            Path::new(file)
                .file_stem()
                .is_some_and(|f| f == "unreach-call")
        };
        let properties = TaskFile::read(path)?.properties;
        Ok(properties.iter().any(|(file, _)| is_calls(file)))
    }

    /// Reads the program.
    pub(crate) fn load(&self, context: &Context) -> Result<Program> {
        let source = input::read(&self.file)?;
        input::begin(context, &source);
        let options = self.options(context.limits.stop());
        let parsed = c::parse(&self.file, &source, &options)
            .map_err(|diagnostics| input::refused(context, &diagnostics))?;
        input::warn(context, &parsed.program.source, &parsed.warnings);
        Ok(parsed.program)
    }

    /// The files of the program.
    pub(crate) fn files(&self) -> Vec<&Path> {
        let more = self.units.iter().map(|unit| unit.file.as_path());
        std::iter::once(self.file.as_path()).chain(more).collect()
    }

    /// How the front end is to read the program.
    pub(crate) fn options(&self, stop: Stop) -> c::Options {
        c::Options {
            stop,
            all_targets: false,
            data_model: self.data_model,
            math: self.math,
            check_overflow: self.check_overflow || self.property == Property::NoOverflow,
            // Under RC11 races are always looked for, by happens-before.
            races: match self.orders {
                Orders::Mapped if self.check_races || self.property == Property::NoRace => {
                    Races::Check
                }
                Orders::Mapped | Orders::Kept => Races::Ignore,
            },
            check_leaks: self.check_leaks
                || matches!(self.property, Property::ValidMemory | Property::Cleanup),
            check_uninitialised: self.check_uninitialised,
            lost_signals: self.check_waits,
            outlive_main: self.outlive_main,
            ranks: self.ranks,
            orders: self.orders,
            preprocessor: self.preprocessor.clone(),
            units: self.units.clone(),
            rust: palisade_frontend::rust::Options::default(),
            asked: match self.property {
                Property::All => Asked::All,
                Property::Unreachable(_) => Asked::ErrorCalls,
                Property::NoOverflow => Asked::SignedOverflow,
                Property::NoRace => Asked::Properties,
                Property::ValidMemory => Asked::Memory,
                Property::Cleanup => Asked::Leaks,
            },
            error_function: match &self.property {
                Property::All => None,
                Property::Unreachable(function) => Some(function.clone()),
                // No call is a violation; a failing assertion ends the program.
                Property::NoOverflow | Property::NoRace => Some(String::new()),
                Property::ValidMemory | Property::Cleanup => Some(String::new()),
            },
        }
    }

    /// Notes about data races.
    pub(crate) fn race_notes(&self, context: &Context) -> Vec<String> {
        let limits = races::Limits {
            deadline: context.limits.deadline,
            cancel: context.limits.cancel.clone(),
        };
        let source = input::read(&self.file);
        let options = self.options(context.limits.stop());
        source.map_or_else(
            |_| Vec::new(),
            |source| races::notes(&self.file, source.text(), &options, &limits),
        )
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
            (_, Broken::Deadlock) => "no-deadlock",
            (_, Broken::Progress) => "no-endless-spinning",
            (_, Broken::Unreachable(_)) => "reachable",
            (_, Broken::Assert(AssertKind::LockMisuse(_))) => "no-lock-misuse",
            (_, Broken::Assert(AssertKind::ThreadMisuse(_))) => "no-thread-misuse",
            (_, Broken::Assert(AssertKind::RemoteRace { .. })) => "no-data-race",
            (_, Broken::Assert(AssertKind::EpochMisuse(_))) => "no-epoch-misuse",
            (Property::Cleanup, Broken::Assert(AssertKind::Memory(_))) => "valid-memcleanup",
            (Property::All | Property::ValidMemory, Broken::Assert(AssertKind::Memory(error))) => {
                match error {
                    MemoryError::UseAfterFree
                    | MemoryError::UseBeforeAllocation
                    | MemoryError::UseAfterReturn
                    | MemoryError::Null
                    | MemoryError::Wild => "valid-deref",
                    MemoryError::DoubleFree | MemoryError::InvalidFree => "valid-free",
                    MemoryError::Leak => "valid-memcleanup",
                    MemoryError::Uninitialised => "no-uninitialised-read",
                }
            }
            (Property::ValidMemory, Broken::Assert(AssertKind::Index)) => "valid-deref",
            (Property::All, Broken::Property(_)) | (_, Broken::DataRace) => "no-data-race",
            (Property::All, Broken::Assert(AssertKind::SignedOverflow)) => "no-overflow",
            _ => self.property.name(),
        }
    }

    /// What is said with every verdict.
    pub(crate) fn notes(&self, program: &Program, verdict: &Verdict) -> Vec<String> {
        let assumed = program.assumptions.iter();
        let mut notes: Vec<String> = assumed.map(ToString::to_string).collect();
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
pub(crate) fn named(program: &Program, mut verdict: Verdict) -> Verdict {
    if let Verdict::Violated(violation) = &mut verdict
        && matches!(violation.broken, Broken::Property(_))
    {
        let text = program.source.slice(violation.span);
        let line = text.lines().next().unwrap_or_default();
        violation.message = format!("data race: `{line}` while another thread accesses it");
        violation.broken = Broken::DataRace;
    }
    verdict
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
    if words.contains("Gvalid-memcleanup") {
        return Ok(Property::Cleanup);
    }
    if ["Gvalid-free", "Gvalid-deref", "Gvalid-memtrack"]
        .iter()
        .any(|part| words.contains(part))
    {
        return Ok(Property::ValidMemory);
    }
    bail!(
        "{name}: unsupported property; known are G ! call(f()), G ! overflow, G ! data-race, \
         G valid-free with G valid-deref and G valid-memtrack, and G valid-memcleanup"
    )
}

/// What is read of a task file.
#[derive(Debug, PartialEq, Eq)]
struct TaskFile {
    inputs: Vec<String>,
    data_model: Option<String>,
    /// Property files with their expected verdicts.
    properties: Vec<(String, Option<bool>)>,
}

impl TaskFile {
    fn read(path: &Path) -> Result<Self> {
        let name = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        Self::parse(&text).with_context(|| format!("{name} is no YAML"))
    }

    fn parse(text: &str) -> Result<Self> {
        let documents = YamlLoader::load_from_str(text)?;
        let task = documents.first().unwrap_or(&Yaml::BadValue);
        let string = |value: &Yaml| value.as_str().map(str::to_owned);
        let input = &task["input_files"];
        let inputs = match input.as_vec() {
            Some(several) => several.iter().filter_map(string).collect(),
            None => string(input).into_iter().collect(),
        };
        let property = |p: &Yaml| {
            Some((
                string(&p["property_file"])?,
                p["expected_verdict"].as_bool(),
            ))
        };
        let properties = task["properties"].as_vec().into_iter().flatten();
        Ok(Self {
            inputs,
            data_model: string(&task["options"]["data_model"]),
            properties: properties.filter_map(property).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_files() {
        let text = "format_version: '2.0'\n# c\ninput_files: 'a.i'\nproperties:\n  - property_file: ../properties/unreach-call.prp\n    expected_verdict: false\n  - property_file: ../properties/termination.prp\noptions:\n  language: C\n  data_model: ILP32\n";
        let yaml = TaskFile::parse(text).expect("YAML");
        assert_eq!(yaml.inputs, ["a.i"]);
        assert_eq!(yaml.data_model.as_deref(), Some("ILP32"));
        assert_eq!(yaml.properties[0].1, Some(false));
        assert_eq!(yaml.properties[1].1, None);
        let list = TaskFile::parse("input_files:\n  - 'b.c'\n").expect("YAML");
        assert_eq!(list.inputs, ["b.c"]);
        let both = TaskFile::parse("input_files: ['b.c', 'c.c']\n").expect("YAML");
        assert_eq!(both.inputs, ["b.c", "c.c"]);
        assert!(TaskFile::parse("input_files: [\n").is_err());
    }
}
