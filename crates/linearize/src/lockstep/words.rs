//! *Words*: each variable of the object is a tuple of integer variables of the program. Numbers,
//! truth values, data and locks are one word, a pointer is its number and the fields of its node,
//! a tag beside a shared pointer one more.

use std::collections::BTreeMap;

use palisade_program::heap::{self, Body, Cond, Shared, Term, Type};
use palisade_program::{
    BinOp, Domain, Expr, FieldId, Global, GlobalId, Init, Local, LocalAtom, LocalExpr, LocalId,
    Origin, Place, PropAtom, PropExpr, Role, SharedId, Span, Step,
};

use crate::prove::Unsupported;
use crate::prove::supported::refuse;
use crate::value::{Memory, Value, Word};

/// `empty`.
const EMPTY: i64 = 0;
/// Data that was never written.
const UNDEFINED: i64 = 1;
/// The null pointer, and the words of a node that is not there.
pub(super) const NULL: i64 = 0;

pub(super) const TRUE: LocalExpr = Expr::Const(1);
pub(super) const FALSE: LocalExpr = Expr::Const(0);

const TRUTH: Domain = Domain { lo: 0, hi: 1 };

/// Nodes hold plain values only.
pub(super) fn check_structs(program: &heap::Program) -> Result<(), Unsupported> {
    for field in program.structs.iter().flat_map(|s| &s.fields) {
        match field.ty {
            Type::Data | Type::Int | Type::Bool => {}
            Type::Pointer(_) => return refuse("a pointer in a node", field.span),
            Type::Lock => return refuse("a lock in a node", field.span),
        }
    }
    Ok(())
}

/// The words that a variable of this type starts with; those of a node for pointers to null.
fn defaults(program: &heap::Program, ty: Type) -> Vec<i64> {
    match ty {
        Type::Data => vec![UNDEFINED],
        Type::Int | Type::Bool | Type::Lock => vec![0],
        Type::Pointer(of) => {
            let fields = program.structs[of.index()].fields.iter();
            let fields = fields.flat_map(|f| defaults(program, f.ty));
            std::iter::once(NULL).chain(fields).collect()
        }
    }
}

const fn domain(ty: Type) -> Option<Domain> {
    match ty {
        Type::Bool | Type::Lock => Some(TRUTH),
        Type::Data | Type::Int | Type::Pointer(_) => None,
    }
}

/// What each word of a variable is called behind its name, with its values.
fn parts(program: &heap::Program, ty: Type) -> Vec<(String, Option<Domain>)> {
    match ty {
        Type::Data | Type::Int | Type::Bool | Type::Lock => vec![(String::new(), domain(ty))],
        Type::Pointer(of) => {
            let fields = program.structs[of.index()].fields.iter();
            let fields = fields.map(|f| (format!(".{}", f.name), domain(f.ty)));
            std::iter::once((String::new(), None))
                .chain(fields)
                .collect()
        }
    }
}

/// The locals of the client.
#[derive(Default)]
pub(super) struct Names {
    pub(super) locals: Vec<Local>,
    known: BTreeMap<(String, Type), LocalId>,
    /// The first word of each variable that threads keep between calls.
    kept: Vec<LocalId>,
}

impl Names {
    fn add(&mut self, name: &str, domain: Option<Domain>, origin: Origin) -> LocalId {
        self.locals.push(Local {
            name: name.to_owned(),
            init: Init::Value(0),
            domain,
            role: Role::Data,
            origin,
            span: Span::default(),
        });
        LocalId::from(self.locals.len() - 1)
    }

    /// The first word of a local of this name and type. Bodies run one at a time and set what they
    /// use, so all that have such a local share it: what is to be known of it is to be known once.
    fn variable(
        &mut self,
        program: &heap::Program,
        name: String,
        ty: Type,
        origin: Origin,
    ) -> LocalId {
        if let Some(known) = self.known.get(&(name.clone(), ty)) {
            return *known;
        }
        let first = LocalId::from(self.locals.len());
        let same_name = self.known.keys().filter(|(other, _)| *other == name);
        // Names are unique: `x`, `x'`, `x''` of different types.
        let shown = format!("{name}{}", "'".repeat(same_name.count()));
        for (part, domain) in parts(program, ty) {
            self.add(&format!("{shown}{part}"), domain, origin);
        }
        self.known.insert((name, ty), first);
        first
    }

    /// What threads keep between calls: locals of the client that calls do not set anew.
    pub(super) fn keep(&mut self, program: &heap::Program) {
        for kept in &program.kept {
            let first = LocalId::from(self.locals.len());
            let mut start = defaults(program, kept.ty);
            start[0] = number(kept.init);
            let words = parts(program, kept.ty).into_iter().zip(start);
            for ((part, domain), value) in words {
                let id = self.add(&format!("kept.{}{part}", kept.name), domain, Origin::User);
                self.locals[id.index()].init = Init::Value(value);
            }
            self.kept.push(first);
        }
    }

    /// A new truth value.
    pub(super) fn flag(&mut self, name: &str) -> LocalId {
        self.add(name, Some(TRUTH), Origin::User)
    }

