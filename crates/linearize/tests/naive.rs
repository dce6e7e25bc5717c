//! A second account of the language and the search: random programs with arrays, functions, `%`, sums,
//! `assert`, roles and variables that threads keep between calls are run by an interpreter of their
//! own, which knows nothing of graphs, reductions and symmetry, and finds a violation exactly if the search does.
//!
//! The interpreter runs a thread again from its start for every step, with the results of its accesses so far
//! written down: where the notes end is the access that it does next. Under TSO and PSO each thread has a list of stores.
//! `PALISADE_SOAK=n` tries n programs.

use std::collections::{BTreeSet, HashSet};
use std::fmt::{self, Display, Write};

use palisade_frontend::Diagnostic;
use palisade_linearize::step::Fault;
use palisade_linearize::{Buffers, Found, Options, Wrong, explore};
use palisade_program::Source;

const LENGTH: i64 = 2;

#[derive(Clone)]
enum Expr {
    Number(i64),
    /// A local: `x`, `y`, or in the function `p`.
    Local(usize),
    Kept,
    Shared(usize),
    Element(Box<Expr>),
    Sum(Box<Expr>, Box<Expr>, bool),
    Rest(Box<Expr>, i64),
    Call(Box<Expr>),
    FetchAdd(usize, Box<Expr>),
    Xchg(Box<Expr>, Box<Expr>),
}

const LOCALS: [&str; 3] = ["x", "y", "p"];
const SHARED: [&str; 2] = ["s", "t"];

impl Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => write!(f, "{n}"),
            Self::Local(x) => f.write_str(LOCALS[*x]),
            Self::Kept => f.write_str("k"),
            Self::Shared(s) => f.write_str(SHARED[*s]),
            Self::Element(i) => write!(f, "a[{i}]"),
            Self::Sum(a, b, minus) => write!(f, "({a} {} {b})", if *minus { '-' } else { '+' }),
            Self::Rest(a, by) => write!(f, "({a} % {by})"),
            Self::Call(a) => write!(f, "help({a})"),
            Self::FetchAdd(s, by) => write!(f, "fetch_add({}, {by})", SHARED[*s]),
            Self::Xchg(i, v) => write!(f, "xchg(a[{i}], {v})"),
        }
    }
}

#[derive(Clone)]
enum Stmt {
    Local(usize, Expr),
    Kept(Expr),
    Shared(usize, Expr),
    Element(Expr, Expr),
    If(Expr, Expr, Vec<Stmt>, Vec<Stmt>),
    Assert(Expr, Expr),
    Cas(Expr, Expr, Expr, usize),
    Atomic(Vec<Stmt>),
    Fence,
}

fn written(statements: &[Stmt]) -> String {
    let mut text = String::new();
    for statement in statements {
        let _ = match statement {
            Stmt::Local(x, e) => write!(text, "{} = {e}; ", LOCALS[*x]),
            Stmt::Kept(e) => write!(text, "k = {e}; "),
            Stmt::Shared(s, e) => write!(text, "{} = {e}; ", SHARED[*s]),
            Stmt::Element(i, e) => write!(text, "a[{i}] = {e}; "),
            Stmt::If(a, b, yes, no) => {
                let (yes, no) = (written(yes), written(no));
                write!(text, "if ({a} < {b}) {{ {yes}}} else {{ {no}}} ")
            }
            Stmt::Assert(a, b) => write!(text, "assert({a} != {b}); "),
            Stmt::Cas(i, old, new, x) => {
                let x = LOCALS[*x];
                write!(text, "if (cas(a[{i}], {old}, {new})) {x} = 1; ")
            }
            Stmt::Fence => write!(text, "fence; "),
            Stmt::Atomic(body) => write!(text, "atomic {{ {}}} ", written(body)),
        };
    }
    text
}

struct Program {
    methods: Vec<(Vec<Stmt>, bool)>,
    /// Of the function: what it does with its parameter, and what it returns.
    function: (Vec<Stmt>, Expr),
}

impl Program {
    fn text(&self) -> String {
        let mut text = format!(
            "spec none; shared int s = 0, t = 0; shared int a[{LENGTH}] = {{0, 1}}; local int k = 0;\n\
             fn help(int p) returns int {{ {}return {}; }}\n",
            written(&self.function.0),
            self.function.1
        );
        for (index, (body, role)) in self.methods.iter().enumerate() {
            let role = if *role { "by owner " } else { "" };
            let body = written(body);
            let _ = writeln!(text, "method m{index}() {role}{{ int x, y; {body}}}");
        }
        text
    }
}

