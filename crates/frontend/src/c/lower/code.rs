//! *Code*: one thread under construction. Functions are inlined, each call with
//! locals of its own. Locals that are known to be constant at a place (`known`) are
//! read as that constant: loops that start threads can then be unrolled, and most
//! pointers say which object they point to.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use palisade_program::{
    AtomicKind, Domain, GlobalId, Init, LocId, Local, LocalAtom, LocalExpr, LocalId, Order, Origin,
    Role, Span, Step,
};

use super::Context;
use super::graph::{Graph, Op};
use super::layout::{Cells, Object, WILD};
use crate::c::real::Format;
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;

/// Result of lowering a part; the error ends the whole.
pub(super) type Lower<T> = Result<T, Diagnostic>;

/// Steps of one thread at most: inlining can explode.
const MAX_STEPS: usize = 200_000;
/// Functions in functions at most.
pub(super) const MAX_CALLS: usize = 100;

/// Values of locals that are constant here.
pub(super) type Known = BTreeMap<LocalId, i64>;

/// A place that jumps lead to, with what is known on all of them.
pub(super) struct Target {
    pub(super) loc: LocId,
    pub(super) known: Option<Known>,
}

/// What there is before a switch.
#[derive(Clone)]
pub(super) struct Before {
    pub(super) known: Known,
    /// How many loops are around it,
    pub(super) loops: usize,
    /// and how many scopes.
    pub(super) scopes: usize,
}

/// A `switch` under construction: where each case starts.
pub(super) struct Switch {
    pub(super) cases: Vec<((i128, i128), LocId)>,
    pub(super) default: Option<LocId>,
    before: Before,
    next: usize,
}

impl Switch {
    pub(super) fn new(
        cases: Vec<((i128, i128), LocId)>,
        default: Option<LocId>,
        before: Before,
    ) -> Self {
        Self {
            cases,
            default,
            before,
            next: 0,
        }
    }

    /// What there is before the switch.
    pub(super) fn before(&self) -> Before {
        self.before.clone()
    }

    /// The place of the next case label, in the order of the text.
    pub(super) fn next_case(&mut self) -> Option<LocId> {
        let loc = self.cases.get(self.next).map(|(_, loc)| *loc);
        self.next += 1;
        loc
    }
}

/// What scalars are read for, where reads of what nothing was written to are violations.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Not because the program says so: any value will do.
    Inside,
    /// Their values.
    Value,
    /// To be copied as parts of something larger: whether something was written goes along.
    Copy,
}

/// An inlined call.
pub(super) struct Frame {
    pub(super) function: String,
    pub(super) scopes: Vec<HashMap<String, Rc<Object>>>,
    pub(super) addresses: Rc<super::walk::Addresses>,
    /// Variables in memory that live until the function returns.
    pub(super) published: Vec<GlobalId>,
    pub(super) result: Option<Rc<Object>>,
    pub(super) exit: Target,
    /// Labels, with where each was first mentioned.
    pub(super) labels: HashMap<String, (LocId, Span)>,
    pub(super) jumps: HashMap<String, super::jumps::Jumps>,
    pub(super) defined: std::collections::HashSet<String>,
    /// Labels that a jump leads back to.
    pub(super) loop_labels: std::collections::HashSet<String>,
    /// The caller's [`Code::loop_depth`].
    pub(super) loop_depth: usize,
    pub(super) breaks: Vec<Target>,
    pub(super) continues: Vec<Target>,
    pub(super) switches: Vec<Switch>,
}

