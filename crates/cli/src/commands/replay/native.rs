//! *Native replay*: the run of a trace on the user's program as the system's compiler builds it.
//! Nothing of the front end takes part in the run, so a failing assertion there is a second
//! account of it.
//!
//! The program is compiled with `-fsanitize=thread`, which puts a call before every access to
//! memory, and linked with `runtime.c` in place of the library of that sanitizer. The runtime lets one thread
//! run at a time and hands the turn over as the trace does ([`Plan`]). Variables are
//! found by the symbols of the binary, cells without a symbol (allocated memory, members,
//! locals) at the first access on the line of theirs; what is read is compared.
//!
//! Limits: sequential consistency only; assertions and calls of error functions; a
//! compiler that evaluates operands in another order than the trace, barriers, and accesses
//! that the compiler puts together where the trace is interrupted are not followed. Then
//! the answer is [`Shown::Left`], never a wrong failure: what fails is the user's own assertion.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use palisade_frontend::c::{self, DataModel};
use palisade_program::{
    ActionKind, AssertKind, AtomicKind, Broken, Event, Program, Source, Span, Trace, TraceStep,
    Violation,
};

/// What is linked to the program.
const RUNTIME: &str = include_str!("runtime.c");
/// Time for one run.
const LIMIT: Duration = Duration::from_secs(25);
/// Lines of one file in the numbering of all lines.
const FILE: u32 = 1_000_000;

/// What came of a native run.
pub(super) enum Shown {
    /// There was none, for this reason.
    Not(String),
    /// The assertion of the trace fails, after so many accesses and calls of the trace.
    Failed { words: String, accesses: u64 },
    /// The native run is not that of the trace, from here on.
    Left {
        thread: String,
        place: Option<String>,
        why: String,
    },
}

/// Builds the program and runs it as the trace of a violation says.
pub(super) fn run(
    program: &Program,
    violation: &Violation,
    options: &c::Options,
    files: &[&Path],
) -> Result<Shown> {
    match &violation.broken {
        Broken::Assert(AssertKind::User | AssertKind::ErrorCall(_)) => {}
        other => {
            let what = "a native run shows failing assertions and calls of error functions only";
            return Ok(Shown::Not(format!("{what}, not `{}`", other.kind())));
        }
    }
    let folder = tempfile::tempdir().context("no folder for the native run")?;
    let binary = build(folder.path(), options, files)?;
    let lines = Lines::read(&binary)?;
    let symbols = symbols(&binary)?;
    let plan = Plan::new(program, violation, &symbols, &lines);
    let (plan_file, answer) = (folder.path().join("plan"), folder.path().join("answer"));
    fs::write(&plan_file, &plan.text).context("the plan cannot be written")?;
    let words = execute(&binary, &plan_file, &answer)?;
    let answer = fs::read_to_string(&answer).unwrap_or_default();
    let mut parts = answer.trim().splitn(4, ' ');
    let (what, thread, line) = (parts.next(), parts.next(), parts.next());
    let rest = parts.next().unwrap_or_default().to_owned();
    let number = |text: Option<&str>| text.and_then(|t| t.parse::<u32>().ok()).unwrap_or(0);
    let place = number(line);
    Ok(match what {
        Some("failed") => Shown::Failed {
            words,
            accesses: rest.parse().unwrap_or(0),
        },
        Some("left") => Shown::Left {
            thread: (violation.trace.threads)
                .get(number(thread) as usize)
                .cloned()
                .unwrap_or_default(),
            place: (place > 0).then(|| lines.name(place)),
            why: rest,
        },
        _ => Shown::Left {
            thread: String::new(),
            place: None,
            why: "the native run did not come to an end".to_owned(),
        },
    })
}

fn compiler() -> Command {
    let name = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    Command::new(name)
}

fn finished(mut command: Command, what: &str) -> Result<Output> {
    let output = command.output().with_context(|| {
        format!(
            "{what}: `{}` cannot be run",
            command.get_program().display()
        )
    })?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("{what} failed:\n{}", words.trim_end());
    }
    Ok(output)
}