    /// A new number.
    pub(super) fn number(&mut self, name: &str) -> LocalId {
        self.add(name, None, Origin::User)
    }

    /// For what is read and used at once.
    pub(super) fn temporary(&mut self) -> LocalId {
        let name = format!("$t{}", self.locals.len());
        self.add(&name, None, Origin::Temporary)
    }
}

/// Declares the words of shared variables; gives the first of each.
pub(super) fn declare(
    program: &heap::Program,
    shared: &[Shared],
    prefix: &str,
    start: &Memory,
    globals: &mut Vec<Global>,
) -> Result<Vec<usize>, Unsupported> {
    let mut first = Vec::new();
    for (declared, word) in shared.iter().zip(&start.shared) {
        first.push(globals.len());
        let mut words = parts(program, declared.ty);
        let mut values = known(program, declared, word, start)?;
        if let Some(tag) = declared.tag {
            words.push((".tag".to_owned(), domain(tag.ty())));
            values.push(plain(word.tag, declared.span)?);
        }
        for ((name, domain), value) in words.into_iter().zip(values) {
            globals.push(Global {
                name: format!("{prefix}{}{name}", declared.name),
                len: None,
                init: vec![Init::Value(value)],
                domain,
                role: Role::Data,
                home: None,
                span: declared.span,
            });
        }
    }
    Ok(first)
}

/// Declares the number of the next node, which none of the nodes at the start has.
pub(super) fn count_nodes(start: &[Option<&Memory>], globals: &mut Vec<Global>) -> GlobalId {
    let nodes = start.iter().flatten().map(|memory| memory.nodes.len());
    let first = nodes.max().unwrap_or(0) as i64 + 1;
    globals.push(Global {
        name: "$next".to_owned(),
        len: None,
        init: vec![Init::Value(first)],
        domain: None,
        role: Role::Data,
        home: None,
        span: Span::default(),
    });
    GlobalId::from(globals.len() - 1)
}

/// The words of a shared variable at the start.
fn known(
    program: &heap::Program,
    declared: &Shared,
    word: &Word,
    start: &Memory,
) -> Result<Vec<i64>, Unsupported> {
    let Value::Node(index) = word.value else {
        let mut words = defaults(program, declared.ty);
        words[0] = plain(word.value, declared.span)?;
        return Ok(words);
    };
    let mut words = vec![i64::from(index) + 1];
    for word in &start.nodes[index as usize].words {
        words.push(plain(word.value, declared.span)?);
    }
    Ok(words)
}

fn plain(value: Value, span: Span) -> Result<i64, Unsupported> {
    Ok(match value {
        Value::Null => NULL,
        Value::Bool(value) => i64::from(value),
        Value::Int(value) => value,
        Value::Empty => EMPTY,
        Value::Undefined => UNDEFINED,
        Value::Holder(_) => return refuse("a lock that `init` does not give back", span),
        Value::Nothing | Value::Node(_) | Value::Least | Value::Data(_) | Value::Greatest => {
            return refuse("what this variable starts with", span);
        }
    })
}

/// A body with the words of its variables.
pub(super) struct Scope<'a> {
    program: &'a heap::Program,
    pub(super) body: &'a Body,
    /// The first word of each local.
    pub(super) words: Vec<LocalId>,
    shared: &'a [Shared],
    shared_words: Vec<usize>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        program: &'a heap::Program,
        body: &'a Body,
        prefix: &str,
        (shared, shared_words): (&'a [Shared], &[usize]),
        names: &mut Names,
    ) -> Self {
        let mut words = Vec::new();
        for local in &body.locals {
            let origin = match local.role {
                heap::Role::Parameter | heap::Role::Variable | heap::Role::TagOf(_) => Origin::User,
                heap::Role::Temporary => Origin::Temporary,
                heap::Role::Kept(word) => {
                    words.push(names.kept[word]);
                    continue;
                }
            };
            let name = format!("{prefix}{}", local.name);
            words.push(names.variable(program, name, local.ty, origin));
        }
        Self {
            program,
            body,
            words,
            shared,
            shared_words: shared_words.to_vec(),
        }
    }

    pub(super) fn defaults(&self, ty: Type) -> Vec<LocalExpr> {
        let words = defaults(self.program, ty).into_iter();
        words.map(Expr::Const).collect()
    }

    fn width(&self, ty: Type) -> usize {
        defaults(self.program, ty).len()
    }

    pub(super) fn local_type(&self, id: LocalId) -> Type {
        self.body.locals[id.index()].ty
    }

    pub(super) fn shared_type(&self, id: SharedId) -> Type {
        self.shared[id.index()].ty
    }

    /// The words of a local.
    pub(super) fn local_words(&self, id: LocalId) -> Vec<LocalId> {
        let first = self.words[id.index()].index();
        let width = self.width(self.local_type(id));
        (first..first + width).map(LocalId::from).collect()
    }

    /// The word of a field of the node that a local points to.
    pub(super) fn field(&self, of: LocalId, field: FieldId) -> LocalId {
        LocalId::from(self.words[of.index()].index() + 1 + field.index())
    }

    /// The words of a shared variable without its tag,
    pub(super) fn shared_words(&self, id: SharedId) -> Vec<Place> {
        let first = self.shared_words[id.index()];
        let width = self.width(self.shared_type(id));
        (first..first + width).map(place).collect()
    }

    /// and its tag.
    pub(super) fn shared_tag(&self, id: SharedId) -> Place {
        let width = self.width(self.shared_type(id));
        place(self.shared_words[id.index()] + width)
    }

    /// The words of a term; one for null. Shared variables are not looked at here.
    pub(super) fn term(&self, term: Term) -> Vec<LocalExpr> {
        match term {
            Term::Local(id) => self.local_words(id).into_iter().map(local).collect(),
            Term::Plus(id, by) => {
                let word = local(self.words[id.index()]);
                vec![Expr::binary(BinOp::Add, word, Expr::Const(by))]
            }
            constant => vec![Expr::Const(number(constant))],
        }
    }

    /// The words of a term that is stored in a variable of this type.
    pub(super) fn stored(&self, term: Term, ty: Type) -> Vec<LocalExpr> {
        let mut words = self.term(term);
        let rest = self.defaults(ty);
        words.extend(rest.into_iter().skip(words.len()));
        words
    }

    /// `to = words`.
    pub(super) fn assign(&self, to: LocalId, words: &[LocalExpr]) -> Vec<Step> {
        let to = self.local_words(to).into_iter().zip(words);
        to.map(|(to, word)| set(to, word.clone())).collect()
    }

    /// A condition over locals, and over shared variables whose words are `read`.
    pub(super) fn cond(&self, cond: &Cond, read: &dyn Fn(SharedId) -> Vec<LocalExpr>) -> LocalExpr {
        condition(cond, &|term| match term {
            Term::Shared(id) => read(id),
            other => self.term(other),
        })
    }
}