/// One thread under construction.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says something else about the place at hand"
)]
pub(super) struct Code<'c, 'a> {
    pub(super) cx: &'c mut Context<'a>,
    pub(super) graph: Graph,
    pub(super) here: LocId,
    /// Whether control can get here.
    pub(super) live: bool,
    /// Whether this is code that a constant of the text switches off.
    pub(super) is_chosen: bool,
    pub(super) locals: Vec<Local>,
    names: HashMap<String, u32>,
    temporaries: Vec<LocalId>,
    temporaries_used: usize,
    pub(super) known: Known,
    pub(super) frames: Vec<Frame>,
    /// Handlers of `pthread_cleanup_push`, the last one last.
    pub(super) cleanups: Vec<super::cleanup::Handler<'a>>,
    /// Loops around this place that were not unrolled, and labels before it that a
    /// jump leads back to.
    pub(super) loop_depth: usize,
    /// Whether the value that is loaded is printed, and nothing depends on it.
    pub(super) is_printed: bool,
    /// What the next scalars are read for.
    pub(super) reading: Reading,
    /// Whether the loop around this place may issue remote operations again before they are complete.
    pub(super) overlaps: bool,
    /// The thread's number among the plans; 0 is `main`.
    pub(super) thread: usize,
    /// Whether any number of copies of this thread run.
    pub(super) is_any: bool,
    pub(super) thread_locals: HashMap<String, Rc<Object>>,
    /// Locals that functions assign behind their callers' backs: never known.
    pub(super) untracked: std::collections::HashSet<LocalId>,
    /// Where the thread ends, and the local with its result.
    pub(super) thread_exit: Target,
    /// The registers that say which locks this thread holds.
    pub(super) held_locks: BTreeMap<(GlobalId, u32), LocalId>,
    /// Blocks of the library around the step at hand.
    pub(super) block_depth: usize,
    pub(super) exit_value: Option<LocalId>,
    /// A local that may receive the next value that is read from memory.
    pub(super) want: Option<LocalId>,
    /// The order of the access at hand, if it is that of an atomic operation.
    pub(super) order: Option<Order>,
    /// Whether this is within a read-modify-write, which no buffer delays.
    pub(super) is_locked: bool,
    /// The expression that is evaluated, and which of its parts are already.
    pub(super) arranged: super::order::Arranged,
    /// What functions do, and which they call.
    pub(super) functions: HashMap<String, Rc<FunctionEffects>>,
    /// MPI: whether ranks and sizes in memory are taken as the library has stored them.
    pub(super) trusts_numbers: bool,
    /// OpenMP: the team that the thread is in.
    pub(super) team: Option<super::openmp::Team>,
    /// OpenMP: the task that the thread is.
    pub(super) task: Option<super::openmp::Task>,
    /// OpenMP: the variables around the function that is called next.
    pub(super) captured: HashMap<String, Rc<Object>>,
    /// OpenMP: how often the thread has met each construct.
    pub(super) met: BTreeMap<i128, usize>,
}

/// What a function does itself, and the functions that it calls.
pub(super) type FunctionEffects = (super::effects::Effects, std::collections::HashSet<String>);

impl<'c, 'a> Code<'c, 'a> {
    pub(super) fn new(cx: &'c mut Context<'a>, thread: usize, is_any: bool) -> Self {
        let mut graph = Graph::default();
        let here = graph.loc();
        let thread_exit = Target {
            loc: graph.loc(),
            known: None,
        };
        Self {
            cx,
            graph,
            here,
            live: true,
            is_chosen: false,
            locals: Vec::new(),
            names: HashMap::new(),
            temporaries: Vec::new(),
            temporaries_used: 0,
            known: Known::new(),
            frames: Vec::new(),
            cleanups: Vec::new(),
            loop_depth: 0,
            is_printed: false,
            reading: Reading::Inside,
            overlaps: false,
            thread,
            is_any,
            thread_locals: HashMap::new(),
            untracked: std::collections::HashSet::new(),
            thread_exit,
            exit_value: None,
            block_depth: 0,
            held_locks: BTreeMap::new(),
            want: None,
            order: None,
            is_locked: false,
            arranged: super::order::Arranged::default(),
            functions: HashMap::new(),
            trusts_numbers: false,
            team: None,
            task: None,
            captured: HashMap::new(),
            met: BTreeMap::new(),
        }
    }

    /// The call at hand.
    pub(super) fn frame(&mut self) -> &mut Frame {
        self.frames
            .last_mut()
            .expect("code is lowered within a function")
    }

    /// Whether nothing more is to be made: there is too much, or no time is left.
    pub(super) fn is_over(&self) -> bool {
        self.graph.edge_count() > MAX_STEPS || self.cx.options.stop.is_raised()
    }

    pub(super) fn check_size(&self, span: Span) -> Lower<()> {
        if self.is_over() {
            return Err(
                Diagnostic::error(span, "unsupported: the thread is too large")
                    .help("functions are inlined, loops that start threads unrolled"),
            );
        }
        Ok(())
    }

    pub(super) fn emit(&mut self, step: Step, span: Span) {
        self.emit_op(Op::Step(step), span);
    }

    pub(super) fn emit_op(&mut self, op: Op, span: Span) {
        let next = self.graph.loc();
        self.graph.edge(self.here, op, next, span);
        self.here = next;
    }

    /// Runs `f` as one atomic step.
    pub(super) fn atomically<T>(
        &mut self,
        kind: AtomicKind,
        span: Span,
        f: impl FnOnce(&mut Self) -> Lower<T>,
    ) -> Lower<T> {
        self.emit_op(Op::Begin(kind), span);
        let before = std::mem::replace(&mut self.is_locked, kind != AtomicKind::Read);
        self.block_depth += 1;
        let result = f(self);
        self.block_depth -= 1;
        self.is_locked = before;
        let result = result?;
        self.emit_op(Op::End, span);
        Ok(result)
    }

