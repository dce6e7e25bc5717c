//! A heap program as text: for people who want to see what their code became, and
//! for tests. One line per edge: `3 -> 4  t = top`.

use std::fmt::Write;

use super::{
    Body, Commit, CommitKind, Cond, Failure, Method, Operation, Operator, Place, Program, Shared,
    Specification, Step, Struct, Tag, Term, Type,
};
use crate::ids::LocalId;

/// Names that steps need.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// The struct types.
    pub structs: &'a [Struct],
    /// The shared variables: the program's, or those of an own specification.
    pub shared: &'a [Shared],
    /// The body's locals; `None` where there are none.
    pub body: Option<&'a Body>,
}

impl Names<'_> {
    fn local(&self, id: LocalId) -> &str {
        let local = self.body.and_then(|body| body.locals.get(id.index()));
        local.map_or("?", |local| &local.name)
    }

    /// A type's name.
    pub fn ty(&self, ty: Type) -> &str {
        match ty {
            Type::Data => "data",
            Type::Int => "int",
            Type::Bool => "bool",
            Type::Lock => "lock",
            Type::Pointer(id) => self.structs.get(id.index()).map_or("?", |s| &s.name),
        }
    }

    /// A place: `top`, `t.next`.
    pub fn place(&self, place: Place) -> String {
        match place {
            Place::Shared(id) => {
                let shared = self.shared.get(id.index());
                shared.map_or("?", |s| &s.name).to_owned()
            }
            Place::Field { of, field } => {
                let pointee = self.body.and_then(|body| body.pointee(of));
                let of_struct = pointee.and_then(|id| self.structs.get(id.index()));
                let field = of_struct.and_then(|s| s.fields.get(field.index()));
                format!("{}.{}", self.local(of), field.map_or("?", |f| &f.name))
            }
        }
    }

    /// A term.
    pub fn term(&self, term: Term) -> String {
        match term {
            Term::Null => "null".to_owned(),
            Term::Empty => "empty".to_owned(),
            Term::Infinity(positive) => if positive { "infinity" } else { "-infinity" }.to_owned(),
            Term::Undefined => "?".to_owned(),
            Term::Bool(value) => value.to_string(),
            Term::Int(value) => value.to_string(),
            Term::Local(id) => self.local(id).to_owned(),
            Term::Plus(id, by) if by < 0 => format!("{} - {}", self.local(id), by.unsigned_abs()),
            Term::Plus(id, by) => format!("{} + {by}", self.local(id)),
            Term::Shared(id) => self.place(Place::Shared(id)),
        }
    }

    fn packed(&self, value: Term, tag: Option<Term>) -> String {
        match tag {
            Some(tag) => format!("pack({}, {})", self.term(value), self.term(tag)),
            None => self.term(value),
        }
    }

    /// A condition.
    pub fn cond(&self, cond: &Cond) -> String {
        match cond {
            Cond::True => "true".to_owned(),
            Cond::Holds(term) => self.term(*term),
            Cond::Eq(a, b) => format!("{} == {}", self.term(*a), self.term(*b)),
            Cond::Less(a, b) => format!("{} < {}", self.term(*a), self.term(*b)),
            Cond::Not(inner) => match &**inner {
                Cond::Eq(a, b) => format!("{} != {}", self.term(*a), self.term(*b)),
                Cond::Less(a, b) => format!("{} >= {}", self.term(*a), self.term(*b)),
                Cond::Holds(term) => format!("!{}", self.term(*term)),
                Cond::True | Cond::Not(_) | Cond::And(..) | Cond::Or(..) => {
                    format!("!({})", self.cond(inner))
                }
            },
            Cond::And(a, b) => format!("({} && {})", self.cond(a), self.cond(b)),
            Cond::Or(a, b) => format!("({} || {})", self.cond(a), self.cond(b)),
        }
    }

    /// A step, without its commits.
    pub fn step(&self, step: &Step) -> String {
        match step {
            Step::Skip => "skip".to_owned(),
            Step::Fence => "fence".to_owned(),
            Step::Assume(cond) => format!("assume {}", self.cond(cond)),
            Step::Assign { to, value } => format!("{} = {}", self.local(*to), self.term(*value)),
            Step::Havoc { to } => format!("{} = *", self.local(*to)),
            Step::New { to } => {
                let pointee = self.body.and_then(|body| body.pointee(*to));
                let ty = pointee.map_or("?", |id| self.ty(Type::Pointer(id)));
                format!("{} = new {ty}", self.local(*to))
            }
            Step::Read { to, tag, from } => match tag {
                Some(tag) => format!(
                    "{}, {} = {}",
                    self.local(*to),
                    self.local(*tag),
                    self.place(*from)
                ),
                None => format!("{} = {}", self.local(*to), self.place(*from)),
            },
            Step::Write { to, value, tag } => {
                format!("{} = {}", self.place(*to), self.packed(*value, *tag))
            }
            Step::Cas {
                at,
                expect,
                expect_tag,
                new,
                new_tag,
                success,
            } => format!(
                "cas({}, {}, {}) {}",
                self.place(*at),
                self.packed(*expect, *expect_tag),
                self.packed(*new, *new_tag),
                if *success { "succeeds" } else { "fails" }
            ),
            Step::Lock(place) => format!("lock({})", self.place(*place)),
            Step::Unlock(place) => format!("unlock({})", self.place(*place)),
            Step::Free(local) => format!("free({})", self.local(*local)),
            Step::Compute {
                to,
                operator,
                left,
                right,
            } => {
                let operator = match operator {
                    Operator::Add => '+',
                    Operator::Subtract => '-',
                    Operator::Remainder => '%',
                };
                let (left, right) = (self.term(*left), self.term(*right));
                format!("{} = {left} {operator} {right}", self.local(*to))
            }
            Step::Fail(Failure::Assertion) => "an assertion fails".to_owned(),
            Step::Fail(Failure::Index) => "an index is out of range".to_owned(),
            Step::Return(None) => "return".to_owned(),
            Step::Return(Some(term)) => format!("return {}", self.term(*term)),
        }
    }

    /// A commit point.
    pub fn commit(&self, commit: &Commit) -> String {
        let kind = match commit.kind {
            CommitKind::Now => "commit",
            CommitKind::Later => "commit later",
            CommitKind::Confirm => "confirm",
        };
        if commit.when == Cond::True {
            return kind.to_owned();
        }
        format!("{kind} when {}", self.cond(&commit.when))
    }
}

