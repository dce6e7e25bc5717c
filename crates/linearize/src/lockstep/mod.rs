//! *Lockstep* with the specification, for objects without lists: counters, registers, locks,
//! flags, slots. The object and its own specification become one [`Program`] over integers, in
//! which any number of threads call any methods for ever; the specification's operation runs at
//! the commit point, in the same atomic step, and notes the result that it gives; a `return`
//! asserts that the call has taken effect and that this is its result. Whoever proves the
//! assertions for every number of threads (`palisade-verify`, with a certificate) has proved
//! that the object is linearizable. What is left of the shape engine's work is little: there
//! are no lists whose shape must be found.
//!
//! # Why a proof of the assertions counts
//!
//! *Commit points.* As in [`prove`](crate::prove): each call takes effect once between its call
//! and its return, with the result that it returns, so that the order of the commit points is a
//! linearization.
//!
//! *The specification never blocks.* An atomic block that cannot get to its end does not happen,
//! and neither would the step of the object that is inside it. So wherever the operation may
//! have no way to go on there is an assertion that fails, and loops in it are refused. Where it
//! chooses, each way must do; or a way is picked for each commit point (`picks`), which only makes
//! the specification say more.
//!
//! *Data as numbers.* Arguments are negative numbers, `empty` is 0, undefined data 1: a run has
//! finitely many values, and any order of them is an order of negative numbers. The three kinds
//! are ordered as [`step`](crate::step) orders them.
//!
//! *Nodes as values.* Nodes have no pointers and locks in them, and their fields are written only
//! while one local of the call that has allocated the node is all that leads to it. So what a
//! pointer leads to never changes once there are two of it, and a pointer can carry it: it is
//! a tuple of a number (0 for null) and the fields. The number of a new node is any number. Among
//! the runs are those in which all numbers differ, and these are the runs of the object: two
//! tuples are equal exactly if the pointers are. Other runs only add to what must be proved. Where
//! they get in the way, or a run that is wrong should be one of the object, nodes are counted
//! ([`Nodes::Counted`]) and all numbers differ.
//!
//! *Locks* are 0 or 1; that a thread holds one is a local of the thread, which it keeps between
//! calls. So are the variables that the text says are kept.
//!
//! *Roles.* For each role there is one client of its own, beside any number of clients that call the
//! methods without a role. That one thread has several roles, or calls other methods too, adds no
//! history: the calls of several clients may come one after another. Nor is a thread told apart by
//! anything but what it keeps: with that, roles are refused. (A lock that one client takes and
//! another gives back is an assertion that fails.)
//!
//! | file | term |
//! |---|---|
//! | `words` | variables as tuples of integers; terms and conditions |
//! | `steps` | steps of a body as steps of the program |
//! | `commits` | commit points, the specification's operations, returns |
//! | `hints` | predicates to begin with |
//! | `start` | the states in which object and specification start |
//!
//! Memory is garbage-collected: `free` does nothing.

mod commits;
mod hints;
mod start;
mod steps;
mod words;

use std::rc::Rc;

use palisade_program::heap::{self, CommitKind, Edge, Method, Sequential, Specification};
use palisade_program::{
    Atomic, AtomicKind, Cfg, CfgBuilder, Count, Global, GlobalId, Life, LocId, LocalId, Program,
    Property, PropertyKind, Span, Step, Template,
};

use crate::code::Code;
use crate::prove::Unsupported;
use crate::prove::places::assigns;
use crate::prove::supported::refuse;
use hints::Hints;
use words::{Names, Scope};

/// Object and specification as one program.
#[derive(Clone, Debug)]
pub struct Lockstep {
    /// The program; its only template runs in any number of copies.
    pub program: Program,
    /// For each place where the specification chooses, in the order of `picks`, how many ways
    /// there are.
    pub choices: Vec<usize>,
    /// Whether it has runs that the object does not have: a node may have the number of another.
    pub has_more_runs: bool,
}

/// Which numbers new nodes get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nodes {
    /// Any: there are more runs than the object has.
    Any,
    /// One after another: the runs are those of the object.
    Counted,
}

/// The name of the template.
const CLIENT: &str = "client";

