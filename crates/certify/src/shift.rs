//! The rules for *groups of counters* ([`palisade_program::shift`]): moving all values of a group by a
//! multiple of its modulus maps steps to steps and violations to violations. The groups are a
//! guess of somebody else; here each expression gets its group, or none, and every use of a
//! variable is checked. Locals have a group at each location; within an atomic block they have that of what was
//! last written, and none can be told where paths disagree.
//!
//! Groups of words, which wrap around, are moved modulo 2 to their width. Of an expression that is reduced to a word it is
//! found what it may be modulo that ([`Sum`]), and of a choice between cases whether it does reduce ([`folds`]).
//!
//! Beside the groups it is found what is asked of *distances* between counters: the largest constants in comparisons,
//! and how far a step sets a counter from one that was there before ([`Distances`]). Counters further apart than
//! that need not be told apart by their distance (`reach/gaps.rs`).

use palisade_program::liveness::Liveness;
use palisade_program::property::PropAtom;
use palisade_program::shift::{Counter, Group, Groups};
use palisade_program::{
    BinOp, Cfg, Edge, Expr, GlobalId, Init, LocId, LocalAtom, LocalExpr, LocalId, Place, Program,
    Step, TemplateId, UnOp,
};
use std::cell::{Cell, RefCell};

/// A number as a word of a width: the least number, or the one nearest to zero, that differs from it by whole rounds.
fn word(value: i128, bits: u8, signed: bool) -> i128 {
    let round = 1_i128 << bits;
    let low = value.rem_euclid(round);
    if signed && low >= round / 2 {
        low - round
    } else {
        low
    }
}

/// The least and the greatest word of a width.
fn words(bits: u8, signed: bool) -> (i128, i128) {
    let round = 1_i128 << bits;
    if signed {
        (-round / 2, round / 2 - 1)
    } else {
        (0, round - 1)
    }
}

/// A value of a group moved down; `None` if it does not fit.
pub(crate) fn moved(group: &Group, value: i64, by: i64) -> Option<i64> {
    let moved = i128::from(value) - i128::from(by);
    i64::try_from(match group.width {
        None => moved,
        Some((bits, signed)) => word(moved, bits, signed),
    })
    .ok()
}

/// How far a value is behind zero.
pub(crate) fn lag(group: &Group, value: i64) -> i64 {
    let behind = match group.width {
        None => -i128::from(value),
        Some((bits, _)) => -word(i128::from(value), bits, true),
    };
    i64::try_from(behind).unwrap_or(i64::MAX)
}

/// Some variable is used against the rules.
pub(crate) struct IllTyped;

/// What steps and properties ask of the distances between counters of one group.
pub(crate) struct Distances {
    /// Comparisons come out the same for all distances above this; `None` if a distance is used in another way.
    pub(crate) compared: Option<i64>,
    /// How far each edge of each template sets a counter from one that was there before; `None` if that is not known.
    pub(crate) moved: Vec<Vec<Option<i64>>>,
}

/// What an expression has to do with distances.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offset {
    /// It is no counter, and the same for all distances of counters.
    Free,
    /// It is a counter, or a difference of two, plus or minus at most this.
    By(i64),
    /// A counter plus a variable, or something else that depends on distances.
    Any,
}

impl Offset {
    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::By(a), Self::By(b)) => a.checked_add(b).map_or(Self::Any, Self::By),
            (Self::Free | Self::By(_) | Self::Any, _) => Self::Any,
        }
    }

    /// With a constant added or compared.
    fn with<A>(self, other: &Expr<A>) -> Self {
        match (self, other) {
            (Self::By(_), Expr::Const(k)) => self.plus(Self::By(k.saturating_abs())),
            (Self::Free | Self::By(_) | Self::Any, _) => Self::Any,
        }
    }
}

/// An expression: its group, `None` if its value is the same in shifted states; and its offset.
#[derive(Clone, Copy)]
struct Typing {
    group: Option<usize>,
    offset: Offset,
}

impl Typing {
    const FREE: Self = Self {
        group: None,
        offset: Offset::Free,
    };

