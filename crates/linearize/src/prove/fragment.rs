//! The *fragment*: which heap programs the model can express, and its view of them:
//! a name for every variable and location, and which locals matter where.
//!
//! One struct with one pointer field to itself and at most one data field; shared
//! variables are pointers and locks; locals are pointers and data (numbers and truth values are
//! gone, see [`super::plain`](mod@super::plain)); the specification is a stack, a queue or nothing. Anything else is [`Unsupported`], with its place.

use std::collections::BTreeSet;

use palisade_program::heap::{
    Body, Edge, Local, Operation, Place, Program, Role, Shared, Specification, Step, Term, Type,
};
use palisade_program::{FieldId, LocId, LocalId, SharedId, Span, StructId};

use super::supported::{
    Unsupported, commits, free_choice, link, pointers_only, refuse, sequence, touches,
};
use super::{Interleaving, touched};

/// The sequence that the specification keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sequence {
    /// Last in, first out.
    Stack,
    /// First in, first out.
    Queue,
    /// None.
    Nothing,
}

/// What a call does to the sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Adds its argument.
    Insert,
    /// Takes a value.
    Take,
    /// Nothing that is specified.
    Other,
}

/// A local variable of a method.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its predicate.
    pub name: String,
    /// The method.
    pub method: usize,
    /// Which local.
    pub local: LocalId,
    /// Whether it holds data; else a pointer.
    pub data: bool,
}

/// Where a thread can stand.
#[derive(Clone, Debug)]
pub struct Location {
    /// Its name; `idle` is between calls.
    pub name: String,
    /// The method.
    pub method: usize,
    /// The location in its body; for one between a step and its commits, where they lead.
    pub at: LocId,
    /// Between a step (edge) and its commit with this number, if that is conditional.
    pub commit: Option<(usize, usize)>,
    /// Only the thread that is here may go on.
    pub busy: bool,
    /// Variables (indices) that matter here.
    pub live: BTreeSet<usize>,
}

/// A method.
#[derive(Clone, Debug)]
pub struct Method<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its code.
    pub body: &'a Body,
    /// What it does to the sequence.
    pub effect: Effect,
    /// The variable (index) whose node holds the argument, for [`Effect::Insert`].
    pub mine: Option<usize>,
    /// Whether it returns data.
    pub returns: bool,
}

/// A program, as the model sees it.
pub struct Fragment<'a> {
    /// The program.
    pub program: &'a Program,
    /// Its methods.
    pub methods: Vec<Method<'a>>,
    /// All locals of all methods.
    pub variables: Vec<Variable>,
    /// All locations but `idle` and the exits.
    pub locations: Vec<Location>,
    /// Shared pointers, with their predicates.
    pub pointers: Vec<(SharedId, String)>,
    /// Shared locks, with their predicates.
    pub locks: Vec<(SharedId, String)>,
    /// The pointer field and its predicate.
    pub link: (FieldId, String),
    /// What the specification keeps.
    pub sequence: Sequence,
    /// The pointer (index) to the node that stands before the first value of a queue: one that `init` writes.
    pub before: Option<usize>,
}

/// Whether `init` writes the shared variable.
fn started(program: &Program, id: SharedId) -> bool {
    let edges = program.init.iter().flat_map(|init| &init.edges);
    let places = edges
        .filter(|e| e.step.writes())
        .filter_map(|e| e.step.place());
    places.into_iter().any(|place| place == Place::Shared(id))
}

