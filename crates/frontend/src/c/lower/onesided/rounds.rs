//! *Rounds* of a communicator: the n-th collective call of a rank is one with the n-th of the others. They have to be the same
//! call, with the same root and the same operation [MPI 4.0, section 6.14]: others are wrong, also where they happen to end.
//!
//! For each member there is a variable that says how many rounds it has entered beyond the slowest member, and a list of what these rounds
//! are. Who enters a round that somebody has entered must make the same call. Calls after which everybody has waited for everybody need
//! no such list if there are no others: each call has a barrier of its own, and different ones never end.
//!
//! A collective call *may* wait until all have entered its round: where deadlocks are asked for, it does or does not.

use palisade_program::{AtomicKind, BinOp, Expr as Ir, LocalExpr, Place as Memory, Span, Step};

use super::super::code::{Code, Lower};
use super::communicator::Communicator;
use super::message::at;

/// Rounds that a member may be ahead of the slowest, at most.
const MOST: u32 = 6;

/// A collective call: what has to be the same for all.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Call {
    name: String,
    root: Option<u32>,
    operation: Option<i64>,
}

impl Call {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            root: None,
            operation: None,
        }
    }

    pub(super) const fn to(mut self, root: u32) -> Self {
        self.root = Some(root);
        self
    }

    pub(super) const fn with(mut self, operation: i64) -> Self {
        self.operation = Some(operation);
        self
    }

    /// Whether nobody returns before all have called it.
    fn is_barrier(&self) -> bool {
        self.root.is_none() && self.name != "MPI_Comm_dup"
    }
}

fn choose(when: &LocalExpr, yes: LocalExpr, no: LocalExpr) -> LocalExpr {
    Ir::Cond(Box::new(when.clone()), Box::new(yes), Box::new(no))
}

impl Code<'_, '_> {
    /// Enters the next round of a communicator.
    pub(super) fn enter_round(
        &mut self,
        communicator: &Communicator,
        call: &Call,
        span: Span,
    ) -> Lower<()> {
        if communicator.members.len() < 2 {
            return Ok(());
        }
        let is_barrier = call.is_barrier();
        let words = format!(
            "`{}` while another rank makes another collective call",
            call.name
        );
        let collective = &mut self.cx.one_sided().tracked.collective;
        let calls = collective.entry(communicator.handle).or_default();
        calls.insert(call.clone());
        let number = calls.iter().position(|c| c == call).unwrap_or(0) as i64 + 1;
        let differ = calls.len() > 1;
        let are_barriers = calls.iter().all(Call::is_barrier);
        if are_barriers || !differ && !self.may_wait() {
            return Ok(());
        }
        let name = |what: &str| format!("comm{}.{what}", communicator.handle);
        let list = self.cx.common(name("calls"), Some(MOST), span);
        let mut entered = Vec::new();
        for member in &communicator.members {
            let word = self
                .cx
                .common(name(&format!("entered{member}")), None, span);
            entered.push((*member, Memory::scalar(word)));
        }
        let me = self.me();
        let own = entered.iter().find(|(member, _)| *member == me);
        let Some(own) = own.map(|(_, word)| word.clone()) else {
            return Ok(());
        };
        self.atomically(AtomicKind::Block, span, |code| {
            let round = code.load_from(&own, span);
            let near = LocalExpr::binary(BinOp::Lt, round.clone(), Ir::Const(i64::from(MOST)));
            code.require(near, "ranks that are many collective calls apart", span);
            let made = code.load_from(&at(list, round.clone()), span);
            let first = LocalExpr::binary(BinOp::Eq, made.clone(), Ir::Const(0));
            let same = LocalExpr::binary(BinOp::Eq, made, Ir::Const(number));
            code.demand(first.or(same), &words, span);
            code.store_to(&at(list, round.clone()), Ir::Const(number), span);
            let next = LocalExpr::binary(BinOp::Add, round, Ir::Const(1));
            code.store_to(&own, next, span);
            // The first round is over for the list when all have entered it.
            let mut all = Ir::TRUE;
            let mut rounds = Vec::new();
            for (_, word) in &entered {
                let round = code.load_from(word, span);
                all = all.and(LocalExpr::binary(BinOp::Gt, round.clone(), Ir::Const(0)));
                rounds.push((word, round));
            }
            let old: Vec<LocalExpr> = (0..i64::from(MOST))
                .map(|k| code.load_from(&at(list, Ir::Const(k)), span))
                .collect();
            for (word, round) in rounds {
                let less = LocalExpr::binary(BinOp::Sub, round.clone(), Ir::Const(1));
                code.store_to(word, choose(&all, less, round), span);
            }
            for k in 0..old.len() {
                let behind = old.get(k + 1).cloned().unwrap_or(Ir::Const(0));
                let value = choose(&all, behind, old[k].clone());
                code.store_to(&at(list, Ir::Const(k as i64)), value, span);
            }
            Ok(())
        })?;
        if is_barrier || !self.may_wait() {
            return Ok(());
        }
        self.perhaps(span, |code| {
            code.atomically(AtomicKind::Block, span, |code| {
                let ahead = code.load_from(&own, span);
                let all = LocalExpr::binary(BinOp::Eq, ahead, Ir::Const(0));
                code.emit(Step::Assume(all), span);
                Ok(())
            })
        })
    }
}