    /// Goes on at `loc`.
    pub(super) fn at(&mut self, loc: LocId) {
        self.here = loc;
        self.live = true;
    }

    /// A step that does nothing, to `loc`.
    pub(super) fn go(&mut self, loc: LocId, span: Span) {
        self.graph.edge(self.here, Op::Step(Step::Skip), loc, span);
    }

    /// Nothing follows here.
    pub(super) fn stop(&mut self) {
        self.here = self.graph.loc();
        self.live = false;
    }

    /// A run that gets here goes no further.
    pub(super) fn block(&mut self, span: Span) {
        self.emit(Step::Assume(LocalExpr::FALSE), span);
        self.stop();
    }

    pub(super) fn assume(&mut self, cond: LocalExpr, to: LocId, span: Span) {
        self.graph
            .edge(self.here, Op::Step(Step::Assume(cond)), to, span);
    }

    /// `dst = value`; keeps account of what is known.
    pub(super) fn assign(&mut self, dst: LocalId, value: LocalExpr, span: Span) {
        match value {
            LocalExpr::Const(c) if !self.untracked.contains(&dst) => {
                self.known.insert(dst, c);
            }
            _ => {
                self.known.remove(&dst);
            }
        }
        self.emit(Step::Assign { dst, value }, span);
    }

    pub(super) fn havoc(&mut self, dst: LocalId, ty: &Type, span: Span) {
        self.known.remove(&dst);
        let domain = self.values_of(ty);
        self.emit(Step::Havoc { dst, domain }, span);
    }

    /// What is in a variable that nothing was written to.
    pub(super) fn uninitialised(&self, ty: &Type) -> Option<Domain> {
        if ty.is_pointer() {
            return Some(WILD);
        }
        self.values_of(ty)
    }

    /// The values of a type; `None`: all integers.
    fn values_of(&self, ty: &Type) -> Option<Domain> {
        let (lo, hi) = match self.format(ty) {
            Some(Format::Single) => Type::INT.range(),
            Some(Format::Double) | None => ty.range(),
        };
        let wide = self.cx.options.math && !matches!(ty.plain(), Type::Bool);
        (!wide).then_some(Domain {
            lo: lo as i64,
            hi: hi as i64,
        })
    }

    /// A local's value.
    pub(super) fn read(&self, local: LocalId) -> LocalExpr {
        match self.known.get(&local) {
            Some(c) => LocalExpr::Const(*c),
            None => LocalExpr::Atom(LocalAtom::Local(local)),
        }
    }

    fn push_local(&mut self, name: String, init: i64, origin: Origin, span: Span) -> LocalId {
        self.locals.push(Local {
            name,
            init: Init::Value(init),
            domain: None,
            role: Role::Data,
            origin,
            span,
        });
        LocalId::from(self.locals.len() - 1)
    }

    pub(super) fn new_local(&mut self, wish: &str, init: i64, span: Span) -> LocalId {
        let name = unique(&mut self.names, wish);
        self.push_local(name, init, Origin::User, span)
    }

    /// A local that is free again after the statement at hand.
    pub(super) fn temporary(&mut self, span: Span) -> LocalId {
        let used = self.temporaries_used;
        self.temporaries_used += 1;
        if let Some(&local) = self.temporaries.get(used) {
            self.known.remove(&local);
            return local;
        }
        let name = format!("${}", used + 1);
        let local = self.push_local(name, 0, Origin::Temporary, span);
        self.temporaries.push(local);
        local
    }

    /// How many temporaries are in use.
    pub(super) const fn temporaries(&self) -> usize {
        self.temporaries_used
    }

    /// Makes those free again that came after the first `used`.
    pub(super) const fn set_temporaries(&mut self, used: usize) {
        self.temporaries_used = used;
    }

    /// A local that nothing else uses.
    pub(super) fn hidden(&mut self, span: Span) -> LocalId {
        let name = unique(&mut self.names, "$");
        self.push_local(name, 0, Origin::Temporary, span)
    }

