//! Steps, places, expressions and properties as text, in the syntax of `.pal`.

use std::fmt::{self, Write};

use crate::cfg::{AtomicKind, FenceKind, FlushTarget, Place, Step};
use crate::expr::{BinOp, Expr, UnOp};
use crate::ids::{LocalId, TemplateId};
use crate::order::Order;
use crate::program::{LocalAtom, LocalExpr, Program, Template};
use crate::property::{Pick, PropAtom, PropExpr, Property, PropertyKind, ThreadVar};
use crate::remote::{Change, Operand, RemoteAtomic};

/// Binding strength: an operand that binds weaker than its context gets parentheses.
fn strength(op: BinOp) -> u8 {
    match op {
        BinOp::Or => 1,
        BinOp::And => 2,
        BinOp::BitOr => 3,
        BinOp::BitXor => 4,
        BinOp::BitAnd => 5,
        BinOp::Eq | BinOp::Ne => 6,
        BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => 7,
        BinOp::Shl | BinOp::Shr => 8,
        BinOp::Add | BinOp::Sub => 9,
        BinOp::Mul | BinOp::Div | BinOp::Mod => 10,
    }
}

/// An operator's symbol.
pub fn symbol(op: BinOp) -> &'static str {
    match op {
        BinOp::Add => "+",
        BinOp::Sub => "-",
        BinOp::Mul => "*",
        BinOp::Div => "/",
        BinOp::Mod => "%",
        BinOp::Eq => "==",
        BinOp::Ne => "!=",
        BinOp::Lt => "<",
        BinOp::Le => "<=",
        BinOp::Gt => ">",
        BinOp::Ge => ">=",
        BinOp::And => "&&",
        BinOp::Or => "||",
        BinOp::BitAnd => "&",
        BinOp::BitOr => "|",
        BinOp::BitXor => "^",
        BinOp::Shl => "<<",
        BinOp::Shr => ">>",
    }
}

/// Prints an expression, with as few parentheses as the grammar allows; `atom` prints atoms.
pub fn expr<A>(e: &Expr<A>, atom: &impl Fn(&A) -> String) -> String {
    let mut out = String::new();
    write_expr(&mut out, e, 0, atom).expect("writing to a string does not fail");
    out
}

fn write_expr<A>(
    out: &mut String,
    e: &Expr<A>,
    context: u8,
    atom: &impl Fn(&A) -> String,
) -> fmt::Result {
    match e {
        Expr::Const(c) if *c < 0 && context > 0 => write!(out, "({c})"),
        Expr::Const(c) => write!(out, "{c}"),
        Expr::Atom(a) => out.write_str(&atom(a)),
        Expr::Unary(UnOp::Wrap { bits, signed }, arg) => {
            write!(out, "{}{bits}(", if *signed { "int" } else { "uint" })?;
            write_expr(out, arg, 0, atom)?;
            out.write_char(')')
        }
        Expr::Unary(op, arg) => {
            out.write_char(match op {
                UnOp::Neg => '-',
                UnOp::BitNot => '~',
                UnOp::Not | UnOp::Wrap { .. } => '!',
            })?;
            // `- -x` would read as `--x`.
            let again = *op == UnOp::Neg && matches!(**arg, Expr::Unary(UnOp::Neg, _));
            if again {
                out.write_char('(')?;
            }
            write_expr(out, arg, 11, atom)?;
            if again { out.write_char(')') } else { Ok(()) }
        }
        Expr::Binary(op, a, b) => {
            let own = strength(*op);
            let open = own < context;
            if open {
                out.write_char('(')?;
            }
            write_expr(out, a, own, atom)?;
            write!(out, " {} ", symbol(*op))?;
            write_expr(out, b, own + 1, atom)?;
            if open { out.write_char(')') } else { Ok(()) }
        }
        Expr::Cond(c, a, b) => {
            out.write_char('(')?;
            write_expr(out, c, 1, atom)?;
            out.write_str(" ? ")?;
            write_expr(out, a, 1, atom)?;
            out.write_str(" : ")?;
            write_expr(out, b, 1, atom)?;
            out.write_char(')')
        }
    }
}

