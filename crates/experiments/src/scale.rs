//! The suite `scale`: what `explore` costs against the number of threads, of rounds that each
//! makes, and of stores in a buffer; beside SPIN [Holzmann, 2003] on the same algorithms under SC,
//! if it is installed. The programs are made for each row; nothing was published about them.
//!
//! SPIN's models are written with one statement for what is one step here, and SPIN's own
//! partial-order reduction is on. Its numbers of states are still of another machine: SPIN has no
//! symmetry reduction, and reads all of a condition at once.

use std::fmt::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use palisade_frontend::pal;
use palisade_machine::{Options, explore};
use palisade_program::{Model, Source, Verdict};
use serde_json::{Value, json};

use crate::plot::{self, Curve};
use crate::{Case, Error, Plan, Request, Row, metered};

const LEGEND: &str =
    "one row is one `explore`; seconds of processor time; bytes of the store for each state\n";
const WITHOUT_SPIN: &str = "one row is one `explore`; seconds of processor time; bytes of the store for each state\n\
     SPIN is not installed (Debian: apt-get install spin gcc): its columns are left out\n";

const COLUMNS: &str = "\
program < | {program} |
threads > | {threads} |
rounds > | {rounds} |
model < | {model} |
buffer > | {buffer:?} |
verdict < | {verdict} |
states > | {stats.states} |
seconds > | {stats.search_cpu_seconds:.2} |
bytes > | {stats.bytes_per_state:.2} |";

const SPIN_COLUMNS: &str = "\
program < | {program} |
threads > | {threads} |
rounds > | {rounds} |
model < | {model} |
buffer > | {buffer:?} |
verdict < | {verdict} |
states > | {stats.states} |
seconds > | {stats.search_cpu_seconds:.2} |
bytes > | {stats.bytes_per_state:.2} |
SPIN states > | {spin.states:?} |
SPIN seconds > | {spin.seconds:?} |";

/// An algorithm for some threads and rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Program {
    Filter,
    Bakery,
    Ticket,
    ReadersWriters,
    Ring,
}

/// Threads, rounds, and for TSO the stores in a buffer.
type Size = (u32, u32, Option<usize>);

impl Program {
    const ALL: [Self; 5] = [
        Self::Filter,
        Self::Bakery,
        Self::Ticket,
        Self::ReadersWriters,
        Self::Ring,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Filter => "filter lock",
            Self::Bakery => "bakery",
            Self::Ticket => "ticket lock",
            Self::ReadersWriters => "readers-writers",
            Self::Ring => "ring",
        }
    }

    /// What is measured: threads, then rounds, then buffers.
    fn sizes(self) -> Vec<Size> {
        let mut sizes: Vec<Size> = match self {
            Self::Filter => vec![(2, 1, None), (3, 1, None), (4, 1, None), (3, 2, None)],
            Self::Bakery => vec![(2, 1, None), (3, 1, None), (2, 2, None), (2, 3, None)],
            Self::Ticket => (2..=5).map(|n| (n, 1, None)).collect(),
            Self::ReadersWriters => (2..=6).map(|n| (n, 1, None)).collect(),
            Self::Ring => (2..=5).map(|n| (n, 1, None)).collect(),
        };
        if matches!(self, Self::Ticket | Self::ReadersWriters | Self::Ring) {
            sizes.extend([(3, 2, None), (3, 3, None), (3, 4, None)]);
        }
        sizes.push((2, 1, Some(1)));
        sizes.push((3, 1, Some(1)));
        if self == Self::Ring {
            sizes.extend([(3, 3, Some(1)), (3, 3, Some(2)), (3, 3, Some(3))]);
        }
        sizes
    }

    /// The program, for Palisade.
    fn pal(self, threads: u32, rounds: u32) -> String {
        let n = threads;
        let (shared, body) = match self {
            Self::Filter => (
                format!("shared level[{n}] = 0;\nshared victim[{n}] = 0;\n"),
                format!(
                    "        for (l = 1; l < {n}; l++) {{
            level[self] = l;
            fence;
            victim[l] = self;
            fence;
            while (({}) && victim[l] == self) {{ }}
        }}
        critical: skip;
        level[self] = 0;
",
                    others(n, |k| format!("level[(self + {k}) % {n}] >= l"))
                ),
            ),
            Self::Bakery => (
                format!("shared choosing[{n}] = 0;\nshared number[{n}] = 0;\n"),
                format!(
                    "        choosing[self] = 1;
        fence;
        m = 0;
        for (l = 0; l < {n}; l++) {{ k = number[l]; if (k > m) m = k; }}
        m = m + 1;
        number[self] = m;
        choosing[self] = 0;
        fence;
        for (l = 0; l < {n}; l++) {{
            if (l != self) {{
                do {{ k = choosing[l]; }} while (k != 0);
                do {{ k = number[l]; }} while (k != 0 && (k < m || (k == m && l < self)));
            }}
        }}
        critical: skip;
        number[self] = 0;
"
                ),
            ),
            Self::Ticket => (
                "shared next = 0;\nshared serving = 0;\n".to_owned(),
                "        atomic { m = next; next = m + 1; }
        do { k = serving; } while (k != m);
        critical: skip;
        serving = m + 1;
"
                .to_owned(),
            ),
            Self::ReadersWriters => (
                "shared readers = 0;\nshared busy = 0;\n".to_owned(),
                "        if (self == 0) {
            atomic { k = readers; m = busy; assume(k == 0 && m == 0); busy = 1; }
            critical: skip;
            busy = 0;
        } else {
            atomic { m = busy; assume(m == 0); k = readers; readers = k + 1; }
            reads: skip;
            atomic { k = readers; readers = k - 1; }
        }
