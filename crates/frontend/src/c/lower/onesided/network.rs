//! *Remote atomic operations on their way*. An operation that is issued waits in a *slot*: variables
//! for its operands, its target and the place of its result, and one that says whether it is on its way. The
//! *network* is a process that takes slots in any order, each as one step: it changes the target's cell and
//! writes the result. Operands are read when the operation is issued, since nobody may change them before it is complete.
//!
//! Operations of one rank on one cell keep their order: a slot knows which of the others it is
//! *behind*. Each call has a slot for each of its elements; a call that is made again
//! while its slot is taken is not followed.

use palisade_program::{
    AtomicKind, BinOp, Count, Expr as Ir, GlobalId, Life, LocalExpr, Order, Place as Memory, Span,
    Step, Template,
};

use super::super::Context;
use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::{LAST_MARK, OPAQUE};

/// Slots at most.
const MAX_SLOTS: usize = 128;

/// A slot as others see it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in super::super) struct Way {
    pub(super) by: u32,
    pub(super) number: usize,
    pub(super) channel: usize,
    pub(super) to: u32,
    pub(super) request: Option<usize>,
    /// Whether it brings a value: its origin's side is not done before it has arrived.
    pub(super) fetches: bool,
    /// The variable that changes.
    var: GlobalId,
}

/// How an atomic operation changes a cell: MPI's predefined operations by the numbers of the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Combine {
    Replace,
    NoOp,
    Sum,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    Product,
    And,
    Or,
    Xor,
    /// The first operand is compared, the second is written.
    CompareSwap,
}

impl Combine {
    const ALL: [Self; 12] = [
        Self::Replace,
        Self::NoOp,
        Self::Sum,
        Self::Min,
        Self::Max,
        Self::BitAnd,
        Self::BitOr,
        Self::BitXor,
        Self::Product,
        Self::And,
        Self::Or,
        Self::Xor,
    ];

    /// The operation with a number of the header.
    pub(super) fn of_number(number: i128) -> Option<Self> {
        let index = usize::try_from(number - 1).ok()?;
        Self::ALL.get(index).copied()
    }

    /// The new value of a cell that holds `old`.
    pub(super) fn apply(self, old: &LocalExpr, operands: &[LocalExpr]) -> LocalExpr {
        let first = || operands.first().cloned().unwrap_or(Ir::Const(0));
        let binary = |op| LocalExpr::binary(op, old.clone(), first());
        let choose = |c: LocalExpr, x: LocalExpr, y: LocalExpr| {
            Ir::Cond(Box::new(c), Box::new(x), Box::new(y))
        };
        let truth = |e: LocalExpr| LocalExpr::binary(BinOp::Ne, e, Ir::Const(0));
        let number = |c: LocalExpr| choose(c, Ir::Const(1), Ir::Const(0));
        let new = match self {
            Self::Replace => return first(),
            Self::NoOp => return old.clone(),
            Self::Sum => binary(BinOp::Add),
            Self::Product => binary(BinOp::Mul),
            Self::BitAnd => binary(BinOp::BitAnd),
            Self::BitOr => binary(BinOp::BitOr),
            Self::BitXor => binary(BinOp::BitXor),
            Self::Min => choose(binary(BinOp::Lt), old.clone(), first()),
            Self::Max => choose(binary(BinOp::Lt), first(), old.clone()),
            Self::And => number(truth(old.clone()).and(truth(first()))),
            Self::Or => number(truth(old.clone()).or(truth(first()))),
            Self::Xor => number(LocalExpr::binary(
                BinOp::Ne,
                number(truth(old.clone())),
                number(truth(first())),
            )),
            Self::CompareSwap => {
                let new = operands.get(1).cloned().unwrap_or(Ir::Const(0));
                choose(binary(BinOp::Eq), new, old.clone())
            }
        };
        // What is not known stays so.
        let is_mark = |e: &LocalExpr| LocalExpr::binary(BinOp::Le, e.clone(), Ir::Const(LAST_MARK));
        let unknown = operands
            .iter()
            .fold(is_mark(old), |all, e| all.or(is_mark(e)));
        choose(unknown, Ir::Const(OPAQUE), new)
    }
}

/// A cell whose index is in a variable.
#[derive(Clone, Debug)]
struct Saved {
    var: GlobalId,
    index: Option<GlobalId>,
}