// ---- random programs

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }

    /// `inside` says that it is in the function: `p` instead of locals, and no calls.
    fn expr(&mut self, depth: usize, inside: bool) -> Expr {
        let deeper = |random: &mut Self| Box::new(random.expr(depth + 1, inside));
        let local = if inside { 2 } else { self.below(2) };
        match self.below(if depth > 1 { 6 } else { 14 }) {
            0 => Expr::Number(self.below(3) as i64),
            1 | 2 => Expr::Local(local),
            3 => Expr::Kept,
            4 | 5 => Expr::Shared(self.below(2)),
            6 => Expr::Element(Box::new(self.index(depth + 1, inside))),
            7 => Expr::Element(deeper(self)),
            8 | 9 => Expr::Sum(deeper(self), deeper(self), self.below(2) == 0),
            10 => Expr::Rest(deeper(self), 1 + self.below(3) as i64),
            11 if !inside => Expr::Call(deeper(self)),
            12 => Expr::FetchAdd(self.below(2), deeper(self)),
            13 => Expr::Xchg(Box::new(self.index(depth + 1, inside)), deeper(self)),
            _ => Expr::Shared(self.below(2)),
        }
    }

    /// Mostly in range.
    fn index(&mut self, depth: usize, inside: bool) -> Expr {
        match self.below(8) {
            0 => self.expr(depth, inside),
            1 | 2 => Expr::Number(self.below(LENGTH as usize) as i64),
            _ => Expr::Rest(Box::new(self.expr(depth, inside)), LENGTH),
        }
    }

    fn statement(&mut self, depth: usize, inside: bool) -> Stmt {
        let local = if inside { 2 } else { self.below(2) };
        match self.below(if depth > 0 { 8 } else { 12 }) {
            0 | 1 => Stmt::Local(local, self.expr(0, inside)),
            2 => Stmt::Kept(self.expr(0, inside)),
            3 | 4 if self.below(8) == 0 => Stmt::Fence,
            3 | 4 => Stmt::Shared(self.below(2), self.expr(0, inside)),
            5 | 6 => Stmt::Element(self.index(0, inside), self.expr(0, inside)),
            7 => {
                let index = self.index(1, inside);
                Stmt::Cas(index, self.expr(1, inside), self.expr(1, inside), local)
            }
            8 => {
                let (a, b) = (self.expr(1, inside), self.expr(1, inside));
                let yes = vec![self.statement(1, inside)];
                Stmt::If(a, b, yes, vec![self.statement(1, inside)])
            }
            9 | 10 => {
                let big = Expr::Number(1 + self.below(4) as i64);
                Stmt::Assert(self.expr(1, inside), big)
            }
            _ => Stmt::Atomic(vec![self.statement(1, inside), self.statement(1, inside)]),
        }
    }

    /// Two methods that tell buffers from none, unless something random is in the way: store buffering, where both
    /// get in, and message passing, where the second store is seen before the first.
    fn relaxed(&mut self) -> Program {
        let number = |n: i64| Expr::Number(n);
        let mut methods = if self.below(2) == 0 {
            // Who finds the other not there marks its element, and must not find the other's marked.
            let enter = |mine: usize| {
                let element = |of: usize| Box::new(number(of as i64));
                let mark = |of: usize| number(1 + of as i64);
                let marked = Expr::Xchg(element(mine), Box::new(mark(mine)));
                let other = Expr::Element(element(1 - mine));
                let inside = vec![Stmt::Local(1, marked), Stmt::Assert(other, mark(1 - mine))];
                vec![
                    Stmt::Shared(mine, number(1)),
                    Stmt::Local(0, Expr::Shared(1 - mine)),
                    Stmt::If(Expr::Local(0), number(1), inside, vec![]),
                ]
            };
            vec![enter(0), enter(1)]
        } else {
            let send = vec![
                Stmt::Element(number(1), number(2)),
                Stmt::Shared(0, number(1)),
            ];
            let stale = Stmt::Assert(Expr::Element(Box::new(number(1))), number(1));
            let receive = vec![Stmt::If(number(0), Expr::Shared(0), vec![stale], vec![])];
            vec![send, receive]
        };
        for _ in 0..self.below(3) {
            let method = self.below(2);
            let at = self.below(methods[method].len());
            let statement = match self.below(2) {
                0 => Stmt::Fence,
                _ => self.statement(1, false),
            };
            methods[method].insert(at, statement);
        }
        Program {
            methods: methods.into_iter().map(|body| (body, false)).collect(),
            function: (Vec::new(), Expr::Local(2)),
        }
    }

    fn program(&mut self) -> Program {
        let count = self.below(2);
        let function = (0..count).map(|_| self.statement(1, true)).collect();
        let function = (function, self.expr(1, true));
        let methods = (0..2).map(|_| {
            let count = 1 + self.below(2);
            let mut body: Vec<Stmt> = (0..count).map(|_| self.statement(0, false)).collect();
            // Something must be able to go wrong, and the function must be called.
            let call = Expr::Call(Box::new(self.expr(1, false)));
            let big = Expr::Number(1 + self.below(3) as i64);
            body.push(Stmt::Assert(call, big));
            (body, self.below(3) == 0)
        });
        Program {
            methods: methods.collect(),
            function,
        }
    }
}