/// A remote atomic operation as text; `remote` is the remote place and its process.
pub fn remote_atomic(
    atomic: &RemoteAtomic,
    remote: (String, String),
    place: &impl Fn(&Place) -> String,
    value: &impl Fn(&LocalExpr) -> String,
) -> String {
    let operand = |o: &Operand| match o {
        Operand::Value(e) => value(e),
        Operand::Place(p) => place(p),
    };
    let (remote, process) = remote;
    let result = atomic.result.as_ref();
    let result = result.map_or_else(String::new, |p| format!("{} = ", place(p)));
    match &atomic.change {
        Change::CompareSwap { expected, new } => {
            let (expected, new) = (operand(expected), operand(new));
            format!("{result}compare_and_swap({remote}, {process}, {expected}, {new})")
        }
        Change::Op { op, operand: o } => {
            let word = if atomic.result.is_some() {
                "fetch_and_op"
            } else {
                "accumulate"
            };
            let (o, op) = (operand(o), op.name());
            format!("{result}{word}({remote}, {process}, {o}, {op})")
        }
    }
}

impl Template {
    /// An expression of this template as text.
    pub fn show_expr(&self, e: &LocalExpr) -> String {
        expr(&e.unwrapped(), &|atom| match atom {
            LocalAtom::Local(id) => self.local(*id).name.clone(),
            LocalAtom::SelfId => "self".to_owned(),
        })
    }
}

impl Program {
    /// A place as text: `x` or `a[i + 1]`.
    pub fn show_place(&self, template: TemplateId, place: &Place) -> String {
        let name = &self.global(place.var).name;
        match &place.index {
            Some(index) => format!("{name}[{}]", self.template(template).show_expr(index)),
            None => name.clone(),
        }
    }

    /// A step of `template` as text, without the closing semicolon.
    pub fn show_step(&self, template: TemplateId, step: &Step) -> String {
        let code = self.template(template);
        let e = |e: &LocalExpr| code.show_expr(e);
        let name = |id: &LocalId| code.local(*id).name.clone();
        let place = |p: &Place| self.show_place(template, p);
        match step {
            Step::Skip => "skip".to_owned(),
            Step::Assume(c) => format!("assume({})", e(c)),
            Step::Assign { dst, value } => format!("{} = {}", name(dst), e(value)),
            Step::Havoc { dst, domain: None } => format!("{} = *", name(dst)),
            Step::Havoc {
                dst,
                domain: Some(d),
            } => {
                format!("{} = choose({}..{})", name(dst), d.lo, d.hi)
            }
            Step::Load { dst, src } => format!("{} = {}", name(dst), load(&place(src), src.order)),
            Step::Store { dst, value } => store(&place(dst), &e(value), dst.order),
            Step::Fence(FenceKind::Full) => "fence".to_owned(),
            Step::Fence(FenceKind::StoreStore) => "fence(ss)".to_owned(),
            Step::Fence(FenceKind::Candidate) => "fence?".to_owned(),
            Step::Fence(FenceKind::Ordered(order)) => format!("fence({order})"),
            Step::Atomic(atomic) => {
                let word = match atomic.kind {
                    AtomicKind::Block => "atomic",
                    AtomicKind::Read => "atomic(read)",
                    AtomicKind::Cas => "cas",
                    AtomicKind::Xchg => "xchg",
                    AtomicKind::FetchAdd => "fetch_add",
                    AtomicKind::Lock => "lock",
                    AtomicKind::Unlock => "unlock",
                };
                let body: Vec<String> = atomic
                    .body
                    .edges
                    .iter()
                    .map(|x| self.show_step(template, &x.step))
                    .collect();
                format!("{word} {{ {} }}", body.join("; "))
            }
            Step::Assert { cond, .. } => format!("assert({})", e(cond)),
            Step::Put { remote, local } => {
                format!(
                    "put({}, {}, {})",
                    place(remote),
                    self.home_name(remote),
                    place(local)
                )
            }
            Step::Get { local, remote } => {
                format!(
                    "{} = get({}, {})",
                    place(local),
                    place(remote),
                    self.home_name(remote)
                )
            }
            Step::RemoteAtomic(atomic) => {
                let remote = (place(&atomic.remote), self.home_name(&atomic.remote));
                remote_atomic(atomic, remote, &place, &e)
            }
            Step::Flush(target) => flush(target, &|t| self.template(t).name.clone(), &e),
        }
    }