/// Translates `program`. `picks` says which way the specification takes where it chooses, for the
/// first of [`Lockstep::choices`]; for those that it does not reach all ways must do.
pub fn translate(
    program: &heap::Program,
    picks: &[usize],
    nodes: Nodes,
) -> Result<Lockstep, Unsupported> {
    let own = match &program.specification {
        Specification::Own(own) => Some(&**own),
        Specification::Nothing => None,
        Specification::Stack | Specification::Queue | Specification::Set => {
            return refuse(
                "a sequence or a set as the state of the specification",
                Span::default(),
            );
        }
    };
    if program.has_infinity() {
        return refuse("an infinite value", Span::default());
    }
    if let ([_, ..], [kept, ..]) = (&program.roles[..], &program.kept[..]) {
        let what = "a role beside a variable that threads keep between calls";
        return refuse(what, kept.span);
    }
    words::check_structs(program)?;
    let mut translation = Translation::new(program, own, picks, nodes)?;
    let mut graphs = Vec::new();
    for role in clients(program) {
        let mut graph = CfgBuilder::new();
        let idle = graph.loc();
        // A client never ends.
        let exit = graph.loc();
        for (index, method) in program.methods.iter().enumerate() {
            if method.role == role {
                translation.method(index, idle, &mut graph)?;
            }
        }
        graphs.push((role, graph.finish(idle, exit).0));
    }
    let hints = translation.hints.finish(graphs.len());
    let locals = translation.names.locals;
    let template = |(role, cfg): (Option<usize>, Cfg)| Template {
        name: match role {
            None => CLIENT.to_owned(),
            Some(role) => format!("{CLIENT}.{}", program.roles[role]),
        },
        count: match role {
            None => Count::Any,
            Some(_) => Count::Once,
        },
        is_process: false,
        locals: locals.clone(),
        cfg,
        labels: Vec::new(),
        life: Life::default(),
        span: Span::default(),
    };
    let never = |never: &heap::Never| Property {
        kind: PropertyKind::Never,
        threads: Vec::new(),
        cond: words::property(&never.cond, program, &translation.object_words),
        span: never.span,
    };
    let program = Program {
        source: program.source.clone(),
        hints,
        globals: translation.globals,
        templates: graphs.into_iter().map(template).collect(),
        properties: program.nevers.iter().map(never).collect(),
        ..Program::default()
    };
    Ok(Lockstep {
        program,
        choices: translation.choices,
        has_more_runs: translation.allocates && nodes == Nodes::Any,
    })
}

/// Which clients there are: one for each role, and any number that have none, if there are methods for them.
fn clients(program: &heap::Program) -> Vec<Option<usize>> {
    let mut all: Vec<Option<usize>> = program.methods.iter().map(|m| m.role).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// A translation under way.
struct Translation<'a> {
    program: &'a heap::Program,
    own: Option<&'a Sequential>,
    picks: &'a [usize],
    choices: Vec<usize>,
    globals: Vec<Global>,
    /// The first word of each shared variable of the object.
    object_words: Vec<usize>,
    /// The number of the next node, if nodes are counted.
    next: Option<GlobalId>,
    /// Whether there are new nodes.
    allocates: bool,
    names: Names,
    /// For each shared lock, the local that says whether the thread holds it.
    held: Vec<Option<LocalId>>,
    /// One for each operation of the specification.
    operations: Vec<Rc<Scope<'a>>>,
    ghosts: Ghosts,
    /// Whether a method has a `commit later`.
    notes: bool,
    hints: Hints,
}

/// What a call knows of the specification.
#[derive(Clone, Copy)]
struct Ghosts {
    /// Whether it has taken effect.
    done: LocalId,
    /// The result that the specification gave.
    expected: LocalId,
    /// Whether a result is noted (`commit later`),
    noted: LocalId,
    /// and which.
    noted_result: LocalId,
}