    const fn of(group: Option<usize>) -> Self {
        let offset = match group {
            None => Offset::Free,
            Some(_) => Offset::By(0),
        };
        Self { group, offset }
    }
}

type Typed = Result<Typing, IllTyped>;

/// Whether all uses of the groups' variables follow the rules.
pub(crate) fn check(program: &Program, groups: &Groups) -> Result<Distances, IllTyped> {
    let rules = Rules {
        groups,
        compared: Cell::new(Some(0)),
        moved: RefCell::default(),
    };
    let sound = groups
        .0
        .iter()
        .all(|g| g.modulus > 0 && !g.globals.is_empty() && starts(program, g));
    require(sound)?;
    if groups.0.iter().any(|group| group.width.is_some()) {
        // Words are not told apart by their distances.
        rules.compares(Offset::Any);
    }
    for var in program.global_ids() {
        let global = program.global(var);
        let is_free = global.domain.is_some() || global.init.contains(&Init::Any);
        let members = groups.0.iter().filter(|g| g.globals.contains(&var)).count();
        require(members == 0 || (members == 1 && !is_free))?;
    }
    let mut moved = Vec::new();
    for template in program.template_ids() {
        let code = program.template(template);
        let types = LocalTypes::of(program, template, groups);
        for (index, local) in code.locals.iter().enumerate() {
            let is_free = local.domain.is_some() || local.init == Init::Any;
            for loc in code.cfg.locs() {
                let own = (template, loc, LocalId::from(index));
                let members = groups.0.iter().filter(|g| g.locals.contains(&own)).count();
                require(members == 0 || (members == 1 && !is_free))?;
            }
        }
        moved.push(rules.steps(&code.cfg, &types)?);
    }
    for property in &program.properties {
        let everywhere = |t: TemplateId, local: LocalId| {
            let types = LocalTypes::of(program, t, groups);
            let mut all = types.at.iter().map(|row| row[local.index()]);
            let first = all.next().flatten();
            require(all.all(|group| group == first)).map(|()| first)
        };
        let typing = rules.typing(&property.cond, &|atom| match atom {
            PropAtom::Global(var, _) => Ok(Typing::of(rules.global(*var))),
            PropAtom::Local(t, local) => {
                everywhere(property.threads[t.index()].template, *local).map(Typing::of)
            }
            PropAtom::SelfOf(_) | PropAtom::At(..) => Ok(Typing::FREE),
        })?;
        rules.used(typing)?;
    }
    let compared = rules.compared.get();
    Ok(Distances { compared, moved })
}

/// Whether words are words from the start, and whole rounds are multiples of the modulus.
fn starts(program: &Program, group: &Group) -> bool {
    let Some((bits, signed)) = group.width else {
        return true;
    };
    let is_word = |init: &Init| match init {
        Init::Value(value) => word(i128::from(*value), bits, signed) == i128::from(*value),
        Init::Any => false,
    };
    let fits = (2..=63).contains(&bits) || (bits == 64 && signed);
    let mut globals = group.globals.iter();
    let mut locals = group.locals.iter();
    fits && (1_i128 << (bits - 1)) % i128::from(group.modulus) == 0
        && globals.all(|var| program.global(*var).init.iter().all(is_word))
        && locals.all(|(t, _, local)| is_word(&program.template(*t).locals[local.index()].init))
}

/// A sum that is about to be reduced to a word.
struct Sum {
    /// It moves with this group.
    group: Option<usize>,
    /// In shifted states it differs by multiples of 2 to this, beyond that.
    bits: u8,
    /// The values that it may have.
    values: Option<(i128, i128)>,
}

