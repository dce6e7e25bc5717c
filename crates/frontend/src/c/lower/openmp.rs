//! *OpenMP*: the meaning of the calls that directives become ([`crate::c::openmp`]).
//!
//! A parallel region is met once for each place in the program where functions are inlined and loops
//! unrolled; in a loop of unknown length it is refused. Its threads but the first are threads of
//! the program ([`Plan`]) that start where the region begins, and the first, which runs it
//! itself, waits for them where it ends.
//!
//! A *task* is such a thread, too, but it needs a *place*: a thread of the team that has nothing else to do and
//! may run it (OpenMP 5.2, section 12.9, tasks that are tied). Each place is a variable, one more than the
//! number of the thread while it is free, else zero.
//!
//! | place | free while | who may use it |
//! |---|---|---|
//! | `idle` of a thread | it stands at a barrier or at the region's end | any task of the region |
//! | `turn` of a thread or task | it stands at `taskwait`, `taskyield`, or has just made a task | the tasks that it has made, and theirs |
//!
//! *Captured* variables are those around a region that it mentions. Those that it writes are in memory, and
//! all threads use the same object. A variable in registers is not written in the region: each thread has its value.
//!
//! | construct | who does it |
//! |---|---|
//! | `single`, `section` | the first thread that comes |
//! | iterations, `static` | as the schedule says |
//! | iterations, `dynamic` | the first thread that comes to a chunk |
//! | iterations without schedule | anybody, chosen for each iteration by itself |
//!
//! Worksharing constructs are met once by each thread; a loop of unknown length around them is refused.

use std::collections::HashMap;
use std::rc::Rc;

use palisade_program::{
    AtomicKind, BinOp, Domain, Expr as Ir, GlobalId, LocalExpr, LocalId, Orders, Place as Memory,
    Span, Step,
};

use super::code::{Code, Lower};
use super::expr::unsupported;
use super::layout::{Cells, Object};
use super::thread::{Plan, is, number, number_zero};
use super::value::Val;
use crate::c::ast::{Expr, ExprKind, Function, Unary};
use crate::c::openmp::{
    BARRIER, CLAIM, ENTER, ITERATED, LEAVE, ORDERED, OWNS, PARALLEL, Schedule, TASK, TASKWAIT,
    TASKYIELD,
};
use crate::c::types::Type;

/// Threads of a team at most.
const MAX_THREADS: i128 = 8;
/// Iterations of a loop construct at most.
const MAX_ITERATIONS: i128 = 64;

/// Whether a call starts threads that run its first argument.
pub(super) fn starts(name: &str) -> bool {
    name == PARALLEL || name == TASK
}

/// Whether the program has parallel regions.
pub(super) fn is_used(names: &std::collections::HashSet<String>) -> bool {
    names.contains(PARALLEL)
}

/// The team that a thread is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Team {
    region: usize,
    /// The thread's number; a task finds it with its place.
    number: Option<u32>,
    size: u32,
}

/// A thread that OpenMP makes.
#[derive(Clone)]
pub(super) struct Part {
    team: Team,
    captured: Rc<Vec<(String, Capture)>>,
    /// For a task: who has made it, who has made that one, and so on to a thread of the team.
    ancestors: Vec<usize>,
}

/// The task that a thread of the program is.
pub(super) struct Task {
    ancestors: Vec<usize>,
    /// Which of the places it has.
    place: LocalId,
    /// What that place said: one more than the number of the thread.
    found: LocalId,
}

/// A variable around a region, for another thread.
#[derive(Clone)]
enum Capture {
    /// It is shared.
    Shared(Rc<Object>),
    /// Its value, for each register a constant or the variable that it is passed in.
    Value(Rc<Object>, Vec<Result<i64, GlobalId>>),
}

/// What is known of OpenMP in a pass.
#[derive(Default)]
pub(super) struct Openmp {
    regions: usize,
    words: HashMap<String, GlobalId>,
}

impl Openmp {
    /// The variables that users have never written.
    pub(super) fn made_up(&self) -> impl Iterator<Item = String> {
        self.words.keys().cloned()
    }
}

fn is_not(e: &LocalExpr, value: i64) -> LocalExpr {
    LocalExpr::binary(BinOp::Ne, e.clone(), Ir::Const(value))
}

fn choice(test: &LocalExpr, yes: LocalExpr, no: LocalExpr) -> LocalExpr {
    Ir::Cond(Box::new(test.clone()), Box::new(yes), Box::new(no))
}

