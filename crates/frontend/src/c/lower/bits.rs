//! *Builtins on bits*: `__builtin_popcount`, `ctz`, `clz`, `ffs`, `parity` and their kin for
//! `long` and `long long`, as expressions over the bits of their argument. A number is kept
//! with its sign (`value`), and bit `i` of it is that of its two's complement.

use palisade_program::{BinOp, Expr as Ir, LocalExpr, Span};

use super::code::{Code, Lower};
use super::value::Val;
use crate::c::ast::Expr;
use crate::c::types::Type;

/// What is asked about the bits of a number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    /// How many are 1.
    Count,
    /// Whether that is odd.
    Parity,
    /// How many zeros are below the lowest 1.
    Trailing,
    /// How many zeros are above the highest 1.
    Leading,
    /// The place of the lowest 1, from 1; 0 if there is none.
    First,
}

impl Question {
    /// The question and the suffix of the argument's type.
    fn of(name: &str) -> Option<(Self, &str)> {
        let name = name.strip_prefix("__builtin_")?;
        let all = [
            ("popcount", Self::Count),
            ("parity", Self::Parity),
            ("ctz", Self::Trailing),
            ("clz", Self::Leading),
            ("ffs", Self::First),
        ];
        let found = |(word, question)| Some((question, name.strip_prefix(word)?));
        all.into_iter().find_map(found)
    }
}

impl Code<'_, '_> {
    /// A builtin on bits; `None` if it is none.
    pub(super) fn bits_call(
        &mut self,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Lower<Option<Val>> {
        let (Some((question, suffix)), [arg]) = (Question::of(name), args) else {
            return Ok(None);
        };
        let bits = match suffix {
            "" => 32,
            "l" => self.cx.options.data_model.word(),
            "ll" => 64,
            _ => return Ok(None),
        };
        let signed = question == Question::First;
        let v = self.value(arg)?;
        self.as_number(&v, span);
        let v = self.convert(v, &Type::Int { bits, signed }, span)?;
        let v = self.saved(v, span);
        if matches!(question, Question::Trailing | Question::Leading) {
            let some = LocalExpr::binary(BinOp::Ne, v.e.clone(), Ir::Const(0));
            self.demand(some, &format!("{name} of 0"), span);
        }
        let bits = i64::from(bits);
        Ok(Some(Val {
            e: answer(question, &v.e, bits),
            ty: Type::INT,
            lo: 0,
            hi: i128::from(bits),
            object: None,
            among: None,
        }))
    }
}

fn answer(question: Question, number: &LocalExpr, bits: i64) -> LocalExpr {
    let places = 0..bits;
    match question {
        Question::Count => places.fold(Ir::Const(0), |sum, i| {
            LocalExpr::binary(BinOp::Add, sum, bit(number, i))
        }),
        Question::Parity => {
            let count = answer(Question::Count, number, bits);
            LocalExpr::binary(BinOp::BitAnd, count, Ir::Const(1))
        }
        Question::Trailing => first_of(number, places.rev(), |i| i),
        Question::First => first_of(number, places.rev(), |i| i + 1),
        Question::Leading => first_of(number, places, |i| bits - 1 - i),
    }
}

/// What `value` says of the last of `places` whose bit is 1; 0 if there is none.
fn first_of(
    number: &LocalExpr,
    places: impl Iterator<Item = i64>,
    value: impl Fn(i64) -> i64,
) -> LocalExpr {
    places.fold(Ir::Const(0), |otherwise, i| match bit(number, i) {
        Ir::Const(0) => otherwise,
        Ir::Const(_) => Ir::Const(value(i)),
        bit @ (Ir::Atom(_) | Ir::Unary(..) | Ir::Binary(..) | Ir::Cond(..)) => {
            let is_one = LocalExpr::binary(BinOp::Eq, bit, Ir::Const(1));
            let found = Box::new(Ir::Const(value(i)));
            Ir::Cond(Box::new(is_one), found, Box::new(otherwise))
        }
    })
}

fn bit(number: &LocalExpr, place: i64) -> LocalExpr {
    let shifted = LocalExpr::binary(BinOp::Shr, number.clone(), Ir::Const(place));
    LocalExpr::binary(BinOp::BitAnd, shifted, Ir::Const(1))
}
