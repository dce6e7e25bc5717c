//! The suite `sapa`: the fourteen C programs of symmetry-aware predicate abstraction [Donaldson
//! et al., CAV 2011, section 5] beside its tables 1 and 2. The programs create threads without
//! end; a row is one run of `verify` with a number of threads, or with any number. The safe
//! program is run with twice as many threads as the paper's largest and with any number, its
//! unsafe twin with table 2's number and with one less.
//!
//! The *symmetry-oblivious* method (sections 1.1 and 5) is measured, too, with the paper's numbers of
//! threads: every copy is a thread of its own, local and mixed predicates are replicated for each,
//! and nothing but predicates says what variables hold. Predicates are found anew: a set of the other
//! method need not suffice.
//!
//! Table 2's columns for the unsound variants are measured by [`crate::mixed`]. With `--model tso` or
//! `pso` the programs are run under that model, which the paper leaves to future work (section 6).

use std::path::Path;
use std::rc::Rc;

use palisade_frontend::c;
use palisade_program::{Count, Model, Program, Verdict};
use palisade_report::verdict::word;
use palisade_verify::{Options, Promote, Threads, verify};
use serde_json::{Value, json};

use crate::cupex::seconds;
use crate::plot::{self, Curve, NUMBERS};
use crate::suite::{Files, text, wrong};
use crate::table::Table;
use crate::{Case, Error, Plan, Request, Row, metered, mixed};

const LEGEND: &str = "\
Table 1: proofs. n threads, predicates, seconds for abstraction and for checking
(ours: for the search, in which abstraction is lazy, and for refinement).
oblivious: every copy is a thread of its own, with predicates of its own.
";

const PROOFS: &str = "\
program   < | {paper.title}                 | {title}
n         < | {threads}                     | {threads}
          < | ours                          | paper
oblivious < | {oblivious_predicates}        | {oblivious.predicates}
abs       < | {oblivious_abstraction}       | {oblivious.abstraction}
check     < | {oblivious_checking}          | {oblivious.checking}
aware     < | {aware_predicates}            | {aware.predicates}
abs       < | {aware_abstraction}           | {aware.abstraction}
check     < | {aware_checking}              | {aware.checking}
CPU s     < | {stats.cpu_seconds:.2}        |
          < | {remark}                      |";

const TWINS_TITLE: &str = "\
Table 2: the safe program up to n threads, its unsafe twin from n threads on.
Ours: verdicts of the twin with one thread less and with n threads.
Mixed predicates notified (sound), taken as local and as shared (unsound, no verdicts): the safe program / its twin,
ours with the predicates of one proof with two threads; safe: for any number; error n: spurious with n threads.";

const TWINS: &str = "\
program                   < |  | {title}
safe                      < |  | {table2.safe}
unsafe                    < |  | {needed}
as local (unsound)        < |  | {table2.mixed_as_local.safe} / {table2.mixed_as_local.unsafe}
ours                      < |  | {mixed.as_local.safe} / {mixed.as_local.unsafe}
as shared (unsound)       < |  | {table2.mixed_as_shared.safe} / {table2.mixed_as_shared.unsafe}
ours                      < |  | {mixed.as_shared.safe} / {mixed.as_shared.unsafe}
notified                  < |  | {mixed.sound.safe} / {mixed.sound.unsafe}
ours safe                 < |  | {twice.verdict} {twice_as_many}
any                       < |  | {any.verdict}
n-1                       < |  | {less.verdict}
n                         < |  | {last.verdict} {needed}
CPU s                     < |  | {last.stats.cpu_seconds:.2}";

/// The word in documents for rows of [`crate::mixed`].
const MIXED: &str = "mixed predicates";

/// The programs whose cost is drawn.
const DRAWN: [&str; 2] = ["increment_lock", "tas_lock"];

/// How copies of a template are taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    /// As interchangeable.
    Aware,
    /// Each as a thread of its own, where finite variables are explicit.
    Apart,
    /// The same without explicit variables [Donaldson et al., CAV 2011, section 1.1].
    Oblivious,
}

impl Method {
    /// The word for it in documents.
    const fn word(self) -> &'static str {
        match self {
            Self::Aware => "templates",
            Self::Apart => "threads",
            Self::Oblivious => "oblivious",
        }
    }
}

/// One program with its twin.
struct Experiment {
    name: String,
    safe: Program,
    /// The unsafe twin.
    twin: Program,
    /// The paper's rows, and how it calls the program.
    paper: Value,
}

impl Experiment {
    /// The largest number of threads that the paper proves.
    fn largest(&self) -> u32 {
        let first = self.proved().into_iter().max();
        let second = self.paper["table2"]["safe"].as_str();
        let second = second.and_then(|s| s.trim_start_matches('>').parse().ok());
        first.max(second).unwrap_or(1)
    }

    /// The number of threads that violates the twin.
    fn needed(&self) -> u32 {
        self.paper["table2"]["unsafe"].as_u64().unwrap_or(1) as u32
    }