/// Whether `e` is `x` reduced to a word, for all values of `x` from `lo` to `hi`.
fn folds<A: PartialEq>(
    e: &Expr<A>,
    x: &Expr<A>,
    (lo, hi): (i128, i128),
    (bits, signed): (u8, bool),
) -> bool {
    if lo > hi {
        return true;
    }
    let (least, most) = words(bits, signed);
    let of = |e, (lo, hi)| folds(e, x, (lo, hi), (bits, signed));
    match e {
        _ if e == x => least <= lo && hi <= most,
        Expr::Const(c) => lo == hi && word(lo, bits, signed) == i128::from(*c),
        Expr::Binary(BinOp::Add, y, c) if **y == *x => {
            let Expr::Const(c) = **c else { return false };
            let c = i128::from(c);
            c % (1 << bits) == 0 && least <= lo + c && hi + c <= most
        }
        Expr::Cond(test, then, other) => {
            let Expr::Binary(op, y, k) = &**test else {
                return false;
            };
            let (true, Expr::Const(k)) = (**y == *x, &**k) else {
                return false;
            };
            let k = i128::from(*k);
            match op {
                BinOp::Ge => of(then, (lo.max(k), hi)) && of(other, (lo, hi.min(k - 1))),
                BinOp::Le => of(then, (lo, hi.min(k))) && of(other, (lo.max(k + 1), hi)),
                BinOp::Eq => {
                    let rest = (lo + i128::from(lo == k), hi - i128::from(hi == k));
                    of(then, (lo.max(k), hi.min(k))) && of(other, rest)
                }
                BinOp::Ne | BinOp::Lt | BinOp::Gt | BinOp::And | BinOp::Or | BinOp::Mod => false,
                BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::BitAnd => false,
                BinOp::BitOr | BinOp::BitXor | BinOp::Shl | BinOp::Shr => false,
            }
        }
        Expr::Atom(_) | Expr::Unary(..) | Expr::Binary(..) => false,
    }
}

/// The number of which a mask keeps the remainder.
fn kept<A>(mask: &Expr<A>) -> Option<i64> {
    match mask {
        Expr::Const(mask) if *mask > 0 && *mask < i64::MAX && *mask & (*mask + 1) == 0 => {
            Some(*mask + 1)
        }
        Expr::Const(_) | Expr::Atom(_) | Expr::Unary(..) | Expr::Binary(..) => None,
        Expr::Cond(..) => None,
    }
}

/// The groups of one template's locals.
struct LocalTypes {
    /// By location and local.
    at: Vec<Vec<Option<usize>>>,
    live: Liveness,
}

impl LocalTypes {
    fn of(program: &Program, template: TemplateId, groups: &Groups) -> Self {
        let code = program.template(template);
        let mut at = vec![vec![None; code.locals.len()]; code.cfg.loc_count()];
        for (number, group) in groups.0.iter().enumerate() {
            for (_, loc, local) in group.locals.iter().filter(|(t, ..)| *t == template) {
                at[loc.index()][local.index()] = Some(number);
            }
        }
        Self {
            at,
            live: Liveness::of(program, template),
        }
    }

    /// The locals that may be read behind `loc`.
    fn live(&self, loc: LocId) -> impl Iterator<Item = LocalId> + '_ {
        let locals = (0..self.at[loc.index()].len()).map(LocalId::from);
        locals.filter(move |local| self.live.is_live(loc, *local))
    }
}

/// The group of a local in a block; `None` if paths disagree.
type InBlock = Option<Option<usize>>;

fn require(holds: bool) -> Result<(), IllTyped> {
    if holds { Ok(()) } else { Err(IllTyped) }
}

struct Rules<'a> {
    groups: &'a Groups,
    /// [`Distances::compared`], so far.
    compared: Cell<Option<i64>>,
    /// How far the edge that is looked at sets a counter, by the edges in it.
    moved: RefCell<Vec<Option<i64>>>,
}

