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
use super::shadow::Part;
use super::{LAST_MARK, Library, OPAQUE};

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
    /// GASPI: whether it is a notification that comes behind the writes before it.
    covers: bool,
    /// The variable that changes.
    var: Option<GlobalId>,
}

/// What the network does when it delivers an operation.
#[derive(Clone, Debug)]
pub(super) struct Message {
    target: Option<(Memory, Combine)>,
    operands: Vec<LocalExpr>,
    result: Option<Memory>,
}

impl Message {
    /// Nothing: it is done already, and only known to be there.
    pub(super) const fn nothing() -> Self {
        Self {
            target: None,
            operands: Vec::new(),
            result: None,
        }
    }

    pub(super) fn change(target: &Memory, combine: Combine, operands: Vec<LocalExpr>) -> Self {
        Self {
            target: Some((target.clone(), combine)),
            operands,
            result: None,
        }
    }

    /// What was there before goes to a cell.
    pub(super) fn into(self, result: &Memory) -> Self {
        Self {
            result: Some(result.clone()),
            ..self
        }
    }
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Saved {
    var: GlobalId,
    index: Option<GlobalId>,
}

/// An atomic operation on its way.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    way: Way,
    active: GlobalId,
    target: Option<(Saved, Combine)>,
    operands: Vec<GlobalId>,
    result: Option<Saved>,
    /// OpenSHMEM, GASPI: the number of the operation whose accesses are over when it is delivered.
    ends: Option<usize>,
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
    pub(super) fn save_cell(&mut self, place: &Memory, name: String, span: Span) -> Saved {
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
    pub(super) fn send_atomic(
        &mut self,
        target: &Memory,
        combine: Combine,
        operands: &[Memory],
        result: Option<&Memory>,
        issue: &super::shadow::Issue,
        span: Span,
    ) -> Lower<()> {
        let values = operands.iter().map(|o| self.load_from(o, span)).collect();
        let mut message = Message::change(target, combine, values);
        message.result = result.cloned();
        self.send_message(&message, issue, span)
    }

    /// Sends an operation on its way. One without a number of its own takes the first slot of its call that is free.
    pub(super) fn send_message(
        &mut self,
        message: &Message,
        issue: &super::shadow::Issue,
        span: Span,
    ) -> Lower<()> {
        let copies = if issue.request.is_some() {
            1
        } else {
            self.copies()
        };
        let onesided = self.cx.one_sided();
        let first = onesided.count;
        onesided.count += copies;
        let words: Vec<GlobalId> = (first..first + copies)
            .map(|number| self.active_word(self.me(), number, span))
            .collect();
        let cases = self.first_free(&words, span);
        let cases: Vec<_> = cases.into_iter().zip(first..).collect();
        self.each_case(&cases, span, &mut |code, number| {
            code.send_numbered(*number, message.clone(), issue, span)
        })
    }

    fn send_numbered(
        &mut self,
        number: usize,
        message: Message,
        issue: &super::shadow::Issue,
        span: Span,
    ) -> Lower<()> {
        let by = self.me();
        let onesided = self.cx.one_sided();
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
            covers: issue.covers,
            var: message.target.as_ref().map(|(target, _)| target.var),
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
        let mut saved = Vec::new();
        for (k, value) in message.operands.into_iter().enumerate() {
            let var = self.cx.common(name(&format!("operand{k}")), None, span);
            self.set_word(var, value, span);
            saved.push(var);
        }
        let target = message.target.map(|(place, combine)| {
            let saved = self.save_cell(&place, name("at"), span);
            (saved, combine)
        });
        let result = message.result;
        let result = result.map(|place| self.save_cell(&place, name("result"), span));
        let index = target.as_ref().and_then(|(saved, _)| saved.index);
        for other in self.ways_before(&way) {
            let behind = self.behind(&way, &other, span);
            let there = self.active(&other, span);
            let on_way = self.load_word(there, span);
            let must = match (other.request, self.cx.one_sided().library) {
                (_, Library::Gaspi) => Ir::TRUE,
                (Some(number), Library::Shmem) => {
                    let word = self.fenced_word(number, span);
                    let fenced = self.load_word(word, span);
                    LocalExpr::binary(BinOp::Eq, fenced, Ir::Const(1))
                }
                (_, Library::Mpi | Library::Shmem) => match (index, self.saved_index(&other)) {
                    (Some(a), Some(b)) => {
                        let b = self.cx.common(b, None, span);
                        let (a, b) = (self.load_word(a, span), self.load_word(b, span));
                        LocalExpr::binary(BinOp::Eq, a, b)
                    }
                    _ => Ir::TRUE,
                },
            };
            let both = LocalExpr::binary(BinOp::Eq, on_way, Ir::Const(1)).and(must);
            let (yes, no) = (Box::new(Ir::Const(1)), Box::new(Ir::Const(0)));
            self.set_word(behind, Ir::Cond(Box::new(both), yes, no), span);
        }
        let library = self.cx.one_sided().library;
        let ends = issue.request.filter(|_| library != Library::Mpi);
        self.set_word(active, Ir::Const(1), span);
        self.cx.one_sided().slots.push(Slot {
            way,
            active,
            target,
            operands: saved,
            result,
            ends,
            span,
        });
        Ok(())
    }

    /// The name of the variable with the index of an operation's target.
    fn saved_index(&self, way: &Way) -> Option<String> {
        let global = self.cx.globals.get(way.var?.index())?;
        global.len?;
        Some(format!("rank{}.atomic{}.at", way.by, way.number))
    }

    fn active(&mut self, way: &Way, span: Span) -> GlobalId {
        self.active_word(way.by, way.number, span)
    }

    fn active_word(&mut self, by: u32, number: usize, span: Span) -> GlobalId {
        let name = format!("rank{by}.atomic{number}.under_way");
        self.cx.common(name, None, span)
    }

    fn behind(&mut self, way: &Way, other: &Way, span: Span) -> GlobalId {
        let (by, n, m) = (way.by, way.number, other.number);
        let name = format!("rank{by}.atomic{n}.behind{m}");
        self.cx.common(name, None, span)
    }

    /// The other operations of the rank that it may come behind: MPI keeps the order on one location,
    /// OpenSHMEM that of fences, GASPI that of writes and a notification of their queue.
    fn ways_before(&mut self, way: &Way) -> Vec<Way> {
        let library = self.cx.one_sided().library;
        let all = self.cx.one_sided().tracked.ways.iter();
        let others = all.filter(|w| {
            let is_other = w.by == way.by && w.number != way.number;
            let place = (w.channel, w.to) == (way.channel, way.to);
            let is_before = match library {
                Library::Mpi => w.var == way.var,
                Library::Shmem => place,
                Library::Gaspi => place && way.covers,
            };
            is_other && is_before
        });
        others.copied().collect()
    }

    /// OpenSHMEM: a fence comes behind the own operations of a context.
    pub(super) fn fence_ways(&mut self, context: usize, span: Span) {
        for way in self.own_ways(&|w| w.channel == context) {
            if let Some(number) = way.request {
                let active = self.active(&way, span);
                let on_way = self.load_word(active, span);
                let fenced = self.fenced_word(number, span);
                self.set_word(fenced, on_way, span);
            }
        }
    }

    /// OpenSHMEM: waits, within a block, for the own operations that a fence stands behind.
    pub(super) fn await_fenced(&mut self, context: usize, to: u32, span: Span) {
        for way in self.own_ways(&|w| w.channel == context && w.to == to) {
            if let Some(number) = way.request {
                let active = self.active(&way, span);
                let on_way = self.load_word(active, span);
                let fenced = self.fenced_word(number, span);
                let fenced = self.load_word(fenced, span);
                let arrived = LocalExpr::binary(BinOp::Eq, on_way, Ir::Const(0));
                let free = LocalExpr::binary(BinOp::Eq, fenced, Ir::Const(0));
                self.emit(Step::Assume(arrived.or(free)), span);
            }
        }
    }

    /// The other operations of the rank that may come behind it.
    fn ways_behind(&mut self, way: &Way) -> Vec<Way> {
        let mut all: Vec<Way> = self.cx.one_sided().tracked.ways.iter().copied().collect();
        all.retain(|other| self.ways_before(other).contains(way));
        all
    }

    fn own_ways(&mut self, is_meant: &dyn Fn(&Way) -> bool) -> Vec<Way> {
        let me = self.me();
        let all = self.cx.one_sided().tracked.ways.iter();
        all.filter(|w| w.by == me && is_meant(w)).copied().collect()
    }

    /// Waits, within a block, until the own operations that `is_meant` says have arrived.
    pub(super) fn await_atomics(&mut self, is_meant: &dyn Fn(&Way) -> bool, span: Span) {
        for way in self.own_ways(is_meant) {
            let active = self.active(&way, span);
            let on_way = self.load_word(active, span);
            let arrived = LocalExpr::binary(BinOp::Eq, on_way, Ir::Const(0));
            self.emit(Step::Assume(arrived), span);
        }
    }

    /// The network takes one slot.
    fn deliver(&mut self, slot: &Slot) -> Lower<()> {
        let span = slot.span;
        let others = self.ways_before(&slot.way);
        let behind_it = self.ways_behind(&slot.way);
        let is_gaspi = self.cx.one_sided().library == Library::Gaspi;
        self.atomically(AtomicKind::Block, span, |code| {
            let on_way = code.load_word(slot.active, span);
            let is_active = LocalExpr::binary(BinOp::Eq, on_way, Ir::Const(1));
            code.emit(Step::Assume(is_active), span);
            for other in &others {
                let behind = code.behind(&slot.way, other, span);
                let value = code.load_word(behind, span);
                if let (true, Some(number)) = (is_gaspi, other.request) {
                    // What was written before it is there, too.
                    code.end_accesses(slot.way.by, number, &value, span)?;
                    code.set_word(behind, Ir::Const(0), span);
                    continue;
                }
                let first = LocalExpr::binary(BinOp::Eq, value, Ir::Const(0));
                code.emit(Step::Assume(first), span);
            }
            if let Some((target, combine)) = &slot.target {
                let target = code.saved_cell(target, span);
                let old = code.load_from(&target, span);
                let operands = slot.operands.iter();
                let operands: Vec<LocalExpr> = operands.map(|o| code.load_word(*o, span)).collect();
                let new = combine.apply(&old, &operands);
                if new != old {
                    code.store_to(&target, new, span);
                }
                if let Some(result) = &slot.result {
                    let place = code.saved_cell(result, span);
                    code.store_to(&place, old, span);
                }
            }
            if let Some(number) = slot.ends {
                code.end_accesses(slot.way.by, number, &Ir::TRUE, span)?;
                let word = code.request_word(number, span);
                code.set_word(word, Ir::Const(0), span);
            }
            code.set_word(slot.active, Ir::Const(0), span);
            for other in &behind_it {
                let behind = code.behind(other, &slot.way, span);
                code.set_word(behind, Ir::Const(0), span);
            }
            Ok(())
        })
    }

    /// OpenSHMEM, GASPI: the accesses of an operation are over, if `when` is not 0.
    fn end_accesses(&mut self, by: u32, number: usize, when: &LocalExpr, span: Span) -> Lower<()> {
        let is_over = |part| match part {
            Part::Delivered(n) | Part::RequestTarget(n) | Part::RequestOrigin(n) => n == number,
            Part::Target | Part::Origin | Part::Fenced | Part::Stored => false,
        };
        for place in self.shadow_cells(&|a| a.by == by && is_over(a.part), span)? {
            let value = if *when == Ir::Const(1) {
                Ir::Const(0)
            } else {
                let mark = self.load_from(&place, span);
                let is_over = LocalExpr::binary(BinOp::Ne, when.clone(), Ir::Const(0));
                Ir::Cond(Box::new(is_over), Box::new(Ir::Const(0)), Box::new(mark))
            };
            self.store_to(&place, value, span);
        }
        Ok(())
    }

    pub(super) fn saved_cell(&mut self, saved: &Saved, span: Span) -> Memory {
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
        let end = code.graph.loc();
        let locals = std::mem::take(&mut code.locals);
        let graph = std::mem::take(&mut code.graph);
        let mut none = || unreachable!("blocks of the network have one end each");
        let cfg = graph.finish(start, end, &mut none)?;
        Ok(Some(Template {
            name: "network".to_owned(),
            count: Count::Once,
            is_process: true,
            locals,
            cfg,
            labels: Vec::new(),
            life: Life {
                // It waits for work, and for nothing else.
                is_started: true,
                ..Life::default()
            },
            span,
        }))
    }
}