/// A queue whose `init` makes no node gets one that nothing leads to and nobody reads: values of the
/// specification's queue stand behind it.
pub(super) fn with_first_node(program: &Program) -> Program {
    let mut program = program.clone();
    let ids = (0..program.shared.len()).map(SharedId::from);
    let has_one = ids.into_iter().any(|id| {
        let pointer = matches!(program.shared[id.index()].ty, Type::Pointer(_));
        pointer && started(&program, id)
    });
    if program.specification != Specification::Queue || has_one || program.structs.len() != 1 {
        return program;
    }
    let (ty, span) = (Type::Pointer(StructId::from(0)), Span::default());
    let shared = SharedId::from(program.shared.len());
    program.shared.push(Shared {
        name: "before".to_owned(),
        ty,
        tag: None,
        init: Term::Null,
        span,
    });
    let init = program.init.get_or_insert_with(|| Body {
        locals: Vec::new(),
        locations: vec![palisade_program::heap::Location { atomic: false }; 2],
        edges: vec![Edge {
            from: LocId::from(0),
            to: LocId::from(1),
            step: Step::Return(None),
            commits: Vec::new(),
            span,
        }],
        entry: LocId::from(0),
        exit: LocId::from(1),
        softs: Vec::new(),
    });
    let local = LocalId::from(init.locals.len());
    init.locals.push(Local {
        name: "before".to_owned(),
        ty,
        role: Role::Variable,
        span,
    });
    let write = Step::Write {
        to: Place::Shared(shared),
        value: Term::Local(local),
        tag: None,
    };
    for step in [write, Step::New { to: local }] {
        init.put_first(step, span);
    }
    program
}

impl Fragment<'_> {
    /// Whether the node before the first value of a queue is known to the model only, so that the program's pointers lead
    /// to the first value itself.
    pub(super) fn has_front(&self) -> bool {
        let before = self.before.map(|p| Place::Shared(self.pointers[p].0));
        let mut edges = self.program.methods.iter().flat_map(|m| &m.body.edges);
        self.sequence == Sequence::Queue
            && before.is_some()
            && edges.all(|e| e.step.place() != before)
    }
}

impl<'a> Fragment<'a> {
    /// Looks at `program`, which is [plain](super::plain).
    pub fn of(program: &'a Program, interleaving: Interleaving) -> Result<Self, Unsupported> {
        let sequence = sequence(program)?;
        let link = link(program)?;
        let mut pointers = Vec::new();
        let mut locks = Vec::new();
        for (index, shared) in program.shared.iter().enumerate() {
            let named = (SharedId::from(index), format!("g.{}", word(&shared.name)));
            match shared.ty {
                Type::Pointer(_) if !touched(program, named.0) => continue,
                Type::Pointer(_) => pointers.push(named),
                Type::Lock => locks.push(named),
                // No step speaks of them.
                Type::Int | Type::Bool => {}
                Type::Data => return refuse("a shared variable of type data", shared.span),
            }
            if shared.init != Term::Null && matches!(shared.ty, Type::Pointer(_)) {
                return refuse(
                    "a shared pointer that starts as anything but null",
                    shared.span,
                );
            }
        }
        let before = pointers.iter().position(|(id, _)| started(program, *id));
        let mut fragment = Self {
            program,
            before,
            methods: Vec::new(),
            variables: Vec::new(),
            locations: Vec::new(),
            pointers,
            locks,
            link,
            sequence,
        };
        for method in 0..program.methods.len() {
            fragment.method(method, interleaving)?;
        }
        if let Some(init) = &program.init {
            for local in &init.locals {
                if !matches!(local.ty, Type::Pointer(_) | Type::Bool | Type::Int) {
                    return refuse("such a local in `init`", local.span);
                }
            }
            for edge in &init.edges {
                // A free choice is taken for any outcome: more runs, never fewer.
                if !free_choice(&edge.step) {
                    fragment.step(init, &edge.step, edge.span)?;
                }
                if matches!(edge.step, Step::Lock(_) | Step::Unlock(_)) {
                    return refuse("a lock in `init`", edge.span);
                }
            }
        }
        for never in &program.nevers {
            pointers_only(&never.cond, never.span)?;
        }
        Ok(fragment)
    }

    /// The shared pointer's predicate.
    pub fn pointer(&self, id: SharedId) -> &str {
        let found = self.pointers.iter().find(|(p, _)| *p == id);
        found.map_or("", |(_, name)| name)
    }

    /// The lock's predicate.
    pub fn lock(&self, id: SharedId) -> &str {
        let found = self.locks.iter().find(|(p, _)| *p == id);
        found.map_or("", |(_, name)| name)
    }