impl Rules<'_> {
    fn global(&self, var: GlobalId) -> Option<usize> {
        self.groups.of(Counter::Global(var))
    }

    /// A comparison whose sides are together so far from counters.
    fn compares(&self, offset: Offset) {
        let wanted = match offset {
            Offset::Free => return,
            Offset::By(k) => Some(k),
            Offset::Any => None,
        };
        let so_far = self.compared.get();
        let both = so_far.zip(wanted);
        self.compared.set(both.map(|(a, b)| a.max(b)));
    }

    /// An expression whose value itself is used: it must be the same in shifted states, and where distances are not
    /// told apart it must not depend on them.
    fn used(&self, typing: Typing) -> Result<(), IllTyped> {
        require(typing.group.is_none())?;
        if typing.offset != Offset::Free {
            self.compares(Offset::Any);
        }
        Ok(())
    }

    fn width(&self, group: Option<usize>) -> Option<(u8, bool)> {
        self.groups.0[group?].width
    }

    /// Whether an expression has words in it that move.
    fn has_words<A>(&self, e: &Expr<A>, atom: &dyn Fn(&A) -> Typed) -> bool {
        e.any_atom(|a| atom(a).is_ok_and(|typing| self.width(typing.group).is_some()))
    }

    /// A sum of words and of what does not move. Within another sum its values have to fit 64 bits.
    fn sum<A: PartialEq>(
        &self,
        e: &Expr<A>,
        within: bool,
        atom: &dyn Fn(&A) -> Typed,
    ) -> Result<Sum, IllTyped> {
        let Expr::Binary(op @ (BinOp::Add | BinOp::Sub), a, b) = e else {
            let typing = self.typing(e, atom)?;
            let width = self.width(typing.group);
            require(width.is_some() == typing.group.is_some())?;
            let values = match (width, e) {
                (Some((bits, signed)), _) => Some(words(bits, signed)),
                (None, Expr::Const(value)) => Some((i128::from(*value), i128::from(*value))),
                (None, Expr::Unary(UnOp::Wrap { bits, signed }, _)) => Some(words(*bits, *signed)),
                (None, Expr::Atom(_) | Expr::Unary(..) | Expr::Binary(..) | Expr::Cond(..)) => None,
            };
            return Ok(Sum {
                group: typing.group,
                bits: width.map_or(u8::MAX, |(bits, _)| bits),
                values,
            });
        };
        let (x, y) = (self.sum(a, true, atom)?, self.sum(b, true, atom)?);
        let group = match (op, x.group, y.group) {
            (_, group, None) | (BinOp::Add, None, group) => group,
            (BinOp::Sub, Some(x), Some(y)) => require(x == y).map(|()| None)?,
            (_, Some(_) | None, Some(_)) => return Err(IllTyped),
        };
        let values = x.values.zip(y.values).map(|(x, y)| {
            if *op == BinOp::Add {
                (x.0 + y.0, x.1 + y.1)
            } else {
                (x.0 - y.1, x.1 - y.0)
            }
        });
        let whole = (i128::from(i64::MIN), i128::from(i64::MAX));
        let fits = values.is_some_and(|(lo, hi)| whole.0 <= lo && hi <= whole.1);
        require(fits || !within)?;
        Ok(Sum {
            group,
            bits: x.bits.min(y.bits),
            values: values.filter(|_| fits),
        })
    }

    /// An expression that is reduced to a word, and has moving words in it; `None` if it is not of this form.
    fn reduced<A: PartialEq>(&self, e: &Expr<A>, atom: &dyn Fn(&A) -> Typed) -> Option<Typed> {
        let (operand, wrap) = match e {
            Expr::Unary(UnOp::Wrap { bits, signed }, x) => (&**x, Some((*bits, *signed))),
            Expr::Cond(test, ..) => match &**test {
                Expr::Binary(BinOp::Eq | BinOp::Ge | BinOp::Le, x, k)
                    if matches!(**k, Expr::Const(_))
                        && matches!(**x, Expr::Binary(BinOp::Add | BinOp::Sub, ..)) =>
                {
                    (&**x, None)
                }
                Expr::Const(_) | Expr::Atom(_) | Expr::Unary(..) => return None,
                Expr::Binary(..) | Expr::Cond(..) => return None,
            },
            Expr::Const(_) | Expr::Atom(_) | Expr::Binary(..) => return None,
            Expr::Unary(UnOp::Neg | UnOp::Not | UnOp::BitNot, _) => return None,
        };
        self.has_words(operand, atom)
            .then(|| self.word(e, operand, wrap, atom))
    }

    fn word<A: PartialEq>(
        &self,
        e: &Expr<A>,
        operand: &Expr<A>,
        wrap: Option<(u8, bool)>,
        atom: &dyn Fn(&A) -> Typed,
    ) -> Typed {
        let sum = self.sum(operand, false, atom)?;
        let folds = |signed| {
            let to = (sum.bits, signed);
            let folds = sum
                .values
                .is_some_and(|values| folds(e, operand, values, to));
            folds.then_some(to)
        };
        let to = wrap.or_else(|| folds(false)).or_else(|| folds(true));
        let (bits, signed) = to.ok_or(IllTyped)?;
        // What differs by rounds is the same behind them.
        require(bits <= sum.bits)?;
        require(sum.group.is_none() || self.width(sum.group) == Some((bits, signed)))?;
        let offset = match sum.group {
            None => Offset::Free,
            Some(_) => Offset::Any,
        };
        Ok(Typing {
            group: sum.group,
            offset,
        })
    }

    /// The remainder of an expression by a constant.
    fn remainder(&self, left: Typing, k: i64) -> Option<Typed> {
        let modulus = self.groups.0[left.group?].modulus;
        Some(require(k != 0 && modulus % k == 0).map(|()| {
            if left.offset == Offset::Any {
                self.compares(Offset::Any);
            }
            Typing::FREE
        }))
    }

    fn typing<A: PartialEq>(&self, e: &Expr<A>, atom: &dyn Fn(&A) -> Typed) -> Typed {
        if let Some(typing) = self.reduced(e, atom) {
            return typing;
        }
        match e {
            Expr::Const(_) => Ok(Typing::FREE),
            Expr::Atom(a) => atom(a),
            Expr::Unary(UnOp::Neg | UnOp::Not | UnOp::BitNot | UnOp::Wrap { .. }, a) => {
                self.used(self.typing(a, atom)?)?;
                Ok(Typing::FREE)
            }
            Expr::Binary(op, a, b) => {
                let (left, right) = (self.typing(a, atom)?, self.typing(b, atom)?);
                let has_words = [left, right].iter().any(|x| self.width(x.group).is_some());
                match op {
                    // Words are computed with where they are reduced, and have no order.
                    BinOp::Add | BinOp::Sub if has_words => Err(IllTyped),
                    BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge if has_words => Err(IllTyped),
                    BinOp::Add => match (left.group, right.group) {
                        (Some(_), Some(_)) => Err(IllTyped),
                        (group, None) | (None, group) => {
                            let offset = match (left.offset, right.offset) {
                                (Offset::Free, Offset::Free) => Offset::Free,
                                (offset, Offset::Free) => offset.with(b),
                                (Offset::Free, offset) => offset.with(a),
                                (Offset::By(_) | Offset::Any, _) => Offset::Any,
                            };
                            Ok(Typing { group, offset })
                        }
                    },
                    BinOp::Sub => {
                        let offset = match (left.offset, right.offset) {
                            (Offset::Free, Offset::Free) => Offset::Free,
                            (offset, Offset::Free) => offset.with(b),
                            (Offset::Free, offset) => offset.with(a),
                            (x, y) if left.group.is_some() && right.group.is_some() => x.plus(y),
                            (Offset::By(_) | Offset::Any, _) => Offset::Any,
                        };
                        let group = match (left.group, right.group) {
                            (group, None) => group,
                            (left, right) => require(left == right).map(|()| None)?,
                        };
                        Ok(Typing { group, offset })
                    }
                    BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => {
                        require(left.group == right.group)?;
                        self.compares(match (left.offset, right.offset) {
                            (Offset::Free, Offset::Free) => Offset::Free,
                            (offset, Offset::Free) => offset.with(b),
                            (Offset::Free, offset) => offset.with(a),
                            (x, y) if left.group.is_some() => x.plus(y),
                            (Offset::By(_) | Offset::Any, _) => Offset::Any,
                        });
                        Ok(Typing::FREE)
                    }
                    BinOp::Mod => match (&**b, left.group) {
                        (Expr::Const(k), Some(_)) => {
                            let typing = self.remainder(left, *k);
                            typing.unwrap_or_else(|| self.both_used(left, right))
                        }
                        _ => self.both_used(left, right),
                    },
                    BinOp::BitAnd => {
                        let masked = match (kept(a), kept(b)) {
                            (_, Some(k)) => self.remainder(left, k),
                            (Some(k), None) => self.remainder(right, k),
                            (None, None) => None,
                        };
                        masked.unwrap_or_else(|| self.both_used(left, right))
                    }
                    BinOp::Mul
                    | BinOp::Div
                    | BinOp::And
                    | BinOp::Or
                    | BinOp::BitOr
                    | BinOp::BitXor
                    | BinOp::Shl
                    | BinOp::Shr => self.both_used(left, right),
                }
            }
            Expr::Cond(c, a, b) => {
                self.used(self.typing(c, atom)?)?;
                let (a, b) = (self.typing(a, atom)?, self.typing(b, atom)?);
                require(a.group == b.group)?;
                let offset = match (a.offset, b.offset) {
                    (Offset::Free, Offset::Free) => Offset::Free,
                    (Offset::By(x), Offset::By(y)) if a.group.is_some() => Offset::By(x.max(y)),
                    (Offset::Free | Offset::By(_) | Offset::Any, _) => Offset::Any,
                };
                Ok(Typing {
                    group: a.group,
                    offset,
                })
            }
        }
    }

    fn both_used(&self, left: Typing, right: Typing) -> Typed {
        self.used(left)?;
        self.used(right)?;
        Ok(Typing::FREE)
    }

    fn local(&self, locals: &[InBlock], e: &LocalExpr) -> Typed {
        self.typing(e, &|atom| match atom {
            LocalAtom::Local(local) => locals[local.index()].ok_or(IllTyped).map(Typing::of),
            LocalAtom::SelfId => Ok(Typing::FREE),
        })
    }

    /// The group of what is written. A counter is set so far from another.
    fn written(&self, typing: Typing) -> Option<usize> {
        match (typing.group, typing.offset) {
            (None, Offset::Free) => {}
            (None, Offset::By(_) | Offset::Any) => self.compares(Offset::Any),
            (Some(_), Offset::By(k)) => self.moved.borrow_mut().push(Some(k)),
            (Some(_), Offset::Free | Offset::Any) => self.moved.borrow_mut().push(None),
        }
        typing.group
    }

    fn place(&self, locals: &[InBlock], place: &Place) -> Result<Option<usize>, IllTyped> {
        if let Some(index) = &place.index {
            self.used(self.local(locals, index)?)?;
        }
        Ok(self.global(place.var))
    }

    /// The steps of a template: how far each sets a counter.
    fn steps(&self, cfg: &Cfg, types: &LocalTypes) -> Result<Vec<Option<i64>>, IllTyped> {
        let mut moved = Vec::new();
        for edge in &cfg.edges {
            self.moved.borrow_mut().clear();
            let before = &types.at[edge.from.index()];
            let before: Vec<InBlock> = before.iter().map(|group| Some(*group)).collect();
            let after = match &edge.step {
                Step::Atomic(atomic) => {
                    let after = self.block(&atomic.body, before)?;
                    // The last pass over the block has all of its edges; in a loop they come again.
                    if atomic.body.has_cycle() && !self.moved.borrow().iter().all(|k| *k == Some(0))
                    {
                        self.moved.borrow_mut().push(None);
                    }
                    after
                }
                Step::Skip | Step::Fence(_) | Step::Assume(_) | Step::Assert { .. } => {
                    self.after(edge, before)?
                }
                Step::Assign { .. } | Step::Havoc { .. } => self.after(edge, before)?,
                Step::Load { .. } | Step::Store { .. } => self.after(edge, before)?,
                Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {
                    self.after(edge, before)?
                }
            };
            // What nobody reads any more may be anything.
            for local in types.live(edge.to) {
                let claimed = types.at[edge.to.index()][local.index()];
                require(after[local.index()] == Some(claimed))?;
            }
            let sum = |sum: Option<i64>, k: &Option<i64>| sum.zip(*k)?.0.checked_add((*k)?);
            moved.push(self.moved.borrow().iter().fold(Some(0), sum));
        }
        Ok(moved)
    }

    /// The groups behind a block: what is known at each of its locations, until nothing changes.
    fn block(&self, body: &Cfg, before: Vec<InBlock>) -> Result<Vec<InBlock>, IllTyped> {
        let unread = vec![None; before.len()];
        let mut at: Vec<Option<Vec<InBlock>>> = vec![None; body.loc_count()];
        at[body.entry.index()] = Some(before);
        let mut changed = true;
        while changed {
            changed = false;
            self.moved.borrow_mut().clear();
            for edge in &body.edges {
                let Some(before) = at[edge.from.index()].clone() else {
                    continue;
                };
                let after = self.after(edge, before)?;
                let joined = match &at[edge.to.index()] {
                    None => after,
                    Some(known) => {
                        let agreed = |(a, b): (&InBlock, &InBlock)| if a == b { *a } else { None };
                        known.iter().zip(&after).map(agreed).collect()
                    }
                };
                if at[edge.to.index()].as_ref() != Some(&joined) {
                    at[edge.to.index()] = Some(joined);
                    changed = true;
                }
            }
        }
        // A block without an end has nothing behind it.
        Ok(at[body.exit.index()].take().unwrap_or(unread))
    }

    /// The groups behind a step that is no block.
    fn after(&self, edge: &Edge, mut locals: Vec<InBlock>) -> Result<Vec<InBlock>, IllTyped> {
        match &edge.step {
            Step::Skip | Step::Fence(_) => {}
            Step::Assume(cond) | Step::Assert { cond, .. } => {
                self.used(self.local(&locals, cond)?)?;
            }
            Step::Assign { dst, value } => {
                locals[dst.index()] = Some(self.written(self.local(&locals, value)?));
            }
            Step::Havoc { dst, .. } => locals[dst.index()] = Some(None),
            Step::Load { dst, src } => {
                locals[dst.index()] = Some(self.place(&locals, src)?);
            }
            Step::Store { dst, value } => {
                let to = self.place(&locals, dst)?;
                require(to == self.written(self.local(&locals, value)?))?;
            }
            // Blocks have none in them.
            Step::Atomic(_) => return Err(IllTyped),
            Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {
                require(self.groups.0.is_empty())?;
            }
        }
        Ok(locals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type E = Expr<()>;

    fn plus(k: i64) -> E {
        E::binary(BinOp::Add, E::Atom(()), E::Const(k))
    }

    #[test]
    fn cases_that_fold_are_words() {
        let (mut right, mut wrong) = (0, 0);
        for (bits, signed) in [(8, false), (8, true)] {
            let (least, most) = words(bits, signed);
            for k in [-3, -1, 1, 2, 200] {
                let x = plus(k);
                for values in [(0, 255), (-128, 127), (-128, 255)] {
                    let sum = (values.0 + i128::from(k), values.1 + i128::from(k));
                    // Right for what it says of its operand, and for one that says too little.
                    for said in [sum, (least, most + 1), (least - 1, most)] {
                        let e = x.clone().wrapped(said, bits, signed);
                        let is_right = (values.0..=values.1).all(|value| {
                            let value = i64::try_from(value).expect("it is small");
                            let wanted = word(i128::from(value + k), bits, signed);
                            e.eval(&|()| value).map(i128::from) == Ok(wanted)
                        });
                        let folds = folds(&e, &x, sum, (bits, signed));
                        // A wrap is no case.
                        let is_wrap = matches!(e, E::Unary(..));
                        assert_eq!(folds, is_right && !is_wrap, "{e:?} {values:?}");
                        right += usize::from(folds);
                        wrong += usize::from(!folds);
                    }
                }
            }
        }
        assert!(right > 10 && wrong > 10, "{right} {wrong}");
    }

    #[test]
    fn words_are_the_wraps_of_the_language() {
        for bits in [3, 8, 32, 63, 64] {
            for signed in [true, false] {
                for value in [-300, -1, 0, 1, 7, 200, i64::MAX, i64::MIN] {
                    let wrapped = UnOp::Wrap { bits, signed };
                    let wanted = E::Unary(wrapped, Box::new(E::Const(value))).eval(&|()| 0);
                    if bits < 64 || signed {
                        let own = word(i128::from(value), bits, signed);
                        assert_eq!(Ok(own), wanted.map(i128::from));
                    }
                }
            }
        }
    }
}
