//! *Statuses* and *probes* of messages: where a message came from, with which tag, and how many bytes it has. `MPI_Get_count` counts
//! them in elements of a type. The status of a receive from nobody says so; that of operations other than receives is not written.

use palisade_program::{AtomicKind, BinOp, Domain, Expr as Ir, LocalAtom, LocalExpr, Span, Step};

use super::super::code::{Code, Lower};
use super::super::mpi::NOBODY;
use super::super::place::Place;
use super::super::thread::is_null;
use super::super::value::Val;
use super::communicator::{Communicator, UNDEFINED};
use super::datatype::width;
use super::message::{ANY, Channel, Envelope, Form, form_number};
use super::transfer::Elements;
use crate::c::ast::Expr;
use crate::c::types::Type;

/// Where the number of bytes stands in `MPI_Status`, in bytes.
const BYTES_AT: u64 = 12;

/// Where a received message came from: its source's rank in the communicator, and where to say so.
pub(super) type Status<'p> = Option<(&'p Place, LocalExpr)>;

/// What happens where no message is seen.
type Otherwise<'f, 'c, 'a> = &'f dyn Fn(&mut Code<'c, 'a>) -> Lower<()>;

const fn bytes((length, base): Form) -> i64 {
    length as i64 * width(base) as i64
}

impl<'c, 'a> Code<'c, 'a> {
    /// The status that an argument names, if it names one.
    pub(super) fn status(&mut self, e: &Expr) -> Lower<Option<Place>> {
        if is_null(e) {
            return Ok(None);
        }
        self.target_of(e).map(Some)
    }

    /// Says where a message came from, its tag and its bytes.
    pub(super) fn write_status(
        &mut self,
        status: Status<'_>,
        tag: LocalExpr,
        bytes: LocalExpr,
        span: Span,
    ) -> Lower<()> {
        let Some((place, source)) = status else {
            return Ok(());
        };
        // The members of `MPI_Status`, in their order; the error is not written.
        let members = [(0, source), (4, tag), (BYTES_AT, bytes)];
        for (byte, value) in members {
            let member = place.clone().part(byte, Type::INT);
            let value = self.held(value, &Type::INT);
            self.store(&member, value, span)?;
        }
        Ok(())
    }

    /// The status of a message.
    pub(super) fn write_received(
        &mut self,
        status: Status<'_>,
        sent: Envelope,
        span: Span,
    ) -> Lower<()> {
        let forms = self.cx.one_sided().tracked.forms.clone();
        let form = self.read(sent.form);
        let mut forms = forms.into_iter();
        let first = Ir::Const(forms.next().map_or(0, bytes));
        let length = forms.fold(first, |rest, known| {
            let is = LocalExpr::binary(BinOp::Eq, form.clone(), Ir::Const(form_number(known)));
            Ir::Cond(
                Box::new(is),
                Box::new(Ir::Const(bytes(known))),
                Box::new(rest),
            )
        });
        self.write_status(status, self.read(sent.tag), length, span)
    }

    /// The status without a message, of a source that is none: any tag, no bytes.
    pub(super) fn write_empty(
        &mut self,
        status: Option<&Place>,
        source: i128,
        span: Span,
    ) -> Lower<()> {
        let status = status.map(|place| (place, Ir::Const(source as i64)));
        self.write_status(status, Ir::Const(ANY as i64), Ir::Const(0), span)
    }

    /// `MPI_Get_count`: whole elements, or no number.
    pub(super) fn message_length(&mut self, [status, ty, to]: [&Expr; 3], span: Span) -> Lower<()> {
        let datatype = self.datatype(ty, span)?;
        let size = datatype.at.len() as i64 * width(datatype.base) as i64;
        let from = self.target_of(status)?.part(BYTES_AT, Type::INT);
        let all = self.load(&from, span)?;
        let all = self.saved(all, span);
        let place = self.target_of(to)?;
        let rest = LocalExpr::binary(BinOp::Mod, all.e.clone(), Ir::Const(size.max(1)));
        let whole = LocalExpr::binary(BinOp::Eq, rest, Ir::Const(0));
        let count = LocalExpr::binary(BinOp::Div, all.e, Ir::Const(size.max(1)));
        let none = Ir::Const(UNDEFINED as i64);
        let count = if size == 0 {
            Ir::Const(0)
        } else {
            Ir::Cond(Box::new(whole), Box::new(count), Box::new(none))
        };
        let count = self.held(count, &Type::INT);
        self.store(&place, count, span)
    }

    /// Runs `f` for the rank that a message comes from, with its rank in the communicator. Of any sources it is
    /// one that has sent; `unseen` says that it may be none, although they have. `nobody` is for no source.
    fn each_source(
        &mut self,
        communicator: &Communicator,
        from: &Expr,
        (unseen, nobody): (Option<Otherwise<'_, 'c, 'a>>, Otherwise<'_, 'c, 'a>),
        span: Span,
        f: &dyn Fn(&mut Self, u32, usize) -> Lower<()>,
    ) -> Lower<()> {
        if self.peek(from) == Some(ANY) {
            return self.some_source(communicator, &communicator.members, unseen, span, f);
        }
        self.each_named_or(
            communicator,
            from,
            span,
            &mut |code, from| match (from, unseen) {
                (None, _) => nobody(code),
                (Some(from), Some(_)) => code.some_source(communicator, &[from], unseen, span, f),
                (Some(from), None) => f(code, from, communicator.rank_of(from).unwrap_or(0)),
            },
        )
    }