/// The word for an operation of a built-in specification.
pub const fn operation_word(operation: Operation) -> Option<&'static str> {
    match operation {
        Operation::Push => Some("push"),
        Operation::Pop => Some("pop"),
        Operation::Enqueue => Some("enqueue"),
        Operation::Dequeue => Some("dequeue"),
        Operation::Add => Some("add"),
        Operation::Remove => Some("remove"),
        Operation::Contains => Some("contains"),
        Operation::Own(_) | Operation::Unspecified => None,
    }
}

/// The whole program.
pub fn program(program: &Program) -> String {
    let mut out = String::new();
    write_program(&mut out, program).expect("writing to a string does not fail");
    out
}

fn write_program(out: &mut String, program: &Program) -> std::fmt::Result {
    let names = Names {
        structs: &program.structs,
        shared: &program.shared,
        body: None,
    };
    for one in &program.structs {
        let circular = if one.circular { "circular " } else { "" };
        writeln!(out, "{circular}struct {}", one.name)?;
        for field in &one.fields {
            let (tag, ty) = (tag_word(field.tag), names.ty(field.ty));
            writeln!(out, "    {tag}{ty} {}", field.name)?;
        }
    }
    write_shared(out, names)?;
    for kept in &program.kept {
        let init = names.term(kept.init);
        writeln!(out, "local {} {} = {init}", names.ty(kept.ty), kept.name)?;
    }
    for never in &program.nevers {
        writeln!(out, "never {}", names.cond(&never.cond))?;
    }
    if let Some(init) = &program.init {
        writeln!(out, "init")?;
        write_body(out, names, init)?;
    }
    for method in &program.methods {
        let role = method.role.and_then(|role| program.roles.get(role));
        write_method(out, "method", names, method, role)?;
    }
    write_specification(out, program)
}

fn write_shared(out: &mut String, names: Names<'_>) -> std::fmt::Result {
    for shared in names.shared {
        let (tag, ty) = (tag_word(shared.tag), names.ty(shared.ty));
        writeln!(
            out,
            "shared {tag}{ty} {} = {}",
            shared.name,
            names.term(shared.init)
        )?;
    }
    Ok(())
}

const fn tag_word(tag: Option<Tag>) -> &'static str {
    match tag {
        Some(Tag::Mark) => "marked ",
        Some(Tag::Count) => "counted ",
        None => "",
    }
}

fn write_specification(out: &mut String, program: &Program) -> std::fmt::Result {
    let own = match &program.specification {
        Specification::Stack => return writeln!(out, "spec stack"),
        Specification::Queue => return writeln!(out, "spec queue"),
        Specification::Set => return writeln!(out, "spec set"),
        Specification::Nothing => return writeln!(out, "spec none"),
        Specification::Own(own) => own,
    };
    writeln!(out, "spec own")?;
    let names = Names {
        structs: &program.structs,
        shared: &own.shared,
        body: None,
    };
    write_shared(out, names)?;
    if let Some(init) = &own.init {
        writeln!(out, "init")?;
        write_body(out, names, init)?;
    }
    for operation in &own.operations {
        write_method(out, "operation", names, operation, None)?;
    }
    Ok(())
}

fn write_method(
    out: &mut String,
    word: &str,
    names: Names<'_>,
    method: &Method,
    role: Option<&String>,
) -> std::fmt::Result {
    let parameters = &method.body.locals[..method.parameters];
    let parameters: Vec<String> = parameters
        .iter()
        .map(|local| format!("{} {}", names.ty(local.ty), local.name))
        .collect();
    write!(out, "{word} {}({})", method.name, parameters.join(", "))?;
    if let Some(ty) = method.returns {
        write!(out, " returns {}", names.ty(ty))?;
    }
    if let Some(word) = operation_word(method.operation) {
        write!(out, " as {word}")?;
    }
    if let Some(role) = role {
        write!(out, " by {role}")?;
    }
    writeln!(out)?;
    write_body(out, names, &method.body)
}

fn write_body(out: &mut String, names: Names<'_>, body: &Body) -> std::fmt::Result {
    let names = Names {
        body: Some(body),
        ..names
    };
    for edge in &body.edges {
        let atomic = |at: crate::LocId| {
            let location = body.locations.get(at.index());
            if location.is_some_and(|l| l.atomic) {
                "!"
            } else {
                ""
            }
        };
        write!(
            out,
            "    {}{} -> {}{}  {}",
            edge.from.0,
            atomic(edge.from),
            edge.to.0,
            atomic(edge.to),
            names.step(&edge.step)
        )?;
        for commit in &edge.commits {
            write!(out, "; {}", names.commit(commit))?;
        }
        writeln!(out)?;
    }
    for soft in &body.softs {
        writeln!(out, "    at {}  {}", soft.at.0, soft.text(names))?;
    }
    Ok(())
}