// ---- the interpreter

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Failure {
    Assertion,
    Index,
}

#[derive(Clone, Copy)]
enum Access {
    Read(usize),
    Write(usize, i64),
    Add(usize, i64),
    Swap(usize, i64),
    Cas(usize, i64, i64),
    /// A fence, or the start of an atomic block.
    Fence,
}

impl Access {
    /// Whether it waits for the thread's stores.
    fn drains(self, atomic: bool) -> bool {
        match self {
            Self::Read(_) | Self::Write(..) => atomic,
            Self::Add(..) | Self::Swap(..) | Self::Cas(..) | Self::Fence => true,
        }
    }
}

/// Why a thread stops for now.
enum Stop {
    Access(Access),
    /// It is between calls.
    Idle,
    Failed(Failure),
}

/// A thread that is run again with what its accesses gave.
struct Again<'a> {
    program: &'a Program,
    notes: std::slice::Iter<'a, i64>,
    locals: [i64; 3],
    kept: i64,
    /// Blocks that are one step, around the next access.
    atomic: u32,
    /// Whether the last access was inside the same block.
    goes_on: bool,
}

type Run<T> = Result<T, Stop>;

/// Words of memory: `s`, `t`, and the elements.
const ELEMENTS: usize = 2;

fn element(index: i64) -> Run<usize> {
    if (0..LENGTH).contains(&index) {
        Ok(ELEMENTS + index as usize)
    } else {
        Err(Stop::Failed(Failure::Index))
    }
}

impl Again<'_> {
    fn access(&mut self, access: Access) -> Run<i64> {
        match self.notes.next() {
            Some(note) => {
                self.goes_on = self.atomic > 0;
                Ok(*note)
            }
            None => Err(Stop::Access(access)),
        }
    }

    fn expr(&mut self, expr: &Expr) -> Run<i64> {
        Ok(match expr {
            Expr::Number(n) => *n,
            Expr::Local(x) => self.locals[*x],
            Expr::Kept => self.kept,
            Expr::Shared(s) => self.access(Access::Read(*s))?,
            Expr::Element(i) => {
                let i = self.expr(i)?;
                self.access(Access::Read(element(i)?))?
            }
            Expr::Sum(a, b, minus) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                if *minus { a - b } else { a + b }
            }
            Expr::Rest(a, by) => self.expr(a)?.rem_euclid(*by),
            Expr::Call(argument) => {
                let argument = self.expr(argument)?;
                let callers = self.locals;
                self.locals[2] = argument;
                let program = self.program;
                self.statements(&program.function.0)?;
                let result = self.expr(&program.function.1)?;
                self.locals = callers;
                result
            }
            Expr::FetchAdd(s, by) => {
                let by = self.expr(by)?;
                self.access(Access::Add(*s, by))?
            }
            Expr::Xchg(i, v) => {
                let (i, v) = (self.expr(i)?, self.expr(v)?);
                self.access(Access::Swap(element(i)?, v))?
            }
        })
    }

    fn statements(&mut self, statements: &[Stmt]) -> Run<()> {
        for statement in statements {
            match statement {
                Stmt::Local(x, e) => self.locals[*x] = self.expr(e)?,
                Stmt::Kept(e) => self.kept = self.expr(e)?,
                Stmt::Shared(s, e) => {
                    let value = self.expr(e)?;
                    self.access(Access::Write(*s, value))?;
                }
                Stmt::Element(i, e) => {
                    let (i, value) = (self.expr(i)?, self.expr(e)?);
                    self.access(Access::Write(element(i)?, value))?;
                }
                Stmt::If(a, b, yes, no) => {
                    let (a, b) = (self.expr(a)?, self.expr(b)?);
                    self.statements(if a < b { yes } else { no })?;
                }
                Stmt::Assert(a, b) => {
                    let (a, b) = (self.expr(a)?, self.expr(b)?);
                    if a == b {
                        return Err(Stop::Failed(Failure::Assertion));
                    }
                }
                Stmt::Cas(i, old, new, x) => {
                    let i = self.expr(i)?;
                    let (old, new) = (self.expr(old)?, self.expr(new)?);
                    if self.access(Access::Cas(element(i)?, old, new))? == 1 {
                        self.locals[*x] = 1;
                    }
                }
                Stmt::Fence => {
                    self.access(Access::Fence)?;
                }
                Stmt::Atomic(body) => {
                    self.atomic += 1;
                    self.access(Access::Fence)?;
                    self.statements(body)?;
                    self.atomic -= 1;
                    self.goes_on = false;
                }
            }
        }
        Ok(())
    }
}