    /// The numbers of threads of the paper's rows of table 1.
    fn proved(&self) -> Vec<u32> {
        let rows = self.paper["table1"].as_array();
        let number = |row: &Value| row["threads"].as_u64();
        let numbers = rows.into_iter().flatten().filter_map(number);
        numbers.map(|n| n as u32).collect()
    }

    /// The paper's rows of table 1.
    fn published(&self) -> Vec<Value> {
        let mut rows = self.paper["table1"].as_array().cloned().unwrap_or_default();
        for row in &mut rows {
            row["title"] = self.paper["title"].clone();
        }
        rows
    }

    /// A line of table 2, made of the rows that there are.
    fn twins(&self, rows: &[Value]) -> Value {
        let (twice, needed) = (2 * self.largest(), self.needed());
        let found = |twin: &str, threads: String| {
            let program = format!("{}{twin}", self.name);
            let wanted = |r: &&Value| {
                let is_aware = r["method"] == Method::Aware.word();
                is_aware && r["program"] == program && r["threads"] == threads
            };
            let row = rows.iter().find(wanted).cloned();
            row.unwrap_or_else(|| json!({ "verdict": "-" }))
        };
        let mut line = self.paper.clone();
        line["needed"] = json!(needed);
        line["twice_as_many"] = json!(twice);
        line["twice"] = found("", twice.to_string());
        line["any"] = found("", "any".to_owned());
        line["less"] = found("_unsafe", needed.wrapping_sub(1).to_string());
        line["last"] = found("_unsafe", needed.to_string());
        let own = |r: &&Value| r["method"] == MIXED && r["program"] == self.name;
        line["mixed"] = rows.iter().find(own).cloned().unwrap_or(Value::Null);
        line
    }
}

pub(crate) fn plan(request: &Request) -> Result<Plan, Error> {
    let experiments: Rc<Vec<Experiment>> = Rc::new(experiments(request)?);
    let mut cases = Vec::new();
    for (number, experiment) in experiments.iter().enumerate() {
        let (twice, needed) = (2 * experiment.largest(), experiment.needed());
        // The paper's comparison is about SC.
        let is_sc = request.model.is_none_or(|model| model == Model::Sc);
        let oblivious = experiment.proved().into_iter().filter(|_| is_sc);
        let oblivious = oblivious.map(|n| (true, Threads::Exactly(n), Method::Oblivious));
        let mut runs: Vec<(bool, Threads, Method)> = oblivious.collect();
        let mut aware = |is_safe, threads| runs.push((is_safe, threads, Method::Aware));
        aware(true, Threads::Exactly(twice));
        aware(true, Threads::Any);
        if needed > 1 {
            aware(false, Threads::Exactly(needed - 1));
        }
        aware(false, Threads::Exactly(needed));
        for (is_safe, threads, method) in runs {
            let all = experiments.clone();
            cases.push(Case {
                table: is_safe.then_some(0),
                group: experiment.name.clone(),
                paper: experiment.published(),
                run: Box::new(move |request| row(request, &all[number], is_safe, threads, method)),
            });
        }
        if is_sc {
            let all = experiments.clone();
            cases.push(Case {
                table: None,
                group: experiment.name.clone(),
                paper: Vec::new(),
                run: Box::new(move |request| unsound_row(request, &all[number])),
            });
        }
    }
    let table = |title: &str, columns| Table {
        title: title.to_owned(),
        indent: "",
        columns,
        unpublished: "-",
    };
    Ok(Plan {
        legend: LEGEND,
        tables: vec![table("", PROOFS), table(TWINS_TITLE, TWINS)],
        cases,
        summary: Some(Box::new(move |rows| {
            experiments.iter().map(|e| e.twins(rows)).collect()
        })),
    })
}

fn experiments(request: &Request) -> Result<Vec<Experiment>, Error> {
    let built_in = Request {
        folder: None,
        ..request.clone()
    };
    let files = |request| Files {
        name: "sapa",
        request,
    };
    let program = |name: String| {
        let source = files(request).read(&name)?;
        let parsed = c::parse(Path::new(source.name()), &source, &c::Options::default());
        Ok(parsed.map_err(wrong)?.program)
    };
    let experiment = |entry: Value| {
        let name = text(&entry, "name")?.to_owned();
        Ok(Experiment {
            safe: program(format!("{name}.c"))?,
            twin: program(format!("{name}_unsafe.c"))?,
            name,
            paper: entry,
        })
    };
    let entries = files(&built_in).programs()?.into_iter();
    entries.map(experiment).collect()
}