impl<'a> Translation<'a> {
    fn new(
        program: &'a heap::Program,
        own: Option<&'a Sequential>,
        picks: &'a [usize],
        nodes: Nodes,
    ) -> Result<Self, Unsupported> {
        let (object, specification) = start::start(program)?;
        let mut globals = Vec::new();
        let object_words = words::declare(program, &program.shared, "", &object, &mut globals)?;
        let object_count = globals.len();
        let spec_words = match (own, &specification) {
            (Some(own), Some(start)) => {
                words::declare(program, &own.shared, "spec.", start, &mut globals)?
            }
            _ => Vec::new(),
        };
        let declared = globals.len();
        let next = (nodes == Nodes::Counted).then(|| {
            let known = [Some(&object), specification.as_ref()];
            words::count_nodes(&known, &mut globals)
        });
        let mut names = Names::default();
        names.keep(program);
        let ghosts = Ghosts {
            done: names.flag("$done"),
            expected: names.number("$expected"),
            noted: names.flag("$noted"),
            noted_result: names.number("$noted.result"),
        };
        let held = program.shared.iter().map(|shared| {
            let lock = shared.ty == heap::Type::Lock;
            lock.then(|| names.flag(&format!("$holds.{}", shared.name)))
        });
        let held = held.collect();
        let mut operations = Vec::new();
        for operation in own.iter().flat_map(|own| &own.operations) {
            let shared = own.map_or(&[][..], |own| &own.shared[..]);
            let scope = Scope::new(
                program,
                &operation.body,
                "spec.",
                (shared, &spec_words),
                &mut names,
            );
            commits::check_operation(&scope)?;
            operations.push(Rc::new(scope));
        }
        let mut hints = Hints::default();
        hints.alike(&globals[..declared], object_count);
        for operation in &operations {
            hints.of_body(operation, &globals);
        }
        Ok(Self {
            program,
            own,
            picks,
            choices: Vec::new(),
            globals,
            object_words,
            next,
            allocates: false,
            names,
            held,
            operations,
            ghosts,
            notes: has_notes(program),
            hints,
        })
    }

    /// A method: calls begin and end at `idle`.
    fn method(
        &mut self,
        index: usize,
        idle: LocId,
        graph: &mut CfgBuilder,
    ) -> Result<(), Unsupported> {
        let program = self.program;
        let method = &program.methods[index];
        let shared = (&program.shared[..], &self.object_words.clone()[..]);
        let scope = Scope::new(program, &method.body, "", shared, &mut self.names);
        self.hints.of_body(&scope, &self.globals);
        let arguments = self.arguments(method, &scope);
        let call = Call {
            method,
            scope,
            arguments,
        };
        let body = &method.body;
        let places: Vec<LocId> = (0..body.locations.len())
            .map(|at| {
                if at == body.exit.index() {
                    idle
                } else {
                    graph.loc()
                }
            })
            .collect();
        let begin = self.begin(&call);
        steps::chain(graph, idle, begin, places[body.entry.index()], method.span);
        for (number, edge) in body.edges.iter().enumerate() {
            let from = places[edge.from.index()];
            if body.locations[edge.from.index()].atomic {
                continue;
            }
            for end in ends(body, edge) {
                let mut inner = CfgBuilder::new();
                let (entry, exit) = (inner.loc(), inner.loc());
                self.block(&call, number, (entry, end, exit), &mut inner)?;
                let (inner, _) = inner.finish(entry, exit);
                append(graph, from, inner, places[end.index()], edge.span);
            }
        }
        Ok(())
    }

    /// The parameters as they were at the call.
    fn arguments(&mut self, method: &Method, scope: &Scope<'_>) -> Vec<LocalId> {
        let parameters = (0..method.parameters).map(LocalId::from);
        let written = |id: LocalId| method.body.edges.iter().any(|e| assigns(&e.step, id));
        parameters
            .map(|id| {
                if written(id) {
                    let name = &method.body.locals[id.index()].name;
                    self.names
                        .number(&format!("{}.{name} as given", method.name))
                } else {
                    scope.words[id.index()]
                }
            })
            .collect()
    }

    /// What happens when a call begins.
    fn begin(&self, call: &Call<'_>) -> Vec<Step> {
        let mut steps = Vec::new();
        for (index, argument) in call.arguments.iter().enumerate() {
            let word = call.scope.words[index];
            steps.push(words::any(call.method.body.locals[index].ty, word));
            if let heap::Type::Data = call.method.body.locals[index].ty {
                steps.push(Step::Assume(words::is_argument(word)));
            }
            if *argument != word {
                steps.push(words::set(*argument, words::local(word)));
            }
        }
        let live = Code::new(&call.method.body).live()[call.method.body.entry.index()].clone();
        for (index, declared) in call.method.body.locals.iter().enumerate() {
            let kept = matches!(declared.role, heap::Role::Kept(_));
            if live[index] && index >= call.method.parameters && !kept {
                let id = LocalId::from(index);
                let start = call.scope.defaults(declared.ty);
                steps.extend(call.scope.assign(id, &start));
            }
        }
        if self.own.is_some() {
            steps.push(words::set(self.ghosts.done, words::FALSE));
        }
        steps.extend(self.forget_note());
        steps
    }