/// Runs a thread again; gives also whether nobody else may act before its next access, and whether that is inside
/// an atomic block.
fn again(program: &Program, calls: &[(usize, Vec<i64>)]) -> (Stop, bool, bool) {
    let mut kept = 0;
    for (index, (method, notes)) in calls.iter().enumerate() {
        let mut run = Again {
            program,
            notes: notes.iter(),
            locals: [0; 3],
            kept,
            atomic: 0,
            goes_on: false,
        };
        match run.statements(&program.methods[*method].0) {
            Ok(()) => kept = run.kept,
            Err(stop) => {
                assert_eq!(index + 1, calls.len(), "only the last call goes on");
                return (stop, run.goes_on, run.atomic > 0);
            }
        }
    }
    (Stop::Idle, false, false)
}

/// Memory, what each thread has called and its accesses gave, and who has the role.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    memory: [i64; ELEMENTS + LENGTH as usize],
    threads: Vec<Vec<(usize, Vec<i64>)>>,
    /// By thread, stores that have not reached memory: words and values, the oldest first.
    buffers: Vec<Vec<(usize, i64)>>,
    owner: Option<usize>,
}

const THREADS: usize = 2;
const STATES: usize = 60_000;

/// The failures that runs come to; `None` if there are too many runs.
fn failures(program: &Program, calls: usize, model: Buffers) -> Option<BTreeSet<Failure>> {
    let start = State {
        memory: [0, 0, 0, 1],
        threads: vec![Vec::new(); THREADS],
        buffers: vec![Vec::new(); THREADS],
        owner: None,
    };
    let mut seen = HashSet::from([start.clone()]);
    let mut open = vec![start];
    let mut found = BTreeSet::new();
    while let Some(state) = open.pop() {
        let stops: Vec<(Stop, bool, bool)> =
            state.threads.iter().map(|t| again(program, t)).collect();
        let busy = stops.iter().position(|(_, goes_on, _)| *goes_on);
        let begun: usize = state.threads.iter().map(Vec::len).sum();
        for (thread, (stop, _, atomic)) in stops.iter().enumerate() {
            if busy.is_some_and(|busy| busy != thread) {
                continue;
            }
            let mut next = Vec::new();
            let buffer = &state.buffers[thread];
            for (index, (at, value)) in buffer.iter().enumerate() {
                let first = match model {
                    Buffers::Sc | Buffers::Tso => index == 0,
                    Buffers::Pso => !buffer[..index].iter().any(|(other, _)| other == at),
                };
                if first {
                    let mut after = state.clone();
                    after.memory[*at] = *value;
                    after.buffers[thread].remove(index);
                    next.push(after);
                }
            }
            match stop {
                Stop::Failed(failure) => {
                    found.insert(*failure);
                }
                Stop::Idle => {
                    for (method, (_, role)) in program.methods.iter().enumerate() {
                        let others = state.owner.is_some_and(|owner| owner != thread);
                        if begun == calls || *role && others {
                            continue;
                        }
                        let mut after = state.clone();
                        after.threads[thread].push((method, Vec::new()));
                        if *role {
                            after.owner = Some(thread);
                        }
                        next.push(after);
                    }
                }
                Stop::Access(access) if !buffer.is_empty() && access.drains(*atomic) => {}
                Stop::Access(access) => {
                    let mut after = state.clone();
                    let own = |at: usize| buffer.iter().rev().find(|(other, _)| *other == at);
                    let word = |at: usize| own(at).map_or(state.memory[at], |(_, value)| *value);
                    let note = match *access {
                        Access::Fence => 0,
                        Access::Read(at) => word(at),
                        Access::Write(at, value) if model != Buffers::Sc && !atomic => {
                            after.buffers[thread].push((at, value));
                            0
                        }
                        Access::Write(at, value) => {
                            after.memory[at] = value;
                            0
                        }
                        Access::Add(at, by) => {
                            after.memory[at] = word(at) + by;
                            word(at)
                        }
                        Access::Swap(at, value) => {
                            after.memory[at] = value;
                            word(at)
                        }
                        Access::Cas(at, old, new) => {
                            if word(at) == old {
                                after.memory[at] = new;
                            }
                            i64::from(word(at) == old)
                        }
                    };
                    if let Some((_, notes)) = after.threads[thread].last_mut() {
                        notes.push(note);
                    }
                    next.push(after);
                }
            }
            for state in next {
                if seen.insert(state.clone()) {
                    open.push(state);
                }
            }
        }
        if seen.len() > STATES {
            return None;
        }
    }
    Some(found)
}

