//! *Operands*: what registers and constants are worth, and which results get a local of their own.

use palisade_program::{AssertKind, BinOp, Expr, LocalExpr, Step, UnOp};

use super::arith;
use super::engine::{Engine, Flow, Run, SMALLER, Trouble, unsupported};
use super::ir::{Argument, Const, Operand, Type};
use super::state::{State, Value};
use super::values::{decided, possible, range_of, refine, values_of, without_rest};

/// Nodes of an expression at most, before it gets a local of its own.
const MOST_NODES: usize = 24;

impl Engine<'_, '_> {
    /// Makes a register a constant, by cases.
    pub(super) fn pinned(
        &mut self,
        state: &mut State,
        operand: &Operand,
        what: &str,
    ) -> Run<Result<i64, Flow>> {
        let e = self.word(state, operand)?;
        if let Expr::Const(value) = e {
            return Ok(Ok(value));
        }
        let Some(values) = possible(&e, &state.known) else {
            return unsupported(
                format!("{what} that is not known before the program runs"),
                "use an index with a bounds check, or fewer different objects",
            );
        };
        let Operand::Reg(reg) = operand else {
            return unsupported(what.to_owned(), SMALLER);
        };
        let span = self.span(state);
        let start = self.here;
        let mut forks = Vec::new();
        for value in values {
            let test = arith::equals(e.clone(), value);
            if decided(&test, &state.known) == Some(false) {
                continue;
            }
            forks.extend(self.fork(state, start, test.clone(), span, |_, state| {
                refine(&test, true, &mut state.known);
                state.settle();
                state.set(*reg, Value::Word(Expr::Const(value)));
                Ok(Flow::Next)
            })?);
        }
        Ok(Err(Flow::Fork(forks)))
    }

    /// The same of all arguments of a call.
    pub(super) fn all_pinned(
        &mut self,
        state: &mut State,
        arguments: &[Argument],
        what: &str,
    ) -> Run<Result<Vec<i64>, Flow>> {
        let mut numbers = Vec::new();
        for argument in arguments {
            match self.pinned(state, &argument.value, what)? {
                Ok(number) => numbers.push(number),
                Err(flow) => return Ok(Err(flow)),
            }
        }
        Ok(Ok(numbers))
    }

    /// The value of an operand.
    pub(super) fn value(&mut self, state: &State, operand: &Operand, ty: &Type) -> Run<Value> {
        match operand {
            Operand::Reg(reg) => Ok(state
                .top()
                .registers
                .get(reg)
                .cloned()
                .unwrap_or(Value::Undefined)),
            Operand::Const(constant) => self.constant(constant, ty),
        }
    }

    fn constant(&mut self, constant: &Const, ty: &Type) -> Run<Value> {
        let word = |value| Ok(Value::Word(Expr::Const(value)));
        match constant {
            Const::Undef => Ok(Value::Undefined),
            Const::Int(value) => match (ty, ty.bits()) {
                // The bits of a floating-point number.
                (Type::Other(_, size @ (4 | 8)), _) => {
                    word(arith::canonical(*value, *size as u32 * 8))
                }
                (_, Some(bits)) if bits <= 64 => word(arith::canonical(*value, bits)),
                (_, Some(_) | None) => unsupported("an integer of more than 64 bits", SMALLER),
            },
            Const::Zero => match ty {
                Type::Int(_) | Type::Pointer | Type::Other(..) => word(0),
                Type::Struct(fields, _) => {
                    let parts = fields.iter().map(|ty| self.constant(constant, ty));
                    Ok(Value::Parts(parts.collect::<Run<_>>()?))
                }
                Type::Array(n, of) => {
                    let part = self.constant(constant, of)?;
                    Ok(Value::Parts(vec![part; *n as usize]))
                }
                Type::Void => Ok(Value::Undefined),
            },
            Const::Symbol(_) | Const::Moved(..) => {
                let address = self.world.constant_address(constant);
                match address {
                    Ok(address) => word(address),
                    Err(words) => unsupported(words, SMALLER),
                }
            }
            Const::Parts(parts) => {
                let parts = parts.iter().map(|(ty, part)| self.constant(part, ty));
                Ok(Value::Parts(parts.collect::<Run<_>>()?))
            }
            Const::Bytes(_) => unsupported("an array as a value", SMALLER),
            Const::Unknown(text) => unsupported(format!("the constant `{text}`"), SMALLER),
        }
    }

