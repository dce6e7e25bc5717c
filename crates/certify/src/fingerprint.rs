//! The *fingerprint* of what a certificate was made for: the program, the model
//! and the number of threads. It is a hash of the program's structure that does
//! not see spans, comments, labels, hints, or the names of made-up temporaries,
//! and sees everything else: every step, operator, constant, property and name.
//!
//! The check would refuse a certificate of another program anyway, or find that
//! it proves that program as well; the fingerprint says at once, and in plain
//! words, that the certificate is not for this program. It guards against
//! mistakes, not against forgery, so a 128-bit FNV-1a hash is enough; it is
//! written out here because the standard library's hashes may change with every
//! release while certificates are kept in files.

use palisade_program::expr::{BinOp, Expr, UnOp};
use palisade_program::property::{Pick, PropAtom, PropertyKind};
use palisade_program::{
    Cfg, Change, Count, Domain, FenceKind, FlushTarget, Global, Init, Local, LocalAtom, LocalExpr,
    Model, Operand, Order, Origin, Place, Program, Property, RemoteAtomic, Step, Template,
};
use std::fmt;

/// The hash of a program with a model and a number of threads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Fingerprint(pub u128);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Fingerprint {
    /// The fingerprint of `program` under `model` with `threads` copies of each
    /// `[*]` template.
    pub fn of(program: &Program, model: Model, threads: u32) -> Self {
        let mut hash = Hash(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        hash.tag(match model {
            Model::Sc => 0,
            Model::Tso => 1,
            Model::Pso => 2,
            Model::Rma => 3,
            Model::Rc11 => 4,
        });
        // Without `[*]` the number of copies changes nothing.
        let threads = if program.has_unbounded_threads() {
            threads
        } else {
            0
        };
        hash.number(i64::from(threads));
        hash.list(&program.globals, Hash::global);
        hash.list(&program.templates, Hash::template);
        hash.list(&program.properties, Hash::property);
        if program.deadlock || program.progress {
            hash.tag(match (program.deadlock, program.progress) {
                (_, false) => 1,
                (false, true) => 2,
                (true, true) => 3,
            });
            hash.list(&program.templates, |h, t| {
                let life = &t.life;
                h.tag(u8::from(life.is_started));
                h.tag(u8::from(life.ends_program));
                h.tag(u8::from(life.waits_at_assume));
            });
        }
        Self(hash.0)
    }
}

/// FNV-1a over a prefix code of the program: every list starts with its length
/// and every choice with a tag, so that different structures give different
/// byte sequences.
struct Hash(u128);

impl Hash {
    fn tag(&mut self, byte: u8) {
        self.0 ^= u128::from(byte);
        self.0 = self
            .0
            .wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }

    fn number(&mut self, value: i64) {
        value.to_le_bytes().into_iter().for_each(|b| self.tag(b));
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as i64);
        text.bytes().for_each(|b| self.tag(b));
    }

    fn list<T>(&mut self, items: &[T], each: impl Fn(&mut Self, &T)) {
        self.number(items.len() as i64);
        for item in items {
            each(self, item);
        }
    }

    fn option<T>(&mut self, item: Option<&T>, each: impl Fn(&mut Self, &T)) {
        self.list(item.map_or(&[], std::slice::from_ref), each);
    }

    fn init(&mut self, init: &Init) {
        match init {
            Init::Value(value) => {
                self.tag(0);
                self.number(*value);
            }
            Init::Any => self.tag(1),
        }
    }

    fn domain(&mut self, domain: &Domain) {
        self.number(domain.lo);
        self.number(domain.hi);
    }

    fn global(&mut self, global: &Global) {
        self.text(&global.name);
        self.option(global.len.as_ref(), |h, n| h.number(i64::from(*n)));
        self.list(&global.init, Self::init);
        self.option(global.domain.as_ref(), Self::domain);
        self.option(global.home.as_ref(), |h, home| {
            h.number(i64::from(home.template.0));
            h.tag(u8::from(home.per_copy));
        });
    }

    fn local(&mut self, local: &Local) {
        match local.origin {
            Origin::User => self.text(&local.name),
            Origin::Temporary => self.text(""),
        }
        self.init(&local.init);
        self.option(local.domain.as_ref(), Self::domain);
    }

    fn template(&mut self, template: &Template) {
        self.text(&template.name);
        match template.count {
            Count::Once => self.tag(0),
            Count::Fixed(n) => {
                self.tag(1);
                self.number(i64::from(n));
            }
            Count::Any => self.tag(2),
        }
        self.tag(u8::from(template.is_process));
        self.list(&template.locals, Self::local);
        self.cfg(&template.cfg);
    }

    fn cfg(&mut self, cfg: &Cfg) {
        self.number(i64::from(cfg.entry.0));
        self.number(i64::from(cfg.exit.0));
        self.list(&cfg.edges, |h, edge| {
            h.number(i64::from(edge.from.0));
            h.number(i64::from(edge.to.0));
            h.step(&edge.step);
        });
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Skip => self.tag(0),
            Step::Assume(e) => {
                self.tag(1);
                self.local_expr(e);
            }
            Step::Assign { dst, value } => {
                self.tag(2);
                self.number(i64::from(dst.0));
                self.local_expr(value);
            }
            Step::Havoc { dst, domain } => {
                self.tag(3);
                self.number(i64::from(dst.0));
                self.option(domain.as_ref(), Self::domain);
            }
            Step::Load { dst, src } => {
                self.tag(4);
                self.number(i64::from(dst.0));
                self.place(src);
            }
            Step::Store { dst, value } => {
                self.tag(5);
                self.place(dst);
                self.local_expr(value);
            }
            Step::Fence(kind) => {
                self.tag(6);
                self.tag(match kind {
                    FenceKind::Full => 0,
                    FenceKind::StoreStore => 1,
                    FenceKind::Candidate => 2,
                    FenceKind::Ordered(order) => 3 + *order as u8,
                });
            }
            Step::Atomic(atomic) => {
                self.tag(if atomic.drains() { 7 } else { 13 });
                self.cfg(&atomic.body);
            }
            Step::Assert { cond, kind: _ } => {
                self.tag(8);
                self.local_expr(cond);
            }
            Step::Put { remote, local } => {
                self.tag(9);
                self.place(remote);
                self.place(local);
            }
            Step::Get { local, remote } => {
                self.tag(10);
                self.place(local);
                self.place(remote);
            }
            Step::RemoteAtomic(atomic) => self.remote_atomic(atomic),
            Step::Flush(target) => self.flush(target),
        }
    }

    fn flush(&mut self, target: &FlushTarget) {
        match target {
            FlushTarget::All => self.tag(11),
            FlushTarget::Process { template, copy } => {
                self.tag(12);
                self.number(i64::from(template.0));
                self.option(copy.as_ref(), Self::local_expr);
            }
            FlushTarget::Local(whole) => {
                self.tag(14);
                self.flush(whole);
            }
        }
    }

    fn remote_atomic(&mut self, atomic: &RemoteAtomic) {
        self.tag(13);
        self.place(&atomic.remote);
        self.option(atomic.result.as_ref(), Self::place);
        match &atomic.change {
            Change::CompareSwap { .. } => self.tag(0),
            Change::Op { op, .. } => {
                self.tag(1);
                self.number(*op as i64);
            }
        }
        for operand in atomic.change.operands() {
            match operand {
                Operand::Value(e) => {
                    self.tag(0);
                    self.local_expr(e);
                }
                Operand::Place(place) => {
                    self.tag(1);
                    self.place(place);
                }
            }
        }
    }

    fn place(&mut self, place: &Place) {
        self.number(i64::from(place.var.0));
        self.option(place.index.as_ref(), Self::local_expr);
        if place.order != Order::Plain {
            self.tag(3 + place.order as u8);
        }
    }

    fn local_expr(&mut self, e: &LocalExpr) {
        self.expr(e, &|h, atom| match atom {
            LocalAtom::Local(id) => {
                h.tag(0);
                h.number(i64::from(id.0));
            }
            LocalAtom::SelfId => h.tag(1),
        });
    }

    fn property(&mut self, property: &Property) {
        self.tag(match property.kind {
            PropertyKind::Never => 0,
            PropertyKind::Finally => 1,
        });
        self.list(&property.threads, |h, thread| {
            h.number(i64::from(thread.template.0));
            let (tag, number) = match thread.pick {
                Pick::Only => (0, 0),
                Pick::Copy(n) => (1, n),
                Pick::Any(n) => (2, n),
            };
            h.tag(tag);
            h.number(i64::from(number));
        });
        self.expr(&property.cond, &|h, atom| match atom {
            PropAtom::Global(var, index) => {
                h.tag(0);
                h.number(i64::from(var.0));
                h.option(index.as_ref(), |h, i| h.number(i64::from(*i)));
            }
            PropAtom::Local(thread, local) => {
                h.tag(1);
                h.number(i64::from(thread.0));
                h.number(i64::from(local.0));
            }
            PropAtom::SelfOf(thread) => {
                h.tag(2);
                h.number(i64::from(thread.0));
            }
            PropAtom::At(thread, loc) => {
                h.tag(3);
                h.number(i64::from(thread.0));
                h.number(i64::from(loc.0));
            }
        });
    }

    fn expr<A>(&mut self, e: &Expr<A>, atom: &impl Fn(&mut Self, &A)) {
        match e {
            Expr::Const(c) => {
                self.tag(0);
                self.number(*c);
            }
            Expr::Atom(a) => {
                self.tag(1);
                atom(self, a);
            }
            Expr::Unary(op, e) => {
                self.tag(2);
                self.unary(*op);
                self.expr(e, atom);
            }
            Expr::Binary(op, a, b) => {
                self.tag(3);
                self.tag(binary_tag(*op));
                self.expr(a, atom);
                self.expr(b, atom);
            }
            Expr::Cond(c, a, b) => {
                self.tag(4);
                self.expr(c, atom);
                self.expr(a, atom);
                self.expr(b, atom);
            }
        }
    }

    fn unary(&mut self, op: UnOp) {
        match op {
            UnOp::Neg => self.tag(0),
            UnOp::Not => self.tag(1),
            UnOp::BitNot => self.tag(2),
            UnOp::Wrap { bits, signed } => {
                self.tag(3 + u8::from(signed));
                self.tag(bits);
            }
        }
    }
}

const fn binary_tag(op: BinOp) -> u8 {
    match op {
        BinOp::Add => 0,
        BinOp::Sub => 1,
        BinOp::Mul => 2,
        BinOp::Div => 3,
        BinOp::Mod => 4,
        BinOp::Eq => 5,
        BinOp::Ne => 6,
        BinOp::Lt => 7,
        BinOp::Le => 8,
        BinOp::Gt => 9,
        BinOp::Ge => 10,
        BinOp::And => 11,
        BinOp::Or => 12,
        BinOp::BitAnd => 13,
        BinOp::BitOr => 14,
        BinOp::BitXor => 15,
        BinOp::Shl => 16,
        BinOp::Shr => 17,
    }
}