"
                .to_owned(),
            ),
            Self::Ring => (
                format!("shared x[{n}] = 0;\n"),
                format!("        x[self] = i + 1;\n        k = x[(self + 1) % {n}];\n"),
            ),
        };
        let never = match self {
            Self::Ring => format!("never x[0] == {};\n", rounds + 1),
            Self::ReadersWriters => "never t#1@critical && t#2@reads;\n".to_owned(),
            Self::Filter | Self::Bakery | Self::Ticket => {
                "never t#1@critical && t#2@critical;\n".to_owned()
            }
        };
        format!(
            "{shared}thread t[{n}] {{
    local i = 0;
    local l = 0;
    local m = 0;
    local k = 0;
    while (i < {rounds}) {{
{body}        i = i + 1;
    }}
}}
{never}"
        )
    }

    /// The same for SPIN.
    fn promela(self, threads: u32, rounds: u32) -> String {
        let n = threads;
        let (shared, body) = match self {
            Self::Filter => (
                format!("byte level[{n}];\nbyte victim[{n}];\n"),
                format!(
                    "    l = 1;
    do
    :: l < {n} ->
        level[me] = l;
        victim[l] = me;
        !(({}) && victim[l] == me);
        l++
    :: else -> break
    od;
    inside++; assert(inside == 1); inside--;
    level[me] = 0;
",
                    others(n, |k| format!("level[(me + {k}) % {n}] >= l"))
                ),
            ),
            Self::Bakery => (
                format!("byte choosing[{n}];\nbyte number[{n}];\n"),
                format!(
                    "    choosing[me] = 1;
    m = 0; l = 0;
    do
    :: l < {n} -> k = number[l]; if :: k > m -> m = k :: else fi; l++
    :: else -> break
    od;
    m++;
    number[me] = m;
    choosing[me] = 0;
    l = 0;
    do
    :: l < {n} && l != me ->
        choosing[l] == 0;
        !(number[l] != 0 && (number[l] < m || (number[l] == m && l < me)));
        l++
    :: l == me -> l++
    :: l == {n} -> break
    od;
    inside++; assert(inside == 1); inside--;
    number[me] = 0;
"
                ),
            ),
            Self::Ticket => (
                "byte next;\nbyte serving;\n".to_owned(),
                "    atomic { m = next; next = m + 1 };
    serving == m;
    inside++; assert(inside == 1); inside--;
    serving = m + 1;
"
                .to_owned(),
            ),
            Self::ReadersWriters => (
                "byte readers;\nbyte busy;\n".to_owned(),
                "    if
    :: me == 0 ->
        atomic { readers == 0 && busy == 0; busy = 1 };
        inside++; assert(inside == 1 && readers == 0); inside--;
        busy = 0
    :: else ->
        atomic { busy == 0; readers++ };
        assert(inside == 0);
        readers--
    fi;
"
                .to_owned(),
            ),
            Self::Ring => (
                format!("byte x[{n}];\n"),
                format!("    x[me] = i + 1;\n    k = x[(me + 1) % {n}];\n"),
            ),
        };
        format!(
            "{shared}byte inside;
proctype t(byte me) {{
    byte i, l, m, k;
    do
    :: i < {rounds} ->
{body}    i++
    :: else -> break
    od
}}
init {{ atomic {{ byte p; for (p : 0 .. {}) {{ run t(p) }} }} }}
",
            n - 1
        )
    }
}