/// What `verify` gives for a program with this many copies of its template, for scripts.
fn measure(request: &Request, program: &Program, threads: Threads, method: Method) -> Value {
    let mut program = program.clone();
    if let Threads::Exactly(n) = threads {
        for template in &mut program.templates {
            if template.count == Count::Any {
                template.count = Count::Fixed(n);
            }
        }
    }
    let model = request.model.unwrap_or(Model::Sc);
    let options = Options {
        symmetry: method == Method::Aware,
        falsify: method != Method::Oblivious,
        promote: match method {
            Method::Aware | Method::Apart => Promote::Auto,
            Method::Oblivious => Promote::Never,
        },
        ..request.verification(model)
    };
    let report = verify(&program, &options);
    let (verdict, reason) = match &report.verdict {
        Verdict::Holds => ("holds", String::new()),
        Verdict::Violated(v) => (word(&report.verdict), v.message.clone()),
        Verdict::Unknown(why) => ("unknown", why.to_string()),
    };
    json!({
        "threads": match threads {
            Threads::Exactly(n) => n.to_string(),
            Threads::Any => "any".to_owned(),
        },
        "model": model.to_string(),
        "method": method.word(),
        "verdict": verdict,
        "reason": reason,
        "certified": verdict == "holds" && report.certified,
        // `verify` gives no violation without a replay.
        "replayed": verdict == "violated",
        "stats": {
            "predicates": report.stats.predicates,
            "states": report.stats.states,
            "search_seconds": seconds(&report, &["search", "views"]),
            "refinement_seconds": seconds(&report, &["simulate", "refine"]),
        },
    })
}

fn row(
    request: &Request,
    experiment: &Experiment,
    is_safe: bool,
    threads: Threads,
    method: Method,
) -> Row {
    let (program, twin) = if is_safe {
        (&experiment.safe, "")
    } else {
        (&experiment.twin, "_unsafe")
    };
    let mut value = measure(request, program, threads, method);
    value["program"] = json!(format!("{}{twin}", experiment.name));
    value["paper"] = experiment.paper.clone();
    let remark = match (&value["verdict"], &value["certified"]) {
        (verdict, _) if verdict == "unknown" => {
            format!("unknown: {}", value["reason"].as_str().unwrap_or_default())
        }
        (verdict, certified) if verdict == "holds" && certified == false => {
            "holds, not certified".to_owned()
        }
        (verdict, _) if verdict == "holds" => "holds, certified".to_owned(),
        (_, _) => "violated".to_owned(),
    };
    let figure = |name: &str| format!("{:.2}", value["stats"][name].as_f64().unwrap_or(0.0).abs());
    let mut shown = json!({ "remark": remark });
    let own = match method {
        Method::Oblivious => "oblivious",
        Method::Aware | Method::Apart => "aware",
    };
    shown[format!("{own}_predicates")] = value["stats"]["predicates"].clone();
    shown[format!("{own}_abstraction")] = json!(figure("search_seconds"));
    shown[format!("{own}_checking")] = json!(figure("refinement_seconds"));
    Row { value, shown }
}

/// What is measured of the unsound variants; the table shows it in a line of its own.
fn unsound_row(request: &Request, experiment: &Experiment) -> Row {
    let needed = experiment.needed();
    let mut value = mixed::measure(request, &experiment.safe, &experiment.twin, needed);
    value["program"] = json!(experiment.name);
    value["method"] = json!(MIXED);
    value["stats"] = json!({});
    Row {
        value,
        shown: Value::Null,
    }
}

/// Cost against the number of threads, with templates and with each copy a thread of its own.
/// A point that takes longer than the limit is left out, and so are larger numbers of threads.
pub(crate) fn plot(request: &Request) -> Result<String, Error> {
    let request = &Request {
        model: None,
        ..request.clone()
    };
    let mut drawn = Vec::new();
    for experiment in experiments(request)? {
        if !DRAWN.contains(&experiment.name.as_str()) {
            continue;
        }
        let curve = |name, colour, method| {
            let mut points = Vec::new();
            for n in NUMBERS {
                let run = || measure(request, &experiment.safe, Threads::Exactly(n), method);
                let (value, cpu_seconds, _) = metered(run);
                if value["verdict"] != "holds" {
                    break;
                }
                let states = value["stats"]["states"].as_f64().unwrap_or(0.0);
                points.push((n, cpu_seconds, states));
            }
            Curve {
                name,
                colour,
                points,
            }
        };
        let curves = [
            curve("templates", "#1b6ca8", Method::Aware),
            curve("symmetry off", "#c0392b", Method::Apart),
        ];
        drawn.push((text(&experiment.paper, "title")?.to_owned(), curves));
    }
    Ok(plot::draw(&drawn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_is_complete() {
        let all = experiments(&Request::all(crate::Suite::Sapa)).expect("the suite can be read");
        assert_eq!(all.len(), 14);
        for experiment in &all {
            assert!(experiment.largest() >= 4 && experiment.needed() >= 1);
            for program in [&experiment.safe, &experiment.twin] {
                let counts: Vec<Count> = program.templates.iter().map(|t| t.count).collect();
                assert_eq!(counts, [Count::Once, Count::Any], "{}", experiment.name);
                // The workers run from the start: main does nothing.
                let main = &program.templates[0].cfg;
                assert!(main.edges.is_empty(), "{}", experiment.name);
            }
        }
    }
}