/// Compiles and links the program.
fn build(folder: &Path, options: &c::Options, files: &[&Path]) -> Result<PathBuf> {
    let width: &[&str] = match options.data_model {
        DataModel::Lp64 => &[],
        DataModel::Ilp32 => &["-m32"],
    };
    let runtime = folder.join("runtime.c");
    fs::write(&runtime, RUNTIME).context("the runtime cannot be written")?;
    let mut link = compiler();
    let mut compile = compiler();
    let object = folder.join("runtime.o");
    compile
        .args(width)
        .args(["-O1", "-w", "-fno-pie", "-c", "-o"]);
    finished(
        arguments(compile, &[&object, &runtime]),
        "the compilation of the runtime",
    )?;
    link.args(width).args(["-no-pie", "-pthread", "-o"]);
    let binary = folder.join("program");
    link.arg(&binary).arg(&object);
    let more = options.units.iter().map(|unit| &unit.preprocessor);
    let flags = std::iter::once(&options.preprocessor).chain(more);
    for (number, (file, flags)) in files.iter().zip(flags).enumerate() {
        let object = folder.join(format!("{number}.o"));
        let mut compile = compiler();
        compile
            .args(width)
            .args(["-g", "-O0", "-w", "-fno-pie", "-pthread"])
            .args(["-fsanitize=thread", "-fno-builtin"]);
        if let Some(standard) = &flags.standard {
            compile.arg(format!("-std={standard}"));
        }
        for folder in &flags.folders {
            compile.arg("-I").arg(folder);
        }
        for define in &flags.defines {
            compile.arg("-D").arg(define);
        }
        for undefine in &flags.undefines {
            compile.arg("-U").arg(undefine);
        }
        for file in &flags.includes {
            compile.arg("-include").arg(file);
        }
        compile.args(["-c", "-o"]);
        finished(
            arguments(compile, &[&object, file]),
            "the compilation of the program",
        )?;
        link.arg(object);
    }
    let wrapped = RUNTIME.split("__wrap_").skip(1).filter_map(|rest| {
        let name = rest.split('(').next()?;
        name.bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_')
            .then_some(name)
    });
    let locks = RUNTIME
        .split("LOCK(")
        .skip(2)
        .filter_map(|rest| rest.split(',').next());
    for name in wrapped.chain(locks) {
        link.arg(format!("-Wl,--wrap={name}"));
    }
    finished(link, "linking the program")?;
    Ok(binary)
}

fn arguments(mut command: Command, paths: &[&Path]) -> Command {
    command.args(paths);
    command
}