/// A disjunction over the other threads, by distance.
fn others(threads: u32, one: impl Fn(u32) -> String) -> String {
    let mut text = String::new();
    for k in 1..threads {
        let or = if k > 1 { " || " } else { "" };
        // Writing to a string does not fail.
        let _ = write!(text, "{or}{}", one(k));
    }
    text
}

fn wanted(request: &Request) -> impl Iterator<Item = Program> + '_ {
    let part = request.program.as_deref().unwrap_or_default();
    let all = Program::ALL.into_iter();
    all.filter(move |program| program.name().contains(part))
}

pub(crate) fn plan(request: &Request) -> Result<Plan, Error> {
    if matches!(request.model, Some(Model::Rma | Model::Rc11 | Model::Pso)) {
        return Err(Error::Model("scale is for --model sc and --model tso"));
    }
    let has_spin = is_installed("spin") && is_installed("gcc");
    let mut cases = Vec::new();
    for program in wanted(request) {
        for (threads, rounds, buffer) in program.sizes() {
            let model = if buffer.is_some() {
                Model::Tso
            } else {
                Model::Sc
            };
            if request.model.is_some_and(|only| only != model) {
                continue;
            }
            cases.push(Case {
                table: Some(0),
                group: format!("{} {threads} {rounds} {buffer:?}", program.name()),
                paper: Vec::new(),
                run: Box::new(move |request| {
                    let mut row = measure(request, program, (threads, rounds, buffer));
                    if has_spin && model == Model::Sc {
                        row.value["spin"] = spin(request, &program.promela(threads, rounds));
                    }
                    row
                }),
            });
        }
    }
    Ok(if has_spin {
        Plan::of_one(LEGEND, SPIN_COLUMNS, cases)
    } else {
        Plan::of_one(WITHOUT_SPIN, COLUMNS, cases)
    })
}

/// One `explore`.
fn measure(request: &Request, program: Program, (threads, rounds, buffer): Size) -> Row {
    let model = if buffer.is_some() {
        Model::Tso
    } else {
        Model::Sc
    };
    let mut value = json!({
        "program": program.name(),
        "threads": threads,
        "rounds": rounds,
        "model": model.to_string(),
        "buffer": buffer,
    });
    let source = Source::new(program.name(), program.pal(threads, rounds));
    let parsed = pal::parse(source).expect("the programs of the suite can be read");
    let defaults = Options::new(model);
    let options = Options {
        buffer: buffer.or(defaults.buffer),
        deadline: request.row_deadline(),
        cancel: request.cancel.clone(),
        ..defaults
    };
    // Without SPIN, which the row may run as well.
    let (found, cpu_seconds, _) = metered(|| explore(&parsed.program, &options));
    let found = found.expect("the models fit");
    value["verdict"] = json!(match &found.verdict {
        Verdict::Holds => "holds".to_owned(),
        Verdict::Violated(_) => "violated".to_owned(),
        Verdict::Unknown(why) => format!("unknown: {why}"),
    });
    value["stats"] = json!({
        "states": found.stats.states,
        "transitions": found.stats.transitions,
        "search_cpu_seconds": cpu_seconds,
        "bytes_per_state": found.stats.bytes_per_state(),
    });
    Row {
        value,
        shown: Value::Null,
    }
}