    fn home_name(&self, place: &Place) -> String {
        let home = self.global(place.var).home;
        home.map_or_else(
            || "?".to_owned(),
            |h| self.template(h.template).name.clone(),
        )
    }

    /// A thread variable of a property as text: `left`, `t[2]`, `t#1`.
    pub fn show_thread_var(&self, thread: ThreadVar) -> String {
        let name = &self.template(thread.template).name;
        match thread.pick {
            Pick::Only => name.clone(),
            Pick::Copy(copy) => format!("{name}[{copy}]"),
            Pick::Any(n) => format!("{name}#{n}"),
        }
    }

    /// A property's expression as text.
    pub fn show_prop_expr(&self, threads: &[ThreadVar], e: &PropExpr) -> String {
        expr(e, &|atom| match atom {
            PropAtom::Global(var, None) => self.global(*var).name.clone(),
            PropAtom::Global(var, Some(i)) => format!("{}[{i}]", self.global(*var).name),
            PropAtom::Local(t, local) => {
                let thread = threads[t.index()];
                let name = &self.template(thread.template).local(*local).name;
                format!("{}.{name}", self.show_thread_var(thread))
            }
            PropAtom::SelfOf(t) => format!("{}.self", self.show_thread_var(threads[t.index()])),
            PropAtom::At(t, loc) => {
                let thread = threads[t.index()];
                let label = self.template(thread.template).label_at(*loc);
                let label = label.map_or_else(|| format!("L{}", loc.0), |l| l.name.clone());
                format!("{}@{label}", self.show_thread_var(thread))
            }
        })
    }

    /// A property as text.
    pub fn show_property(&self, property: &Property) -> String {
        let cond = self.show_prop_expr(&property.threads, &property.cond);
        match property.kind {
            PropertyKind::Never => format!("never {cond}"),
            PropertyKind::Finally => format!("finally ({cond})"),
        }
    }
}
/// A load of a place as text: `x`, or `load(x, acquire)`.
pub fn load(place: &str, order: Order) -> String {
    match order {
        Order::Plain => place.to_owned(),
        Order::Relaxed | Order::Acquire | Order::Release | Order::AcqRel | Order::SeqCst => {
            format!("load({place}, {order})")
        }
    }
}

/// A store to a place as text: `x = 1`, or `store(x, 1, release)`.
pub fn store(place: &str, value: &str, order: Order) -> String {
    match order {
        Order::Plain => format!("{place} = {value}"),
        Order::Relaxed | Order::Acquire | Order::Release | Order::AcqRel | Order::SeqCst => {
            format!("store({place}, {value}, {order})")
        }
    }
}

/// A flush as text; `name` names processes and `expr` writes expressions.
pub fn flush(
    target: &FlushTarget,
    name: &dyn Fn(TemplateId) -> String,
    expr: &dyn Fn(&LocalExpr) -> String,
) -> String {
    let (word, whole) = match target {
        FlushTarget::Local(whole) => ("flush_local", &**whole),
        FlushTarget::All | FlushTarget::Process { .. } => ("flush", target),
    };
    match whole {
        FlushTarget::Process { template, copy } => match copy {
            Some(copy) => format!("{word}({}[{}])", name(*template), expr(copy)),
            None => format!("{word}({})", name(*template)),
        },
        FlushTarget::All | FlushTarget::Local(_) => format!("{word}(all)"),
    }
}