    /// The predicate of a local of `init`.
    pub fn init_variable(&self, local: LocalId) -> String {
        let locals = self.program.init.as_ref().map_or(&[][..], |b| &b.locals);
        predicate("init", &locals[local.index()].name)
    }

    /// The pointers among the locals of `init`.
    pub fn init_variables(&self) -> Vec<String> {
        let locals = self.program.init.as_ref().map_or(&[][..], |b| &b.locals);
        let pointer = |l: &LocalId| matches!(locals[l.index()].ty, Type::Pointer(_));
        let all = (0..locals.len()).map(LocalId::from).filter(pointer);
        all.map(|local| self.init_variable(local)).collect()
    }

    /// The variable of a method's local.
    pub fn variable(&self, method: usize, local: LocalId) -> Option<usize> {
        let is_it = |v: &Variable| v.method == method && v.local == local;
        self.variables.iter().position(is_it)
    }

    /// The location of a method's body; `None` is `idle`.
    pub fn location(&self, method: usize, at: LocId) -> Option<usize> {
        let is_it = |l: &Location| l.method == method && l.at == at && l.commit.is_none();
        self.locations.iter().position(is_it)
    }

    /// The location before the commit `number` of an edge.
    pub fn before_commit(&self, method: usize, edge: usize, number: usize) -> Option<usize> {
        let is_it = |l: &Location| l.method == method && l.commit == Some((edge, number));
        self.locations.iter().position(is_it)
    }

    fn method(&mut self, index: usize, interleaving: Interleaving) -> Result<(), Unsupported> {
        let program = self.program;
        let method = &program.methods[index];
        let body = &method.body;
        for (local, declared) in body.locals.iter().enumerate() {
            let data = match declared.ty {
                Type::Pointer(_) => false,
                Type::Data => true,
                // No step speaks of them.
                Type::Int | Type::Bool if local >= method.parameters => continue,
                Type::Int | Type::Bool | Type::Lock => {
                    return refuse("such a parameter", declared.span);
                }
            };
            // Parameters are known by the node that holds them.
            if local < method.parameters {
                if !data || local > 0 {
                    return refuse("such a parameter", declared.span);
                }
                continue;
            }
            self.variables.push(Variable {
                name: predicate(&method.name, &declared.name),
                method: index,
                local: LocalId::from(local),
                data,
            });
        }
        let effect = match method.operation {
            Operation::Push | Operation::Enqueue => Effect::Insert,
            Operation::Pop | Operation::Dequeue => Effect::Take,
            Operation::Unspecified => Effect::Other,
            Operation::Add | Operation::Remove | Operation::Contains | Operation::Own(_) => {
                return refuse("such an operation", method.span);
            }
        };
        for edge in &body.edges {
            // The model knows an argument by the node that it is written to, and nowhere else.
            if (0..method.parameters).any(|p| touches(&edge.step, LocalId::from(p))) {
                return refuse(
                    "an argument that is assigned, copied or returned",
                    edge.span,
                );
            }
            self.step(body, &edge.step, edge.span)?;
            for commit in &edge.commits {
                commits(commit)?;
            }
        }
        let mine = match effect {
            Effect::Insert => Some(self.mine(index)?),
            Effect::Take | Effect::Other => None,
        };
        self.methods.push(Method {
            name: &method.name,
            body,
            effect,
            mine,
            returns: method.returns.is_some(),
        });
        self.locate(index, interleaving);
        Ok(())
    }
}

/// The predicate of a local: nothing else has such a name.
fn predicate(method: &str, local: &str) -> String {
    // What begins the names of ghosts, shared variables and links.
    let prefix = match method {
        "s" | "g" | "f" => "method.",
        _ => "",
    };
    format!("{prefix}{method}.{}", word(local))
}

/// A name that the model can use: the second local of one name is `x#2`, an element of an array `a[3]`.
pub(super) fn word(name: &str) -> String {
    name.replace(['#', '['], ".").replace(']', "")
}