/// States and processor seconds against the number of threads, under SC and TSO.
pub(crate) fn plot(request: &Request) -> String {
    let mut drawn = Vec::new();
    for program in wanted(request) {
        let curve = |name, colour, buffer: Option<usize>| {
            let sizes = program.sizes();
            let (_, rounds, _) = sizes[0];
            let mut points = Vec::new();
            for n in 2..=6 {
                let row = measure(request, program, (n, rounds, buffer));
                if row.value["verdict"] != "holds" {
                    break;
                }
                let number = |key: &str| row.value["stats"][key].as_f64().unwrap_or(0.0);
                let (cpu_seconds, states) = (number("search_cpu_seconds"), number("states"));
                points.push((n, cpu_seconds, states));
                // The next would take too long.
                if 20.0 * cpu_seconds > request.row_timeout.as_secs_f64() {
                    break;
                }
            }
            Curve {
                name,
                colour,
                points,
            }
        };
        let curves = [
            curve("sc", "#1b6ca8", None),
            curve("tso, buffers of 1", "#c0392b", Some(1)),
        ];
        drawn.push((program.name().to_owned(), curves));
    }
    plot::draw(&drawn)
}

fn is_installed(tool: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(tool).is_file())
}

/// States and seconds of SPIN's exhaustive search; null if it did not end in time or failed.
fn spin(request: &Request, model: &str) -> Value {
    let until = request.row_deadline();
    spin_in_folder(until, model).unwrap_or(Value::Null)
}

fn spin_in_folder(until: Option<Instant>, model: &str) -> Option<Value> {
    let folder = tempfile::tempdir().ok()?;
    let folder = folder.path();
    std::fs::write(folder.join("model.pml"), model).ok()?;
    finished(folder, "spin", &["-a", "model.pml"], until)?;
    let flags = ["-O2", "-DSAFETY", "-w", "-o", "pan", "pan.c"];
    finished(folder, "gcc", &flags, until)?;
    let pan = folder.join("pan");
    let told = finished(folder, pan.to_str()?, &["-m10000000", "-w24"], until)?;
    if !told.contains("errors: 0") || told.contains("not exhaustive") {
        return None;
    }
    let number = |line: &str| line.split_whitespace().next()?.parse::<f64>().ok();
    let states = told.lines().find(|l| l.contains("states, stored"));
    let seconds = told.lines().find_map(|l| l.split("elapsed time").nth(1));
    Some(json!({
        "states": states.and_then(number)? as u64,
        "seconds": seconds.and_then(number)?,
    }))
}

/// What a tool prints if it ends well and in time.
fn finished(folder: &Path, tool: &str, flags: &[&str], until: Option<Instant>) -> Option<String> {
    let output = std::fs::File::create(folder.join("told")).ok()?;
    let mut child: Child = Command::new(tool)
        .args(flags)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    loop {
        match child.try_wait().ok()? {
            Some(status) if status.success() => break,
            Some(_) => return None,
            None if until.is_some_and(|until| Instant::now() > until) => {
                child.kill().ok()?;
                child.wait().ok()?;
                return None;
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    std::fs::read_to_string(folder.join("told")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_hold_and_grow() {
        let request = Request::all(crate::Suite::Scale);
        for program in Program::ALL {
            let states = |threads| {
                let row = measure(&request, program, (threads, 1, None));
                assert_eq!(row.value["verdict"], "holds", "{program:?}");
                row.value["stats"]["states"].as_u64()
            };
            assert!(states(2) < states(3), "{program:?}");
            let row = measure(&request, program, (2, 1, Some(1)));
            let verdict = row.value["verdict"].as_str().unwrap_or_default();
            assert!(!verdict.starts_with("violated"), "{program:?}");
        }
    }
}
