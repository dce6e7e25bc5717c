//! The *fragment*: which heap programs the model can express, and its view of them:
//! a name for every variable and location, and which locals matter where.
//!
//! One struct with one pointer field to itself and at most one data field; shared
//! variables are pointers and locks; locals are pointers and data; the specification is
//! a stack, a queue or nothing. Anything else is [`Unsupported`], with its place.

use std::collections::BTreeSet;

use palisade_program::heap::{
    Body, Commit, CommitKind, Cond, Edge, Operation, Place, Program, Specification, Step, Term,
    Type,
};
use palisade_program::{FieldId, LocId, LocalId, SharedId, Span, StructId};

use super::Interleaving;
use crate::code::{Code, uses_of_cond};

/// What the proof side cannot express.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsupported {
    /// What.
    pub what: String,
    /// Where.
    pub span: Span,
}

fn refuse<T>(what: &str, span: Span) -> Result<T, Unsupported> {
    Err(Unsupported {
        what: what.to_owned(),
        span,
    })
}

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
}

impl<'a> Fragment<'a> {
    /// Looks at `program`.
    pub fn of(program: &'a Program, interleaving: Interleaving) -> Result<Self, Unsupported> {
        let sequence = match &program.specification {
            Specification::Stack => Sequence::Stack,
            Specification::Queue => Sequence::Queue,
            Specification::Nothing => Sequence::Nothing,
            Specification::Set => return refuse("a set as specification", Span::default()),
            Specification::Own(_) => {
                return refuse("a specification of one's own", Span::default());
            }
        };
        let link = link(program)?;
        let mut pointers = Vec::new();
        let mut locks = Vec::new();
        for (index, shared) in program.shared.iter().enumerate() {
            let named = (SharedId::from(index), format!("g.{}", shared.name));
            match (shared.ty, shared.tag) {
                (Type::Pointer(_), None) => pointers.push(named),
                (Type::Lock, _) => locks.push(named),
                (Type::Pointer(_), Some(_)) => {
                    return refuse("a mark or counter beside a pointer", shared.span);
                }
                (Type::Data | Type::Int | Type::Bool, _) => {
                    return refuse("a shared variable that is no pointer or lock", shared.span);
                }
            }
            if shared.init != Term::Null && matches!(shared.ty, Type::Pointer(_)) {
                return refuse(
                    "a shared pointer that starts as anything but null",
                    shared.span,
                );
            }
        }
        let mut fragment = Self {
            program,
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
                if !matches!(local.ty, Type::Pointer(_) | Type::Bool) {
                    return refuse("such a local in `init`", local.span);
                }
            }
            for edge in &init.edges {
                // A free choice is taken for any outcome: more runs, never fewer.
                if !free_choice(&edge.step) {
                    fragment.step(init, &edge.step, edge.span)?;
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
                Type::Int | Type::Bool | Type::Lock => {
                    return refuse("a local that is no pointer or data", declared.span);
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
                name: format!("{}.{}", method.name, declared.name),
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

    /// The variable whose node holds the argument: written into it at one place, and
    /// allocated at one place.
    fn mine(&self, index: usize) -> Result<usize, Unsupported> {
        let method = &self.program.methods[index];
        let parameter = LocalId::from(0);
        let mut holder = None;
        for edge in &method.body.edges {
            if let Step::Write {
                to: Place::Field { of, .. },
                value: Term::Local(value),
                ..
            } = &edge.step
                && *value == parameter
            {
                if holder.is_some() {
                    return refuse("an argument that is stored at two places", edge.span);
                }
                holder = Some(*of);
            }
        }
        let Some(holder) = holder else {
            return refuse("an argument that is not stored in a node", method.span);
        };
        let mut definitions = method
            .body
            .edges
            .iter()
            .filter(|e| assigns(&e.step, holder));
        let (first, second) = (definitions.next(), definitions.next());
        let fresh = first.is_some_and(|e| matches!(e.step, Step::New { .. }));
        if !fresh || second.is_some() {
            return refuse(
                "an argument stored in a node that is not its own",
                method.span,
            );
        }
        match self.variable(index, holder) {
            Some(variable) => Ok(variable),
            None => refuse("an argument that is not stored in a node", method.span),
        }
    }

    fn step(&self, body: &Body, step: &Step, span: Span) -> Result<(), Unsupported> {
        let data = |id: LocalId| body.locals[id.index()].ty == Type::Data;
        match step {
            Step::Skip
            | Step::New { .. }
            | Step::Free(_)
            | Step::Lock(Place::Shared(_))
            | Step::Unlock(Place::Shared(_)) => Ok(()),
            Step::Lock(Place::Field { .. }) | Step::Unlock(Place::Field { .. }) => {
                refuse("a lock in a node", span)
            }
            Step::Assume(cond) => {
                let mut found = false;
                cond.for_each_term(&mut |term| {
                    found |= matches!(term, Term::Local(id) if data(id))
                        || matches!(term, Term::Empty | Term::Undefined);
                });
                if found {
                    return refuse("a comparison of data", span);
                }
                pointers_only(cond, span)
            }
            Step::Assign { value, .. } => match value {
                Term::Null | Term::Local(_) => Ok(()),
                Term::Empty
                | Term::Undefined
                | Term::Bool(_)
                | Term::Int(_)
                | Term::Plus(..)
                | Term::Shared(_) => refuse("such an assignment", span),
            },
            Step::Havoc { .. } => refuse("`*`", span),
            Step::Read { tag, .. } => match tag {
                None => Ok(()),
                Some(_) => refuse("a mark or counter", span),
            },
            Step::Write { to, value, .. } => {
                let parameter = matches!(value, Term::Local(id) if data(*id) && id.index() == 0);
                let link = match to {
                    Place::Shared(_) => true,
                    Place::Field { field, .. } => *field == self.link.0,
                };
                match value {
                    Term::Null if link => Ok(()),
                    Term::Local(id) if link != data(*id) => {
                        if link || parameter {
                            Ok(())
                        } else {
                            refuse("data written that is not the argument", span)
                        }
                    }
                    _ => refuse("such a write", span),
                }
            }
            Step::Cas {
                at, expect, new, ..
            } => {
                let fine = |t: &Term| matches!(t, Term::Null | Term::Local(_));
                let link = match at {
                    Place::Shared(_) => true,
                    Place::Field { field, .. } => *field == self.link.0,
                };
                if fine(expect) && fine(new) && link {
                    Ok(())
                } else {
                    refuse("such a cas", span)
                }
            }
            Step::Return(value) => match value {
                None | Some(Term::Local(_) | Term::Empty) => Ok(()),
                Some(_) => refuse("such a result", span),
            },
        }
    }

    /// Locations of a method, with what is live there.
    fn locate(&mut self, index: usize, interleaving: Interleaving) {
        let method = &self.methods[index];
        let body = method.body;
        let code = Code::new(body);
        let mut live = code.live().to_vec();
        if let Some(mine) = method.mine {
            keep_until_commit(body, self.variables[mine].local, &mut live);
        }
        keep_predecessors(body, self.link.0, &mut live);
        let quiet = match interleaving {
            Interleaving::Full => vec![false; body.locations.len()],
            Interleaving::Restricted => quiet(body),
        };
        for at in (0..body.locations.len()).map(LocId::from) {
            if at == body.exit {
                continue;
            }
            let live = (0..self.variables.len()).filter(|&v| {
                let variable = &self.variables[v];
                variable.method == index && live[at.index()][variable.local.index()]
            });
            self.locations.push(Location {
                name: format!("{}.{}", method.name, at.index()),
                method: index,
                at,
                commit: None,
                busy: body.locations[at.index()].atomic || quiet[at.index()],
                live: live.collect(),
            });
        }
        self.locate_commits(index, &live);
    }

    /// Locations between a step and its commits, where these are conditional: conditions
    /// are about the state after the step.
    fn locate_commits(&mut self, index: usize, live: &[Vec<bool>]) {
        let method = self.methods[index].clone();
        for (e, edge) in method.body.edges.iter().enumerate() {
            if at_once(&edge.step, &edge.commits) {
                continue;
            }
            for number in 0..edge.commits.len() {
                let spoken: Vec<LocalId> = edge.commits[number..]
                    .iter()
                    .flat_map(|c| locals_of(&c.when))
                    .collect();
                let matters = |v: &usize| {
                    let variable = &self.variables[*v];
                    let here = live[edge.to.index()][variable.local.index()]
                        || spoken.contains(&variable.local)
                        || method.mine == Some(*v);
                    variable.method == index && here
                };
                let live = (0..self.variables.len()).filter(matters).collect();
                self.locations.push(Location {
                    name: format!(
                        "{}.{}.commit{}",
                        method.name,
                        edge.from.index(),
                        e * 8 + number
                    ),
                    method: index,
                    at: edge.to,
                    commit: Some((e, number)),
                    busy: true,
                    live,
                });
            }
        }
    }
}

/// Whether the commits of an edge can be done together with its step: at most one, whose
/// condition, which speaks of the state after the step, can be told before it.
pub fn at_once(step: &Step, commits: &[Commit]) -> bool {
    match commits {
        [] => true,
        [only] => told_before(step, &only.when),
        _ => false,
    }
}

fn told_before(step: &Step, cond: &Cond) -> bool {
    match cond {
        Cond::True => true,
        Cond::Eq(a, b) => match step {
            // What is read from a field can be compared with null before it is read.
            Step::Read {
                to,
                from: Place::Field { .. },
                ..
            } => {
                let read = |t: &Term| *t == Term::Local(*to);
                (!read(a) && !read(b)) || *a == Term::Null || *b == Term::Null
            }
            Step::Read {
                from: Place::Shared(_),
                ..
            }
            | Step::Skip
            | Step::Assume(_) => true,
            Step::Write { .. } | Step::Cas { .. } => {
                let local = |t: &Term| matches!(t, Term::Null | Term::Local(_));
                local(a) && local(b)
            }
            Step::Assign { .. }
            | Step::Havoc { .. }
            | Step::New { .. }
            | Step::Lock(_)
            | Step::Unlock(_)
            | Step::Free(_)
            | Step::Return(_) => false,
        },
        Cond::Not(inner) => told_before(step, inner),
        Cond::And(a, b) | Cond::Or(a, b) => told_before(step, a) && told_before(step, b),
        Cond::Holds(_) | Cond::Less(..) => false,
    }
}

/// Whether the step gives the local a value.
fn assigns(step: &Step, local: LocalId) -> bool {
    match step {
        Step::New { to } | Step::Assign { to, .. } | Step::Havoc { to } => *to == local,
        Step::Read { to, tag, .. } => *to == local || *tag == Some(local),
        Step::Skip
        | Step::Assume(_)
        | Step::Write { .. }
        | Step::Cas { .. }
        | Step::Lock(_)
        | Step::Unlock(_)
        | Step::Free(_)
        | Step::Return(_) => false,
    }
}

/// Whether the step changes the local, or hands its value on to another local or the caller.
fn touches(step: &Step, local: LocalId) -> bool {
    let handed = match step {
        Step::Assign { value, .. } => *value == Term::Local(local),
        Step::Return(value) => *value == Some(Term::Local(local)),
        Step::Skip
        | Step::Assume(_)
        | Step::Havoc { .. }
        | Step::New { .. }
        | Step::Read { .. }
        | Step::Write { .. }
        | Step::Cas { .. }
        | Step::Lock(_)
        | Step::Unlock(_)
        | Step::Free(_) => false,
    };
    handed || assigns(step, local)
}

/// `*`, or a branch that depends on it.
pub fn free_choice(step: &Step) -> bool {
    let on_choice = |cond: &Cond| match cond {
        Cond::Holds(Term::Local(_)) => true,
        Cond::Not(inner) => matches!(**inner, Cond::Holds(Term::Local(_))),
        _ => false,
    };
    match step {
        Step::Havoc { .. } => true,
        Step::Assume(cond) => on_choice(cond),
        _ => false,
    }
}

/// Locations where a thread may go on at once: its steps there are over locals, one of
/// them is possible, and they end. (A thread that stays for good, in a loop or at an
/// `assume`, must not keep the others from going on.)
fn quiet(body: &Body) -> Vec<bool> {
    let goes_on = |at: LocId| {
        let edges: Vec<&Edge> = body.leaving(at).map(|(_, edge)| edge).collect();
        let local = edges
            .iter()
            .all(|e| local_step(&e.step) && e.commits.is_empty());
        let possible = match edges[..] {
            [only] => !matches!(only.step, Step::Assume(_)),
            [a, b] => match (&a.step, &b.step) {
                (Step::Assume(c), Step::Assume(d)) => {
                    c.clone().negated() == *d || d.clone().negated() == *c
                }
                _ => false,
            },
            _ => false,
        };
        local && possible && at != body.entry
    };
    let all = (0..body.locations.len()).map(LocId::from);
    let candidates: Vec<bool> = all.map(goes_on).collect();
    let mut quiet = vec![false; candidates.len()];
    loop {
        let ends = |at: usize| {
            let mut after = body.leaving(LocId::from(at)).map(|(_, e)| e.to.index());
            candidates[at] && after.all(|to| !candidates[to] || quiet[to])
        };
        let next: Vec<bool> = (0..quiet.len()).map(ends).collect();
        if next == quiet {
            return quiet;
        }
        quiet = next;
    }
}

/// Whether no other thread notices the step, nor it them.
const fn local_step(step: &Step) -> bool {
    step.place().is_none() && !matches!(step, Step::Free(_))
}

/// The node with the argument matters as long as a commit may come.
fn keep_until_commit(body: &Body, mine: LocalId, live: &mut [Vec<bool>]) {
    loop {
        let mut changed = false;
        for edge in &body.edges {
            let committed = edge.commits.iter().any(|c| c.kind != CommitKind::Later);
            let kept = committed || live[edge.to.index()][mine.index()];
            let fresh = matches!(edge.step, Step::New { to } if to == mine);
            if kept && !fresh && !live[edge.from.index()][mine.index()] {
                live[edge.from.index()][mine.index()] = true;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

/// What was read from a node's link is known by that node: the local that points to it matters as
/// long as the one that was read does.
fn keep_predecessors(body: &Body, link: FieldId, live: &mut [Vec<bool>]) {
    let before = live.to_vec();
    for edge in &body.edges {
        let Step::Read { to, from, .. } = &edge.step else {
            continue;
        };
        let of = match from {
            Place::Field { of, field } if *field == link && of != to => *of,
            Place::Field { .. } | Place::Shared(_) => continue,
        };
        let mut reached = vec![false; live.len()];
        let mut stack = vec![edge.to];
        while let Some(at) = stack.pop() {
            if at == body.exit || reached[at.index()] || !before[at.index()][to.index()] {
                continue;
            }
            reached[at.index()] = true;
            live[at.index()][of.index()] = true;
            stack.extend(body.leaving(at).map(|(_, next)| next.to));
        }
    }
}

fn link(program: &Program) -> Result<(FieldId, String), Unsupported> {
    let [only] = program.structs.as_slice() else {
        return refuse("more or less than one struct", Span::default());
    };
    let mut link = None;
    let mut values = 0;
    for (index, field) in only.fields.iter().enumerate() {
        match field.ty {
            Type::Pointer(to)
                if to == StructId::from(0) && field.tag.is_none() && link.is_none() =>
            {
                link = Some((FieldId::from(index), format!("f.{}", field.name)));
            }
            Type::Data if values == 0 => values = 1,
            _ => return refuse("such a field", field.span),
        }
    }
    match link {
        Some(link) => Ok(link),
        None => refuse("a struct without a pointer field", only.span),
    }
}

fn pointers_only(cond: &Cond, span: Span) -> Result<(), Unsupported> {
    match cond {
        Cond::True => Ok(()),
        Cond::Eq(a, b) => {
            let fine = |t: &Term| matches!(t, Term::Null | Term::Local(_) | Term::Shared(_));
            if fine(a) && fine(b) {
                Ok(())
            } else {
                refuse("such a comparison", span)
            }
        }
        Cond::Not(inner) => pointers_only(inner, span),
        Cond::And(a, b) | Cond::Or(a, b) => {
            pointers_only(a, span)?;
            pointers_only(b, span)
        }
        Cond::Holds(_) | Cond::Less(..) => refuse("such a condition", span),
    }
}

fn commits(commit: &Commit) -> Result<(), Unsupported> {
    pointers_only(&commit.when, commit.span)
}

/// Locals that a condition speaks of.
pub fn locals_of(cond: &Cond) -> Vec<LocalId> {
    let mut all = Vec::new();
    uses_of_cond(cond, &mut |id| all.push(id));
    all
}