/// Runs the program; what it prints to standard error.
fn execute(binary: &Path, plan: &Path, answer: &Path) -> Result<String> {
    let mut child = Command::new(binary)
        .env("PALISADE_PLAN", plan)
        .env("PALISADE_ANSWER", answer)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("the program cannot be run")?;
    let started = Instant::now();
    while child
        .try_wait()
        .context("the program cannot be awaited")?
        .is_none()
    {
        if started.elapsed() > LIMIT {
            let _ = child.kill();
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child
        .wait_with_output()
        .context("the program cannot be awaited")?;
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Addresses and sizes of the program's variables and functions, by name. Of static locals of one name there
/// are several: they have none.
fn symbols(binary: &Path) -> Result<BTreeMap<String, (u64, u64)>> {
    let mut nm = Command::new("nm");
    nm.arg("-S").arg(binary);
    let output = finished(nm, "reading the symbols")?;
    let mut found = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [at, size, kind, name] = words[..] else {
            continue;
        };
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let (Some(at), Some(size)) = (hex(at), hex(size)) else {
            continue;
        };
        if matches!(
            kind,
            "B" | "b" | "D" | "d" | "C" | "G" | "g" | "S" | "s" | "T" | "t"
        ) {
            found.insert(name.to_owned(), (at, size));
        }
    }
    Ok(found)
}

/// Which line an instruction is of. Lines of all files have one numbering.
struct Lines {
    files: Vec<String>,
    table: Vec<(u64, u32)>,
}

impl Lines {
    fn read(binary: &Path) -> Result<Self> {
        let mut objdump = Command::new("objdump");
        objdump.arg("--dwarf=decodedline").arg(binary);
        let output = finished(objdump, "reading the line table")?;
        let mut lines = Self {
            files: Vec::new(),
            table: Vec::new(),
        };
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [file, number, at, ..] = words[..] else {
                continue;
            };
            let at = at
                .strip_prefix("0x")
                .and_then(|a| u64::from_str_radix(a, 16).ok());
            if let (Ok(number), Some(at)) = (number.parse::<u32>(), at) {
                let number = lines.number(file, number);
                lines.table.push((at, number));
            }
        }
        // Of several lines at an address the last one counts.
        lines.table.sort_by_key(|(at, _)| *at);
        Ok(lines)
    }

    fn number(&mut self, file: &str, line: u32) -> u32 {
        let name = base_name(file);
        let known = self.files.iter().position(|f| f == name);
        let file = known.unwrap_or_else(|| {
            self.files.push(name.to_owned());
            self.files.len() - 1
        });
        file as u32 * FILE + line
    }

    /// The first and the last line of a place.
    fn of(&self, source: &Source, span: Span) -> (u32, u32) {
        let name = base_name(source.file_at(span.start));
        let Some(file) = self.files.iter().position(|f| f == name) else {
            return (0, 0);
        };
        let line = |offset| file as u32 * FILE + source.position(offset).line;
        (line(span.start), line(span.end.max(span.start)))
    }

    fn name(&self, line: u32) -> String {
        let file = self.files.get((line / FILE) as usize);
        format!("{}:{}", file.map_or("?", String::as_str), line % FILE)
    }
}

fn base_name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// What the runtime is told: cells, the accesses of the trace in their order, lines.
struct Plan<'a> {
    source: &'a Source,
    trace: &'a Trace,
    symbols: &'a BTreeMap<String, (u64, u64)>,
    lines: &'a Lines,
    /// Numbers of cells by name.
    cells: BTreeMap<&'a str, usize>,
    items: String,
    text: String,
}

impl<'a> Plan<'a> {
    fn new(
        program: &'a Program,
        violation: &'a Violation,
        symbols: &'a BTreeMap<String, (u64, u64)>,
        lines: &'a Lines,
    ) -> Self {
        let trace = &violation.trace;
        let mut plan = Self {
            source: &program.source,
            trace,
            symbols,
            lines,
            cells: BTreeMap::new(),
            items: String::new(),
            text: String::new(),
        };
        for (number, step) in trace.steps.iter().enumerate() {
            plan.step(program, number, step);
        }
        for name in &trace.threads {
            // `worker[1]` and `worker_2` run `worker`.
            let name = name.split('[').next().unwrap_or(name);
            let numbered = name
                .rsplit_once('_')
                .filter(|(_, n)| n.parse::<u32>().is_ok());
            let function = symbols.get(name).or_else(|| symbols.get(numbered?.0));
            let _ = writeln!(plan.text, "thread {:x}", function.map_or(0, |(at, _)| *at));
        }
        plan.declare_cells();
        plan.text.push_str(&plan.items);
        for (at, line) in &lines.table {
            let _ = writeln!(plan.text, "line {at:x} {line}");
        }
        let failing = trace.steps.last().map_or(0, |step| step.thread);
        let main = trace
            .threads
            .iter()
            .position(|name| name == "main")
            .unwrap_or(0);
        // An error function may be defined by an assertion elsewhere.
        let (first, last) = match (&violation.broken, trace.steps.last()) {
            (Broken::Assert(AssertKind::User), Some(step)) => {
                let line = |offset| program.source.position(offset).line;
                (line(step.span.start), line(step.span.end))
            }
            _ => (0, 0),
        };
        let _ = writeln!(plan.text, "fail {main} {failing} {first} {last}");
        plan
    }