/// Runs of up to `calls` calls of random programs, by the search and by the interpreter.
fn agree(count: u64, calls: usize, model: Buffers) {
    let (mut right, mut wrong, mut cut, mut relaxed) = (0, [0, 0], 0, 0);
    for seed in 0..count {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (seed + 1) << 20);
        random.below(2);
        let made = match model {
            Buffers::Tso | Buffers::Pso if seed % 2 == 0 => random.relaxed(),
            Buffers::Sc | Buffers::Tso | Buffers::Pso => random.program(),
        };
        let text = made.text();
        let program = match palisade_frontend::heap::parse(Source::new("naive.pal", text.as_str()))
        {
            Ok(parsed) => parsed.program,
            // An index that is a number is checked when the text is read.
            Err(errors) => {
                let range = |d: &Diagnostic| {
                    d.message == "the index is out of range"
                        || d.message == "`help` is never called"
                };
                assert!(
                    errors.items.iter().all(range),
                    "{}\n{text}",
                    errors.render(false)
                );
                continue;
            }
        };
        for calls in 1..=calls {
            let Some(expected) = failures(&made, calls, model) else {
                cut += 1;
                break;
            };
            for reduce in [true, false] {
                let options = Options {
                    threads: THREADS as u32,
                    calls: calls as u32,
                    reduce,
                    buffers: model,
                    stores: 64,
                    ..Options::default()
                };
                let search = explore(&program, &options).unwrap_or_else(|no| panic!("{no}"));
                let found = match &search.found {
                    Found::Nothing => None,
                    Found::Wrong(witness) => Some(match &witness.what {
                        Wrong::Step(Fault::Assertion) => Failure::Assertion,
                        Wrong::Step(Fault::Index) => Failure::Index,
                        other => panic!("{other:?}\n{text}"),
                    }),
                    Found::Stopped(stop) => panic!("{stop:?}"),
                };
                let agree = match found {
                    None => expected.is_empty(),
                    Some(failure) => expected.contains(&failure),
                };
                assert!(
                    agree,
                    "seed {seed}, {calls} calls, {model:?}, reduced {reduce}: {found:?}, not {expected:?}\n{text}"
                );
            }
            right += u32::from(expected.is_empty());
            for (index, failure) in [Failure::Assertion, Failure::Index].iter().enumerate() {
                wrong[index] += u32::from(expected.contains(failure));
            }
            if model != Buffers::Sc {
                let under_sc = failures(&made, calls, Buffers::Sc);
                relaxed += u32::from(under_sc.is_some_and(|sc| sc != expected));
            }
        }
    }
    println!("{model:?}: {right} right, {wrong:?} wrong, {relaxed} not under sc, {cut} cut");
    assert!(
        right > 20 && wrong[0] > 20 && wrong[1] > 5,
        "{right} {wrong:?} {cut}"
    );
    // The buffers must make a difference often.
    assert_eq!(relaxed > 10, model != Buffers::Sc, "{relaxed}");
}

fn soak(count: u64) -> u64 {
    let soak = std::env::var("PALISADE_SOAK").ok();
    soak.and_then(|count| count.parse().ok()).unwrap_or(count)
}

#[test]
fn the_search_finds_what_a_plain_interpreter_finds() {
    agree(soak(120), 3, Buffers::Sc);
}

#[test]
fn the_search_with_buffers_finds_what_a_plain_interpreter_finds() {
    agree(soak(70), 2, Buffers::Tso);
    agree(soak(70), 2, Buffers::Pso);
}