/// A constant.
pub(super) fn number(term: Term) -> i64 {
    match term {
        Term::Null => NULL,
        Term::Empty => EMPTY,
        Term::Undefined => UNDEFINED,
        Term::Bool(value) => i64::from(value),
        Term::Int(value) => value,
        Term::Infinity(_) => unreachable!("programs with infinite values are refused"),
        Term::Local(_) | Term::Plus(..) | Term::Shared(_) => {
            unreachable!("variables are looked up by those who ask")
        }
    }
}

/// Whether two tuples are equal. Null is one word: nothing else has its number.
pub(super) fn equal<A>(a: Vec<Expr<A>>, b: Vec<Expr<A>>) -> Expr<A> {
    let pairs = a.into_iter().zip(b);
    let equal = pairs.map(|(a, b)| Expr::binary(BinOp::Eq, a, b));
    equal.reduce(Expr::and).unwrap_or(Expr::TRUE)
}

fn condition<A>(cond: &Cond, term: &dyn Fn(Term) -> Vec<Expr<A>>) -> Expr<A> {
    let one = |t: Term| term(t).swap_remove(0);
    match cond {
        Cond::True => Expr::TRUE,
        Cond::Holds(t) => Expr::binary(BinOp::Ne, one(*t), Expr::FALSE),
        Cond::Eq(a, b) => equal(term(*a), term(*b)),
        Cond::Less(a, b) => Expr::binary(BinOp::Lt, one(*a), one(*b)),
        Cond::Not(inner) => condition(inner, term).negate(),
        Cond::And(a, b) => condition(a, term).and(condition(b, term)),
        Cond::Or(a, b) => condition(a, term).or(condition(b, term)),
    }
}

/// A condition over shared variables.
pub(super) fn property(cond: &Cond, program: &heap::Program, first: &[usize]) -> PropExpr {
    condition(cond, &|term| match term {
        Term::Shared(id) => {
            let width = defaults(program, program.shared[id.index()].ty).len();
            let first = first[id.index()];
            let words = (first..first + width).map(GlobalId::from);
            words
                .map(|id| Expr::Atom(PropAtom::Global(id, None)))
                .collect()
        }
        other => vec![Expr::Const(number(other))],
    })
}

fn place(word: usize) -> Place {
    Place::scalar(GlobalId::from(word))
}

pub(super) const fn local(id: LocalId) -> LocalExpr {
    Expr::Atom(LocalAtom::Local(id))
}

pub(super) const fn set(dst: LocalId, value: LocalExpr) -> Step {
    Step::Assign { dst, value }
}

/// The word is not null.
pub(super) fn not_null(word: LocalId) -> LocalExpr {
    Expr::binary(BinOp::Ne, local(word), Expr::Const(NULL))
}

/// The flag is set.
pub(super) fn is_set(flag: LocalId) -> LocalExpr {
    Expr::binary(BinOp::Eq, local(flag), TRUE)
}

/// The word is data that a call is given.
pub(super) fn is_argument(word: LocalId) -> LocalExpr {
    Expr::binary(BinOp::Lt, local(word), Expr::Const(EMPTY))
}

/// Any value of the type.
pub(super) const fn any(ty: Type, dst: LocalId) -> Step {
    let domain = domain(ty);
    Step::Havoc { dst, domain }
}