/// An atomic operation on its way.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    way: Way,
    active: GlobalId,
    target: Saved,
    combine: Combine,
    operands: Vec<GlobalId>,
    result: Option<Saved>,
    span: Span,
}

fn scalar(var: GlobalId) -> Memory {
    Memory::scalar(var)
}

impl Code<'_, '_> {
    fn load_word(&mut self, var: GlobalId, span: Span) -> LocalExpr {
        let dst = self.temporary(span);
        let src = scalar(var);
        self.emit(Step::Load { dst, src }, span);
        self.read(dst)
    }

    pub(super) fn load_from(&mut self, src: &Memory, span: Span) -> LocalExpr {
        let dst = self.temporary(span);
        let src = src.clone();
        self.emit(Step::Load { dst, src }, span);
        self.read(dst)
    }

    pub(super) fn store_to(&mut self, dst: &Memory, value: LocalExpr, span: Span) {
        let dst = dst.clone();
        self.emit(Step::Store { dst, value }, span);
    }

    fn set_word(&mut self, var: GlobalId, value: LocalExpr, span: Span) {
        self.store_to(&scalar(var), value, span);
    }

    /// Notes a cell in variables of a slot.
    fn save_cell(&mut self, place: &Memory, name: String, span: Span) -> Saved {
        let index = place.index.clone().map(|index| {
            let var = self.cx.common(name, None, span);
            self.set_word(var, index, span);
            var
        });
        Saved {
            var: place.var,
            index,
        }
    }

    /// Sends an atomic operation on its way.
    #[allow(clippy::too_many_arguments)] // what the operation is
    pub(super) fn send_atomic(
        &mut self,
        target: &Memory,
        combine: Combine,
        operands: &[Memory],
        result: Option<&Memory>,
        issue: &super::shadow::Issue,
        span: Span,
    ) -> Lower<()> {
        let by = self.me();
        let onesided = self.cx.one_sided();
        let number = onesided.count;
        onesided.count += 1;
        if onesided.slots.len() >= MAX_SLOTS {
            return unsupported(
                span,
                "so many remote atomic operations",
                "fewer calls, or fewer elements",
            );
        }
        let way = Way {
            by,
            number,
            channel: issue.channel,
            to: issue.to,
            request: issue.request,
            fetches: issue.fetches,
            var: target.var,
        };
        self.cx.one_sided().tracked.ways.insert(way);
        let name = |what: &str| format!("rank{by}.atomic{number}.{what}");
        let active = self.active(&way, span);
        let taken = self.load_word(active, span);
        let is_free = LocalExpr::binary(BinOp::Eq, taken, Ir::Const(0));
        self.require(
            is_free,
            "a remote atomic operation that is called again before it is complete",
            span,
        );
        let values: Vec<LocalExpr> = operands.iter().map(|o| self.load_from(o, span)).collect();
        let mut saved = Vec::new();
        for (k, value) in values.into_iter().enumerate() {
            let var = self.cx.common(name(&format!("operand{k}")), None, span);
            self.set_word(var, value, span);
            saved.push(var);
        }
        let target_saved = self.save_cell(target, name("at"), span);
        let result = result.map(|place| self.save_cell(place, name("result"), span));
        for other in self.same_variable(&way) {
            let behind = self.behind(&way, &other, span);
            let there = self.active(&other, span);
            let on_way = self.load_word(there, span);
            let same = match (target_saved.index, self.saved_index(&other)) {
                (Some(a), Some(b)) => {
                    let b = self.cx.common(b, None, span);
                    let (a, b) = (self.load_word(a, span), self.load_word(b, span));
                    LocalExpr::binary(BinOp::Eq, a, b)
                }
                _ => Ir::TRUE,
            };
            let both = LocalExpr::binary(BinOp::Eq, on_way, Ir::Const(1)).and(same);
            let value = Ir::Cond(
                Box::new(both),
                Box::new(Ir::Const(1)),
                Box::new(Ir::Const(0)),
            );
            self.set_word(behind, value, span);
        }
        self.set_word(active, Ir::Const(1), span);
        self.cx.one_sided().slots.push(Slot {
            way,
            active,
            target: target_saved,
            combine,
            operands: saved,
            result,
            span,
        });
        Ok(())
    }