    fn step(&mut self, program: &Program, number: usize, step: &'a TraceStep) {
        let choices: Vec<i64> = match step.action.as_ref().map(|action| &action.kind) {
            Some(ActionKind::Step { choice, .. }) => choice.iter().copied().collect(),
            Some(ActionKind::Block { path, .. }) => path.iter().filter_map(|(_, c)| *c).collect(),
            Some(
                ActionKind::Ordered { .. }
                | ActionKind::Update { .. }
                | ActionKind::NetworkRead { .. }
                | ActionKind::NetworkWrite { .. }
                | ActionKind::AtomicRead { .. }
                | ActionKind::AtomicApply { .. },
            )
            | None => Vec::new(),
        };
        for value in choices {
            self.item(number, step, 'c', -1, value);
        }
        for event in &step.events {
            let (what, cell, value) = match event {
                Event::Read { cell, value, .. } => ('r', cell, *value),
                Event::Write { cell, value, .. } => ('w', cell, *value),
                Event::Fence | Event::Other => continue,
            };
            if program.names.is_made_up(cell) {
                self.of_thread(number, step, what, cell);
                continue;
            }
            let next = self.cells.len();
            let id = *self.cells.entry(cell).or_insert(next);
            self.item(number, step, what, id as i64, value);
        }
    }

    /// An access to what the front end has made up for threads.
    fn of_thread(&mut self, number: usize, step: &TraceStep, what: char, cell: &str) {
        let Some((name, part)) = cell.rsplit_once('.') else {
            return;
        };
        let thread = self.trace.threads.iter().position(|t| t == name);
        let Some(thread) = thread.map(|t| t as i64) else {
            return;
        };
        let what = match (part, what) {
            ("started", 'w') if step.thread as i64 != thread => 'n',
            ("started", 'r') if step.thread as i64 == thread => 's',
            _ => return,
        };
        self.item(number, step, what, -1, thread);
    }

    fn item(&mut self, number: usize, step: &TraceStep, what: char, cell: i64, value: i64) {
        let (line, last) = self.lines.of(self.source, step.span);
        let thread = step.thread;
        let _ = writeln!(
            self.items,
            "item {number} {thread} {what} {line} {last} {cell} {value}"
        );
    }

    fn declare_cells(&mut self) {
        let is_lock =
            |step: &&TraceStep| matches!(step.block, Some(AtomicKind::Lock | AtomicKind::Unlock));
        let locks = self.trace.steps.iter().filter(is_lock);
        let objects: Vec<&str> = locks
            .flat_map(|step| &step.events)
            .filter_map(cell_of)
            .collect();
        let mut in_order: Vec<(&str, usize)> = self.cells.iter().map(|(c, n)| (*c, *n)).collect();
        in_order.sort_by_key(|(_, number)| *number);
        for (cell, _) in in_order {
            let kind = if objects.contains(&cell) { 'o' } else { 'v' };
            let (at, size, low, high) = self.address(cell);
            let _ = writeln!(self.text, "cell {at:x} {size} {kind} {low:x} {high:x}");
        }
    }

    /// The address and size of a cell if they are known (else 0), and where it can be.
    fn address(&self, cell: &str) -> (u64, u64, u64, u64) {
        let variable = cell.split(['.', '[']).next().unwrap_or(cell);
        let Some(&(at, size)) = self.symbols.get(variable) else {
            return (0, 0, 0, 0);
        };
        if variable == cell {
            return (at, size, at, at + size);
        }
        // An array of numbers: all cells are `a[k]`.
        let of_array = |name: &str| -> Option<u64> {
            let rest = name.strip_prefix(variable)?.strip_prefix('[')?;
            rest.strip_suffix(']')?.parse().ok()
        };
        let cells = self.trace.initial.keys();
        let own: Vec<&String> = cells
            .filter(|name| name.split(['.', '[']).next() == Some(variable))
            .collect();
        let len = own.len() as u64;
        match of_array(cell) {
            Some(k) if len > 0 && size % len == 0 && own.iter().all(|n| of_array(n).is_some()) => {
                (at + k * (size / len), size / len, at, at + size)
            }
            _ => (0, 0, at, at + size),
        }
    }
}

fn cell_of(event: &Event) -> Option<&str> {
    match event {
        Event::Read { cell, .. } | Event::Write { cell, .. } => Some(cell),
        Event::Fence | Event::Other => None,
    }
}