    /// Chooses one of those who have sent.
    fn some_source(
        &mut self,
        communicator: &Communicator,
        among: &[u32],
        unseen: Option<Otherwise<'_, 'c, 'a>>,
        span: Span,
        f: &dyn Fn(&mut Self, u32, usize) -> Lower<()>,
    ) -> Lower<()> {
        let channel = Channel::messages(communicator.handle);
        self.some_sender((channel, communicator), among, unseen, span, f)
    }

    /// The same of messages of any purpose.
    pub(super) fn some_sender(
        &mut self,
        (channel, communicator): (Channel, &Communicator),
        among: &[u32],
        unseen: Option<Otherwise<'_, 'c, 'a>>,
        span: Span,
        f: &dyn Fn(&mut Self, u32, usize) -> Lower<()>,
    ) -> Lower<()> {
        const NONE: i64 = -1;
        let chosen = self.hidden(span);
        let is =
            |k: i64| LocalExpr::binary(BinOp::Eq, Ir::Atom(LocalAtom::Local(chosen)), Ir::Const(k));
        self.atomically(AtomicKind::Block, span, |code| {
            let lo = if unseen.is_some() { NONE } else { 0 };
            let hi = among.len() as i64 - 1;
            let domain = Some(Domain { lo, hi });
            code.emit(
                Step::Havoc {
                    dst: chosen,
                    domain,
                },
                span,
            );
            for (k, from) in among.iter().enumerate() {
                let queue = code.queue(channel, *from, code.me(), span);
                let used = code.load_from(&queue.used(), span);
                let some = LocalExpr::binary(BinOp::Gt, used, Ir::Const(0));
                code.emit(Step::Assume(is(k as i64).negate().or(some)), span);
            }
            Ok(())
        })?;
        let none = unseen.map(|_| (is(NONE), None));
        let some = among
            .iter()
            .enumerate()
            .map(|(k, from)| (is(k as i64), Some(*from)));
        let cases: Vec<_> = none.into_iter().chain(some).collect();
        self.each_case(&cases, span, &mut |code, from| match (from, unseen) {
            (Some(from), _) => f(code, *from, communicator.rank_of(*from).unwrap_or(0)),
            (None, Some(unseen)) => unseen(code),
            (None, None) => Ok(()),
        })
    }

    pub(super) fn receive(
        &mut self,
        buffer: (&Expr, &Elements),
        communicator: &Communicator,
        [from, tag, status]: [&Expr; 3],
        name: &str,
        span: Span,
    ) -> Lower<()> {
        let tag = self.value(tag)?;
        let tag = self.saved(tag, span);
        let status = self.status(status)?;
        let channel = Channel::messages(communicator.handle);
        let nobody = |code: &mut Self| code.write_empty(status.as_ref(), NOBODY, span);
        let otherwise: Otherwise<'_, 'c, 'a> = &nobody;
        self.each_source(
            communicator,
            from,
            (None, otherwise),
            span,
            &|code, from, source| {
                let status = status
                    .as_ref()
                    .map(|place| (place, Ir::Const(source as i64)));
                code.pull_message((channel, from), buffer, (&tag, status), name, span)
            },
        )
    }

    /// `MPI_Probe`, and with a flag `MPI_Iprobe`, which need not see a message that was sent.
    pub(super) fn probe(
        &mut self,
        communicator: &Communicator,
        [from, tag, status]: [&Expr; 3],
        flag: Option<&Place>,
        span: Span,
    ) -> Lower<()> {
        let tag = self.value(tag)?;
        let tag = self.saved(tag, span);
        let status = self.status(status)?;
        let flagged = |code: &mut Self, value: i128| match flag {
            Some(flag) => code.store(flag, Val::constant(value, &Type::INT), span),
            None => Ok(()),
        };
        let channel = Channel::messages(communicator.handle);
        let nobody = |code: &mut Self| {
            code.write_empty(status.as_ref(), NOBODY, span)?;
            flagged(code, 1)
        };
        let unseen = |code: &mut Self| flagged(code, 0);
        let unseen: Option<Otherwise<'_, 'c, 'a>> = match flag {
            Some(_) => Some(&unseen),
            None => None,
        };
        let otherwise = (unseen, &nobody as Otherwise<'_, 'c, 'a>);
        self.each_source(
            communicator,
            from,
            otherwise,
            span,
            &|code, from, source| {
                let queue = code.queue(channel, from, code.me(), span);
                let sent = code.envelope(span);
                code.atomically(AtomicKind::Block, span, |code| {
                    code.require_no_receive(communicator.handle, from, span);
                    code.await_message(queue, &tag.e, sent, span);
                    Ok(())
                })?;
                let status = status.as_ref();
                let status = status.map(|place| (place, Ir::Const(source as i64)));
                code.write_received(status, sent, span)?;
                flagged(code, 1)
            },
        )
    }
}