    /// The number that an operand is.
    pub(super) fn word(&mut self, state: &State, operand: &Operand) -> Run<LocalExpr> {
        // The width of constants does not matter for what is kept in 64 bits.
        match self.value(state, operand, &Type::Int(64))? {
            Value::Word(e) => Ok(e),
            Value::Undefined => Err(Trouble::Wrong(AssertKind::Language(
                "uninitialised memory is used".to_owned(),
            ))),
            Value::Parts(_) => unsupported("a struct in place of a number", SMALLER),
        }
    }

    /// The number of an operand of this width.
    pub(super) fn word_of(
        &mut self,
        state: &State,
        operand: &Operand,
        bits: u32,
    ) -> Run<LocalExpr> {
        if let Operand::Const(Const::Int(value)) = operand
            && bits <= 64
        {
            return Ok(Expr::Const(arith::canonical(*value, bits)));
        }
        self.word(state, operand)
    }

    /// Keeps a result; a large one gets a local of its own, and so does one with few values.
    pub(super) fn keep(&mut self, state: &mut State, dst: u32, e: LocalExpr) {
        let e = self.small(state, e);
        state.set(dst, Value::Word(e));
    }

    pub(super) fn small(&mut self, state: &mut State, e: LocalExpr) -> LocalExpr {
        if matches!(e, Expr::Const(_) | Expr::Atom(_)) {
            return e;
        }
        if let Some(values) = possible(&e, &state.known)
            && values.len() == 1
            && let Some(value) = values.first()
        {
            return Expr::Const(*value);
        }
        let (lo, hi) = range_of(&e, &state.known);
        let few =
            (2..1 << 16).contains(&(hi.saturating_sub(lo))) && possible_without_range(&e, state);
        // Bits with zeros behind them can be joined with others only as long as that is seen.
        let few = few && !without_rest(&e);
        if !few && !is_part(&e) && nodes(&e) <= MOST_NODES {
            return e;
        }
        self.in_local(state, e)
    }

    /// A local with this value.
    pub(super) fn in_local(&mut self, state: &mut State, e: LocalExpr) -> LocalExpr {
        let values = values_of(&e, &state.known);
        self.drop_dead(state);
        let dst = state.fresh(&[&e]);
        let span = self.span(state);
        self.emit(Step::Assign { dst, value: e }, span);
        state.known.insert(dst, values);
        self.use_local(dst)
    }
}

/// Whether the values of an expression are few because of its form, not of its locals.
fn possible_without_range(e: &LocalExpr, state: &State) -> bool {
    let locals = super::values::locals_of(e);
    locals.iter().any(|id| {
        state
            .known
            .get(id)
            .is_none_or(|values| values.list().is_none())
    })
}

/// Whether it is some bits of a word: an index beside a tag, that a check may bound.
fn is_part(e: &LocalExpr) -> bool {
    match e {
        Expr::Binary(BinOp::Mod | BinOp::BitAnd | BinOp::Shr, ..) => true,
        Expr::Unary(UnOp::Wrap { bits, .. }, a) => *bits < 64 && matches!(**a, Expr::Atom(_)),
        Expr::Binary(..) | Expr::Unary(..) | Expr::Cond(..) | Expr::Const(_) | Expr::Atom(_) => {
            false
        }
    }
}

fn nodes(e: &LocalExpr) -> usize {
    match e {
        Expr::Const(_) | Expr::Atom(_) => 1,
        Expr::Unary(_, a) => 1 + nodes(a),
        Expr::Binary(_, a, b) => 1 + nodes(a) + nodes(b),
        Expr::Cond(c, a, b) => 1 + nodes(c) + nodes(a) + nodes(b),
    }
}