    /// Runs `f`; its temporaries are free again afterwards.
    pub(super) fn with_temporaries<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let used = self.temporaries_used;
        let result = f(self);
        self.temporaries_used = used;
        result
    }

    /// A variable of a function, in registers or, if its address is taken, in memory.
    pub(super) fn variable(&mut self, name: &str, ty: &Type, span: Span) -> Lower<Rc<Object>> {
        let frame = self.frame();
        let decays =
            matches!(ty.plain(), Type::Array(..)) && frame.addresses.decayed.contains(name);
        let escapes = frame.addresses.escaped.contains(name);
        let taken = frame.addresses.taken.contains(name) || decays;
        let leaves = self.cx.layouts.leaves(ty, span)?;
        let cells: u64 = leaves.iter().map(super::layout::Leaf::count).sum();
        let opaque = leaves.iter().any(|l| matches!(l.ty, Type::Opaque(_)));
        let small = cells <= 64 && !opaque;
        let published = self.is_published();
        let is_reached = published || self.cx.onesided.is_some();
        if small && taken && !is_reached && (self.is_any || !(escapes || decays)) {
            // Pointers to it stay in this thread: it can be in registers all the same.
            let object = self.registers(name, ty, span)?;
            return Ok(self.addressed(&object));
        }
        if taken || !small {
            if self.is_any {
                return Err(Diagnostic::error(
                    span,
                    format!("unsupported: `{name}` in memory, in a thread that runs in any number"),
                )
                .help("use a global, or a smaller variable"));
            }
            let function = self.frame().function.clone();
            let full = format!("{function}.{name}");
            let object = self.cx.object(&full, ty, true, true, span)?;
            return Ok(if published {
                self.until_return(object, span)
            } else {
                object
            });
        }
        self.registers(name, ty, span)
    }

    /// Registers with an address, which pointers of their own thread may hold.
    pub(super) fn addressed(&mut self, object: &Object) -> Rc<Object> {
        for cells in &object.cells {
            if let Cells::Locals(locals) = cells {
                self.untracked.extend(locals);
            }
        }
        self.cx.with_address(object.clone(), self.thread)
    }

    /// A variable in registers.
    pub(super) fn registers(&mut self, name: &str, ty: &Type, span: Span) -> Lower<Rc<Object>> {
        let leaves = self.cx.layouts.leaves(ty, span)?;
        let size = self.cx.layouts.size(ty, span)?;
        let mut cells = Vec::new();
        for leaf in &leaves {
            let full = format!("{name}{}", leaf.path);
            let locals = (0..leaf.count()).map(|k| {
                let name = if leaf.dims.is_empty() {
                    full.clone()
                } else {
                    format!("{full}[{k}]")
                };
                self.new_local(&name, 0, span)
            });
            cells.push(Cells::Locals(locals.collect()));
        }
        Ok(Rc::new(Object {
            name: name.to_owned(),
            ty: ty.clone(),
            leaves,
            cells,
            size,
            base: None,
            taken: false,
            on_stack: true,
            owner: None,
            poisoned: std::cell::Cell::new(self.cx.takes_marks(ty)),
            status: None,
            allocation: None,
            rank: self.cx.mpi.as_ref().map(|mpi| mpi.rank),
            site: span,
        }))
    }

    pub(super) fn declare(&mut self, name: &str, object: Rc<Object>) {
        let frame = self.frame();
        if let Some(scope) = frame.scopes.last_mut() {
            scope.insert(name.to_owned(), object);
        }
    }

    /// Forgets what is known of the variables with these names.
    pub(super) fn forget(&mut self, names: &std::collections::HashSet<String>) {
        let Some(frame) = self.frames.last() else {
            return;
        };
        for scope in &frame.scopes {
            for (name, object) in scope {
                if !names.contains(name) {
                    continue;
                }
                for cells in &object.cells {
                    if let Cells::Locals(locals) = cells {
                        for l in locals {
                            self.known.remove(l);
                        }
                    }
                }
            }
        }
    }

    /// Jumps to one of the targets of this frame; `pick` finds it.
    pub(super) fn jump(&mut self, span: Span, pick: impl FnOnce(&mut Self) -> Option<&mut Target>) {
        let known = self.known.clone();
        let live = self.live;
        if let Some(target) = pick(self) {
            if live {
                target.known = Some(match target.known.take() {
                    Some(other) => meet(other, &known),
                    None => known,
                });
            }
            let loc = target.loc;
            self.go(loc, span);
        }
        self.stop();
    }

    /// Goes on at a target that jumps have led to.
    pub(super) fn arrive(&mut self, target: Target) {
        self.here = target.loc;
        self.live = target.known.is_some();
        self.known = target.known.unwrap_or_default();
    }

    pub(super) fn target(&mut self) -> Target {
        Target {
            loc: self.graph.loc(),
            known: None,
        }
    }
}

/// What is known on both ways.
pub(super) fn meet(mut a: Known, b: &Known) -> Known {
    a.retain(|local, value| b.get(local) == Some(value));
    a
}

/// `wish`, with a number behind it if it is taken.
pub(super) fn unique(names: &mut HashMap<String, u32>, wish: &str) -> String {
    let count = names.entry(wish.to_owned()).or_insert(0);
    *count += 1;
    if *count == 1 && wish != "$" {
        return wish.to_owned();
    }
    let number = *count;
    let name = format!("{wish}'{number}");
    names.entry(name.clone()).or_insert(1);
    name
}