    /// The name of the variable with the index of an operation's target.
    fn saved_index(&self, way: &Way) -> Option<String> {
        let global = self.cx.globals.get(way.var.index())?;
        global.len?;
        Some(format!("rank{}.atomic{}.at", way.by, way.number))
    }

    fn active(&mut self, way: &Way, span: Span) -> GlobalId {
        let name = format!("rank{}.atomic{}.under_way", way.by, way.number);
        self.cx.common(name, None, span)
    }

    fn behind(&mut self, way: &Way, other: &Way, span: Span) -> GlobalId {
        let (by, n, m) = (way.by, way.number, other.number);
        let name = format!("rank{by}.atomic{n}.behind{m}");
        self.cx.common(name, None, span)
    }

    /// The other operations of the rank on the same variable.
    fn same_variable(&mut self, way: &Way) -> Vec<Way> {
        let all = self.cx.one_sided().tracked.ways.iter();
        let others = all.filter(|w| w.by == way.by && w.var == way.var && w.number != way.number);
        others.copied().collect()
    }

    /// Waits, within a block, until the own operations that `is_meant` says have arrived.
    pub(super) fn await_atomics(&mut self, is_meant: &dyn Fn(&Way) -> bool, span: Span) {
        let me = self.me();
        let all = self.cx.one_sided().tracked.ways.iter();
        let meant: Vec<Way> = all.filter(|w| w.by == me && is_meant(w)).copied().collect();
        for way in meant {
            let active = self.active(&way, span);
            let on_way = self.load_word(active, span);
            let arrived = LocalExpr::binary(BinOp::Eq, on_way, Ir::Const(0));
            self.emit(Step::Assume(arrived), span);
        }
    }

    /// The network takes one slot.
    fn deliver(&mut self, slot: &Slot) -> Lower<()> {
        let span = slot.span;
        let others = self.same_variable(&slot.way);
        self.atomically(AtomicKind::Block, span, |code| {
            let on_way = code.load_word(slot.active, span);
            let is_active = LocalExpr::binary(BinOp::Eq, on_way, Ir::Const(1));
            code.emit(Step::Assume(is_active), span);
            for other in &others {
                let behind = code.behind(&slot.way, other, span);
                let value = code.load_word(behind, span);
                let first = LocalExpr::binary(BinOp::Eq, value, Ir::Const(0));
                code.emit(Step::Assume(first), span);
            }
            let target = code.saved_cell(&slot.target, span);
            let old = code.load_from(&target, span);
            let operands = slot.operands.iter();
            let operands: Vec<LocalExpr> = operands.map(|o| code.load_word(*o, span)).collect();
            let new = slot.combine.apply(&old, &operands);
            if new != old {
                code.store_to(&target, new, span);
            }
            if let Some(result) = &slot.result {
                let place = code.saved_cell(result, span);
                code.store_to(&place, old, span);
            }
            code.set_word(slot.active, Ir::Const(0), span);
            for other in &others {
                let behind = code.behind(other, &slot.way, span);
                code.set_word(behind, Ir::Const(0), span);
            }
            Ok(())
        })
    }

    fn saved_cell(&mut self, saved: &Saved, span: Span) -> Memory {
        let index = saved.index.map(|var| self.load_word(var, span));
        Memory {
            var: saved.var,
            index,
            order: Order::Plain,
        }
    }
}

impl Context<'_> {
    /// The process that takes slots, if there are some.
    pub(in super::super) fn network(
        &mut self,
        number: usize,
        span: Span,
    ) -> Lower<Option<Template>> {
        let Some(onesided) = &self.onesided else {
            return Ok(None);
        };
        let slots = onesided.slots.clone();
        if slots.is_empty() {
            return Ok(None);
        }
        let mut code = Code::new(self, number, false);
        let start = code.here;
        for slot in &slots {
            code.here = start;
            code.with_temporaries(|code| code.deliver(slot))?;
            code.go(start, slot.span);
        }
        let locals = std::mem::take(&mut code.locals);
        let graph = std::mem::take(&mut code.graph);
        let mut none = || unreachable!("blocks of the network have one end each");
        let cfg = graph.finish(start, start, &mut none)?;
        Ok(Some(Template {
            name: "network".to_owned(),
            count: Count::Once,
            is_process: true,
            locals,
            cfg,
            labels: Vec::new(),
            life: Life::default(),
            span,
        }))
    }
}