fn name_of(e: &Expr) -> Option<&str> {
    match &e.kind {
        ExprKind::Ident(name) => Some(name),
        ExprKind::Unary(Unary::Address | Unary::Plus, e) => name_of(e),
        _ => None,
    }
}

impl<'a> Code<'_, 'a> {
    /// A call that a directive became, or one of `omp.h`; `None` if it is none.
    pub(super) fn openmp_call(
        &mut self,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Lower<Option<Val>> {
        match name {
            "omp_get_num_threads" => {
                let size = self.team.map_or(1, |team| team.size);
                return Ok(Some(number(i64::from(size))));
            }
            "omp_in_parallel" => {
                let is_team = self.team.is_some_and(|team| team.size > 1);
                return Ok(Some(number(i64::from(is_team))));
            }
            "omp_get_thread_num" => {
                let next = self.next_number();
                let number = LocalExpr::binary(BinOp::Sub, next, Ir::Const(1));
                return Ok(Some(self.held(number, &Type::INT)));
            }
            _ if !name.starts_with("__palisade_omp_") => return Ok(None),
            _ => {}
        }
        if self.cx.options.orders == Orders::Kept {
            let help = "use --model sc, tso or pso";
            return unsupported(span, "OpenMP under rc11", help);
        }
        match (name, args) {
            (PARALLEL, [function, threads, captured @ ..]) => {
                self.parallel(function, threads, captured, span)?;
            }
            (TASK, [function, captured @ ..]) => self.task(function, captured, span)?,
            (TASKWAIT, []) => {
                let me = self.thread;
                self.lends("turn", span, |code| code.await_tasks(&|by| by == me, span))?;
            }
            (TASKYIELD, []) => self.lends("turn", span, |_| Ok(()))?,
            (BARRIER, []) => self.team_barrier(span)?,
            (CLAIM, [construct]) => return self.claim_work(construct, span).map(Some),
            (OWNS, [construct, iteration, schedule, chunk, total]) => {
                let numbers = [construct, iteration, schedule, chunk, total];
                return self.owns(numbers, span).map(Some);
            }
            (ORDERED | ITERATED, [construct, iteration]) => {
                self.iteration_order(name == ORDERED, construct, iteration, span)?;
            }
            (ENTER | LEAVE, [section]) => {
                let text = match &section.kind {
                    ExprKind::Str(text) => text.clone(),
                    _ => String::new(),
                };
                let word = self.omp_word(&format!("critical.{text}"), span);
                self.critical(name == ENTER, word, span)?;
            }
            _ => return unsupported(span, "this directive of OpenMP", "leave it out"),
        }
        Ok(Some(number_zero()))
    }

    /// A variable of the run-time library.
    fn omp_word(&mut self, what: &str, span: Span) -> GlobalId {
        let rank = self.cx.mpi.as_ref().map(|mpi| mpi.rank);
        let rank = rank.map_or_else(String::new, |rank| format!("rank{rank}."));
        let name = format!("{rank}omp.{what}");
        if let Some(known) = self.cx.openmp.words.get(&name) {
            return *known;
        }
        let id = self.cx.global(name.clone(), None, span);
        self.cx.openmp.words.insert(name, id);
        id
    }

    fn region_word(&mut self, what: &str, span: Span) -> GlobalId {
        let region = self.team.map_or(0, |team| team.region);
        self.omp_word(&format!("region{region}.{what}"), span)
    }

    fn get_word(&mut self, word: GlobalId, span: Span) -> LocalExpr {
        let dst = self.temporary(span);
        let src = Memory::scalar(word);
        self.emit(Step::Load { dst, src }, span);
        self.read(dst)
    }

    fn put_word(&mut self, word: GlobalId, value: LocalExpr, span: Span) {
        let dst = Memory::scalar(word);
        self.emit(Step::Store { dst, value }, span);
    }

    /// One more than the number of this thread in its team.
    fn next_number(&self) -> LocalExpr {
        match (&self.task, self.team) {
            (Some(task), _) => self.read(task.found),
            (None, Some(team)) => Ir::Const(i64::from(team.number.unwrap_or(0)) + 1),
            (None, None) => Ir::Const(1),
        }
    }

    /// Whether a plan is a task of the region at hand.
    fn is_task(&self, plan: &Plan<'a>) -> bool {
        let rank = self.cx.mpi.as_ref().map(|mpi| mpi.rank);
        let region = self.team.map(|team| team.region);
        let is_task = |part: &Part| Some(part.team.region) == region && !part.ancestors.is_empty();
        plan.rank == rank && plan.part.as_ref().is_some_and(is_task)
    }

    fn has_tasks(&self) -> bool {
        let plans = self.cx.known_plans();
        plans.iter().any(|plan| self.is_task(plan))
    }

    /// The place of this thread, `idle` or `turn`.
    fn own_place(&mut self, which: &str, span: Span) -> GlobalId {
        let owner = match (which, self.team.and_then(|team| team.number)) {
            ("idle", Some(number)) => number as usize,
            _ => self.thread,
        };
        self.region_word(&format!("{which}{owner}"), span)
    }

    /// Tasks may run in this thread's place from here on.
    fn lend(&mut self, which: &str, span: Span) -> Lower<()> {
        if !self.has_tasks() {
            return Ok(());
        }
        let place = self.own_place(which, span);
        let next = self.next_number();
        self.atomically(AtomicKind::Block, span, |code| {
            code.put_word(place, next, span);
            Ok(())
        })
    }

    /// Tasks may run in this thread's place while it does something.
    fn lends(
        &mut self,
        which: &str,
        span: Span,
        meanwhile: impl FnOnce(&mut Self) -> Lower<()>,
    ) -> Lower<()> {
        self.lend(which, span)?;
        meanwhile(self)?;
        if !self.has_tasks() {
            return Ok(());
        }
        let place = self.own_place(which, span);
        self.atomically(AtomicKind::Block, span, |code| {
            let free = code.get_word(place, span);
            code.emit(Step::Assume(is_not(&free, 0)), span);
            code.put_word(place, Ir::Const(0), span);
            Ok(())
        })
    }

    /// The places that a task may have.
    fn places(&mut self, team: Team, ancestors: &[usize], span: Span) -> Vec<GlobalId> {
        let idle = (0..team.size).map(|number| format!("idle{number}"));
        let turns = ancestors.iter().map(|thread| format!("turn{thread}"));
        let names: Vec<_> = idle.chain(turns).collect();
        let word = |name: String| self.region_word(&name, span);
        names.into_iter().map(word).collect()
    }

    /// A task starts where a place is free.
    fn take_place(&mut self, team: Team, ancestors: &[usize], span: Span) -> Lower<()> {
        let places = self.places(team, ancestors, span);
        let (place, found) = (self.hidden(span), self.hidden(span));
        self.atomically(AtomicKind::Block, span, |code| {
            let hi = places.len() as i64 - 1;
            let domain = Some(Domain { lo: 0, hi });
            code.emit(Step::Havoc { dst: place, domain }, span);
            code.assign(found, Ir::Const(0), span);
            for (k, word) in places.iter().enumerate() {
                let free = code.get_word(*word, span);
                let is_chosen = is(&code.read(place), k as i64);
                let value = choice(&is_chosen, free.clone(), code.read(found));
                code.assign(found, value, span);
                code.put_word(*word, choice(&is_chosen, Ir::Const(0), free), span);
            }
            let is_free = is_not(&code.read(found), 0);
            code.emit(Step::Assume(is_free), span);
            Ok(())
        })?;
        self.task = Some(Task {
            ancestors: ancestors.to_vec(),
            place,
            found,
        });
        Ok(())
    }

    /// A thread of a team comes to the end of its region, or a task to its own.
    pub(super) fn leave_team(&mut self, span: Span) -> Lower<()> {
        let Some(team) = self.team else {
            return Ok(());
        };
        let Some(task) = self.task.take() else {
            return self.lend("idle", span);
        };
        let places = self.places(team, &task.ancestors, span);
        self.atomically(AtomicKind::Block, span, |code| {
            for (k, word) in places.iter().enumerate() {
                let free = code.get_word(*word, span);
                let is_own = is(&code.read(task.place), k as i64);
                let value = choice(&is_own, code.read(task.found), free);
                code.put_word(*word, value, span);
            }
            Ok(())
        })
    }

    /// A construct that each thread meets once.
    fn is_once(&self, what: &str, span: Span) -> Lower<()> {
        if self.loop_depth > 0 || self.is_any {
            let what = format!("{what} in a loop of unknown length");
            return unsupported(span, &what, "give the loop constant bounds");
        }
        Ok(())
    }

    fn function_named(&self, function: &Expr, span: Span) -> Lower<&'a Function> {
        let known = name_of(function).and_then(|name| self.cx.functions.get(name));
        match known {
            Some(function) => Ok(*function),
            None => unsupported(span, "this directive of OpenMP", "leave it out"),
        }
    }

    /// The variables around a region, for another thread.
    fn captured(&mut self, names: &[Expr], span: Span) -> Lower<Vec<(String, Capture)>> {
        let mut all = Vec::new();
        for e in names {
            let Some(name) = name_of(e) else { continue };
            let frame = self.frames.last();
            let local = frame.and_then(|f| f.scopes.iter().rev().find_map(|s| s.get(name)));
            let Some(object) = local.cloned() else {
                continue;
            };
            let is_copy = matches!(e.kind, ExprKind::Unary(Unary::Plus, _));
            let capture = if object.in_registers() {
                let mut values = Vec::new();
                for cells in &object.cells {
                    let Cells::Locals(locals) = cells else {
                        continue;
                    };
                    for local in locals.clone() {
                        let value = self.read(local);
                        values.push(self.passed(name, values.len(), value, span));
                    }
                }
                Capture::Value(object, values)
            } else if is_copy {
                if !object.ty.is_scalar() {
                    let help = "say that it is shared";
                    return unsupported(span, "a copy of this variable in a task", help);
                }
                let value = self.load(&Self::whole(&object), span)?;
                let value = self.passed(name, 0, value.e, span);
                Capture::Value(object, vec![value])
            } else {
                Capture::Shared(object)
            };
            all.push((name.to_owned(), capture));
        }
        Ok(all)
    }

    /// A value, or the variable that it is passed in.
    fn passed(
        &mut self,
        name: &str,
        cell: usize,
        value: LocalExpr,
        span: Span,
    ) -> Result<i64, GlobalId> {
        if let Ir::Const(c) = value {
            return Ok(c);
        }
        let part = self.cx.plans.len();
        let word = self.omp_word(&format!("thread{part}.{name}.{cell}"), span);
        self.put_word(word, value, span);
        Err(word)
    }

    /// Brings the captured variables to a thread.
    fn bring(&mut self, part: &Part, span: Span) -> Lower<HashMap<String, Rc<Object>>> {
        let mut scope = HashMap::new();
        for (name, capture) in part.captured.iter() {
            let object = match capture {
                Capture::Shared(object) => object.clone(),
                Capture::Value(from, values) => {
                    let object = self.registers(name, &from.ty, span)?;
                    let locals = object.cells.iter().flat_map(|cells| match cells {
                        Cells::Locals(locals) => locals.clone(),
                        Cells::Shared(_) => Vec::new(),
                    });
                    for (local, value) in locals.collect::<Vec<_>>().into_iter().zip(values) {
                        match value {
                            Ok(constant) => self.assign(local, Ir::Const(*constant), span),
                            Err(word) => {
                                let src = Memory::scalar(*word);
                                self.emit(Step::Load { dst: local, src }, span);
                            }
                        }
                    }
                    object
                }
            };
            scope.insert(name.clone(), object);
        }
        Ok(scope)
    }

    /// What a thread that OpenMP makes knows when it starts.
    pub(super) fn join_team(&mut self, part: &Part, span: Span) -> Lower<()> {
        self.team = Some(part.team);
        if !part.ancestors.is_empty() {
            self.take_place(part.team, &part.ancestors, span)?;
        }
        self.captured = self.bring(part, span)?;
        Ok(())
    }

    /// Starts a thread of a team.
    fn start_part(&mut self, function: &'a Function, part: Part, span: Span) -> Lower<Plan<'a>> {
        let plan = self.cx.plan_part(function, part, span);
        self.atomically(AtomicKind::Block, span, |code| {
            code.put_word(plan.started, Ir::Const(1), span);
            Ok(())
        })?;
        Ok(plan)
    }

    fn parallel(
        &mut self,
        function: &Expr,
        threads: &Expr,
        captured: &[Expr],
        span: Span,
    ) -> Lower<()> {
        let function = self.function_named(function, span)?;
        let size = self.value(threads)?.as_constant();
        let Some(size) = size.filter(|n| (1..=MAX_THREADS).contains(n)) else {
            let help = "give a constant, 8 at most";
            return unsupported(span, "a team of unknown size", help);
        };
        if self.team.is_some() {
            return unsupported(span, "a parallel region in another", "use one of them");
        }
        self.is_once("a parallel region", span)?;
        let region = self.cx.openmp.regions;
        self.cx.openmp.regions += 1;
        let size = size as u32;
        let team = |number| Team {
            region,
            number: Some(number),
            size,
        };
        let captured = Rc::new(self.captured(captured, span)?);
        let mut plans = Vec::new();
        for number in 1..size {
            let part = Part {
                team: team(number),
                captured: captured.clone(),
                ancestors: Vec::new(),
            };
            plans.push(self.start_part(function, part, span)?);
        }
        // The first thread uses its own variables.
        self.team = Some(team(0));
        let frame = self.frames.last();
        let scopes = frame.map_or_else(Vec::new, |f| f.scopes.clone());
        self.captured = scopes.into_iter().flatten().collect();
        self.inline_values(function, Vec::new(), span)?;
        self.lend("idle", span)?;
        for plan in &plans {
            self.atomically(AtomicKind::Block, span, |code| {
                let ended = code.get_word(plan.ended, span);
                code.emit(Step::Assume(is(&ended, 1)), span);
                Ok(())
            })?;
        }
        self.await_tasks(&|_| true, span)?;
        self.team = None;
        Ok(())
    }

    fn task(&mut self, function: &Expr, captured: &[Expr], span: Span) -> Lower<()> {
        let function = self.function_named(function, span)?;
        let Some(team) = self.team.filter(|team| team.size > 1) else {
            let help = "put it into a parallel region of two threads or more";
            return unsupported(span, "a task of a single thread", help);
        };
        self.is_once("a task", span)?;
        let team = Team {
            number: None,
            ..team
        };
        let captured = Rc::new(self.captured(captured, span)?);
        let mut ancestors = vec![self.thread];
        ancestors.extend(self.task.iter().flat_map(|task| &task.ancestors));
        let part = Part {
            team,
            captured,
            ancestors,
        };
        self.start_part(function, part, span)?;
        self.lends("turn", span, |_| Ok(()))
    }

    /// Waits for the tasks of the region that somebody, whom `is_meant` says, has made.
    fn await_tasks(&mut self, is_meant: &dyn Fn(usize) -> bool, span: Span) -> Lower<()> {
        let is_meant = |plan: &&Plan<'a>| {
            let ancestors = plan.part.iter().flat_map(|part| &part.ancestors);
            self.is_task(plan) && ancestors.copied().next().is_some_and(is_meant)
        };
        let plans = self.cx.known_plans();
        let tasks = plans.iter().filter(is_meant);
        let tasks: Vec<_> = tasks.map(|plan| (plan.started, plan.ended)).collect();
        if tasks.is_empty() {
            return Ok(());
        }
        self.atomically(AtomicKind::Block, span, |code| {
            for (started, ended) in tasks {
                let (started, ended) = (code.get_word(started, span), code.get_word(ended, span));
                code.emit(Step::Assume(is(&started, 0).or(is(&ended, 1))), span);
            }
            Ok(())
        })
    }

    /// All threads of the team arrive, and all tasks are done.
    fn team_barrier(&mut self, span: Span) -> Lower<()> {
        let Some(team) = self.team else {
            return Ok(());
        };
        if team.number.is_none() {
            return unsupported(span, "a barrier in a task", "put it outside");
        }
        let arrived = self.region_word("arrived", span);
        let sense = self.region_word("sense", span);
        self.lends("idle", span, |code| {
            code.barrier_of((arrived, sense), team.size, span)?;
            code.await_tasks(&|_| true, span)
        })
    }

    /// The number of a construct, and how often this thread has met it.
    fn met(&mut self, construct: &Expr) -> Lower<String> {
        let number = self.value(construct)?.as_constant().unwrap_or(0);
        let count = self.met.entry(number).or_insert(0);
        *count += 1;
        Ok(format!("construct{number}.{count}"))
    }

    fn claim_work(&mut self, construct: &Expr, span: Span) -> Lower<Val> {
        if self.team.is_none() {
            return Ok(number(1));
        }
        self.is_once("a worksharing construct", span)?;
        let met = self.met(construct)?;
        let word = self.region_word(&format!("{met}.claimed"), span);
        let is_first = self.hidden(span);
        self.atomically(AtomicKind::Block, span, |code| {
            let claimed = code.get_word(word, span);
            let value = LocalExpr::binary(BinOp::Sub, Ir::Const(1), claimed);
            code.assign(is_first, value, span);
            code.put_word(word, Ir::Const(1), span);
            Ok(())
        })?;
        Ok(self.held(self.read(is_first), &Type::INT))
    }

    /// Whether this thread does an iteration.
    fn owns(&mut self, numbers: [&Expr; 5], span: Span) -> Lower<Val> {
        let Some(team) = self.team else {
            return Ok(number(1));
        };
        let Some(me) = team.number else {
            return unsupported(span, "a worksharing construct in a task", "put it outside");
        };
        self.is_once(
            "a loop construct whose number of iterations is not known,",
            span,
        )?;
        let mut constants = Vec::new();
        for e in numbers {
            constants.push(self.value(e)?.as_constant());
        }
        let [
            Some(construct),
            Some(iteration),
            Some(schedule),
            Some(chunk),
            Some(total),
        ] = constants.as_slice()
        else {
            let help = "give it constant bounds";
            return unsupported(span, "a loop construct of unknown length", help);
        };
        if *total > MAX_ITERATIONS || *chunk < 1 {
            let help = "64 iterations at most are followed";
            return unsupported(span, "a loop construct this long", help);
        }
        if *iteration == 0 {
            self.met(numbers[0])?;
        }
        let size = i128::from(team.size);
        let by_rule = |owner: i128| Ok(number(i64::from(owner == i128::from(me))));
        let (piece, is_choice) = match Schedule::of_number(*schedule) {
            Some(Schedule::StaticChunks) => return by_rule(iteration / chunk % size),
            Some(Schedule::Static) => {
                // As compilers do it: the first threads have one more.
                let (each, more) = (total / size, total % size);
                let long = more * (each + 1);
                return by_rule(if *iteration < long {
                    iteration / (each + 1)
                } else {
                    more + (iteration - long) / each.max(1)
                });
            }
            Some(Schedule::Dynamic) => (iteration / chunk, false),
            Some(Schedule::Any) | None => (*iteration, true),
        };
        let count = self.met.get(construct).copied().unwrap_or(0);
        let round = format!("construct{construct}.{count}");
        // Who comes first decides, for himself or for somebody.
        let word = self.region_word(&format!("{round}.owner{piece}"), span);
        let owner = self.hidden(span);
        let own = i64::from(me) + 1;
        if is_choice {
            let domain = Some(Domain {
                lo: 1,
                hi: i64::from(team.size),
            });
            self.emit(Step::Havoc { dst: owner, domain }, span);
        } else {
            self.emit(
                Step::Assign {
                    dst: owner,
                    value: Ir::Const(own),
                },
                span,
            );
        }
        let chosen = self.read(owner);
        let result = self.hidden(span);
        self.atomically(AtomicKind::Block, span, |code| {
            let decided = code.get_word(word, span);
            let is_open = is(&decided, 0);
            let value = Ir::Cond(Box::new(is_open), Box::new(chosen), Box::new(decided));
            code.emit(
                Step::Assign {
                    dst: result,
                    value: value.clone(),
                },
                span,
            );
            code.put_word(word, value, span);
            Ok(())
        })?;
        let e = is(&self.read(result), own);
        let value = Ir::Cond(Box::new(e), Box::new(Ir::Const(1)), Box::new(Ir::Const(0)));
        Ok(self.held(value, &Type::INT))
    }

    fn iteration_order(
        &mut self,
        waits: bool,
        construct: &Expr,
        iteration: &Expr,
        span: Span,
    ) -> Lower<()> {
        if self.team.is_none() {
            return Ok(());
        }
        let construct = self.value(construct)?.as_constant().unwrap_or(0);
        let count = self.met.get(&construct).copied().unwrap_or(0);
        let Some(iteration) = self.value(iteration)?.as_constant() else {
            let help = "give the loop constant bounds";
            return unsupported(span, "`ordered` in a loop of unknown length", help);
        };
        let word = |code: &mut Self, k: i128| {
            let what = format!("construct{construct}.{count}.iterated{k}");
            code.region_word(&what, span)
        };
        self.atomically(AtomicKind::Block, span, |code| {
            if !waits {
                let own = word(code, iteration);
                code.put_word(own, Ir::Const(1), span);
                return Ok(());
            }
            for k in 0..iteration {
                let before = word(code, k);
                let done = code.get_word(before, span);
                code.emit(Step::Assume(is(&done, 1)), span);
            }
            Ok(())
        })
    }

    fn critical(&mut self, enters: bool, word: GlobalId, span: Span) -> Lower<()> {
        self.atomically(AtomicKind::Block, span, |code| {
            if enters {
                let taken = code.get_word(word, span);
                code.emit(Step::Assume(is(&taken, 0)), span);
            }
            code.put_word(word, Ir::Const(i64::from(enters)), span);
            Ok(())
        })
    }
}