    /// An edge from outside atomic blocks, and if it enters one, the block up to `end`.
    fn block(
        &mut self,
        call: &Call<'_>,
        first: usize,
        (entry, end, exit): (LocId, LocId, LocId),
        inner: &mut CfgBuilder,
    ) -> Result<(), Unsupported> {
        let body = &call.method.body;
        let mut places = vec![None; body.locations.len()];
        places[end.index()] = Some(exit);
        let mut open = vec![(first, entry)];
        while let Some((number, from)) = open.pop() {
            let edge = &body.edges[number];
            let inside = body.locations[edge.to.index()].atomic;
            if !inside && edge.to != end {
                continue;
            }
            let known = places[edge.to.index()];
            let to = known.unwrap_or_else(|| inner.loc());
            places[edge.to.index()] = Some(to);
            self.edge(call, edge, (from, to), inner)?;
            if inside && known.is_none() {
                open.extend(body.leaving(edge.to).map(|(number, _)| (number, to)));
            }
        }
        Ok(())
    }

    /// One edge of a method: its step, its commit points, and if it returns, what must hold then.
    fn edge(
        &mut self,
        call: &Call<'_>,
        edge: &Edge,
        (from, to): (LocId, LocId),
        inner: &mut CfgBuilder,
    ) -> Result<(), Unsupported> {
        let mut steps = self.steps(&call.scope, edge)?;
        let mut at = from;
        let specified = self.own.is_some();
        for commit in edge.commits.iter().filter(|_| specified) {
            if !steps.is_empty() {
                let after = inner.loc();
                steps::chain(inner, at, std::mem::take(&mut steps), after, edge.span);
                at = after;
            }
            let after = inner.loc();
            self.commit(call, commit, (at, after), inner)?;
            at = after;
        }
        steps.extend(self.returns(call, &edge.step));
        steps::chain(inner, at, steps, to, edge.span);
        Ok(())
    }
}

/// A method that is translated.
struct Call<'a> {
    method: &'a Method,
    scope: Scope<'a>,
    /// What it was called with.
    arguments: Vec<LocalId>,
}

fn has_notes(program: &heap::Program) -> bool {
    let edges = program.methods.iter().flat_map(|method| &method.body.edges);
    let mut commits = edges.flat_map(|edge| &edge.commits);
    commits.any(|commit| commit.kind == CommitKind::Later)
}

/// Where an edge leads: if into an atomic block, the places at which that can end.
fn ends(body: &heap::Body, edge: &Edge) -> Vec<LocId> {
    let atomic = |at: LocId| body.locations[at.index()].atomic;
    let mut seen = vec![false; body.locations.len()];
    let mut open = vec![edge.to];
    let mut all = Vec::new();
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut seen[at.index()], true) {
            continue;
        }
        if atomic(at) {
            open.extend(body.leaving(at).map(|(_, edge)| edge.to));
        } else {
            all.push(at);
        }
    }
    all.sort_unstable();
    all
}

/// Appends a block as one step; as it is if nobody else notices its steps.
fn append(graph: &mut CfgBuilder, from: LocId, inner: Cfg, to: LocId, span: Span) {
    if let [only] = &inner.edges[..] {
        graph.edge(from, only.step.clone(), to, span);
        return;
    }
    if !inner.edges.iter().all(|edge| edge.step.is_local()) {
        let block = Atomic {
            kind: AtomicKind::Block,
            body: inner,
        };
        graph.edge(from, Step::Atomic(Box::new(block)), to, span);
        return;
    }
    let places: Vec<LocId> = inner
        .locs()
        .map(|at| {
            if at == inner.entry {
                from
            } else if at == inner.exit {
                to
            } else {
                graph.loc()
            }
        })
        .collect();
    for edge in inner.edges {
        let (from, to) = (places[edge.from.index()], places[edge.to.index()]);
        graph.edge(from, edge.step, to, edge.span);
    }
}
