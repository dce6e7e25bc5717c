//! Lowered expressions have the value that `palisade-program` gives them.

use palisade_logic::lower::{formula_of, term_of};
use palisade_logic::{Assignment, Int, LowerError, Term, Var};
use palisade_program::{BinOp, Expr, Span, UnOp};
use proptest::prelude::*;

type E = Expr<u32>;

const BINARY: [BinOp; 18] = [
    BinOp::Add,
    BinOp::Sub,
    BinOp::Mul,
    BinOp::Div,
    BinOp::Mod,
    BinOp::Eq,
    BinOp::Ne,
    BinOp::Lt,
    BinOp::Le,
    BinOp::Gt,
    BinOp::Ge,
    BinOp::And,
    BinOp::Or,
    BinOp::BitAnd,
    BinOp::BitOr,
    BinOp::BitXor,
    BinOp::Shl,
    BinOp::Shr,
];

fn unary() -> impl Strategy<Value = UnOp> {
    let width = prop::sample::select(vec![8_u8, 16, 32, 64]);
    prop_oneof![
        Just(UnOp::Neg),
        Just(UnOp::Not),
        Just(UnOp::BitNot),
        (width, any::<bool>()).prop_map(|(bits, signed)| UnOp::Wrap { bits, signed }),
    ]
}

fn expression() -> impl Strategy<Value = E> {
    let leaf = prop_oneof![
        (-9_i64..70).prop_map(E::Const),
        (0_u32..3).prop_map(E::Atom)
    ];
    leaf.prop_recursive(4, 14, 3, |inner| {
        let op = prop::sample::select(BINARY.to_vec());
        prop_oneof![
            4 => (op, inner.clone(), inner.clone())
                .prop_map(|(op, a, b)| E::Binary(op, a.into(), b.into())),
            2 => (unary(), inner.clone()).prop_map(|(op, a)| E::Unary(op, a.into())),
            1 => (inner.clone(), inner.clone(), inner)
                .prop_map(|(c, a, b)| E::Cond(c.into(), a.into(), b.into())),
        ]
    })
}

// The shape that `term_of` asks for.
#[allow(clippy::trivially_copy_pass_by_ref, clippy::unnecessary_wraps)]
fn env(atom: &u32) -> Result<Term, LowerError> {
    Ok(Term::var(Var(*atom)))
}

const SPAN: Span = Span::new(3, 7);

proptest! {
    #![proptest_config(ProptestConfig { cases: 6000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn values_agree(expr in expression(), at in prop::collection::vec(-200_i64..300, 3)) {
        let assignment: Assignment =
            at.iter().enumerate().map(|(i, v)| (Var(i as u32), Int::from(*v))).collect();
        // Overflow of 64 bits is the machine's limit, not the logic's.
        let Ok(value) = expr.eval(&|atom| at[*atom as usize]) else { return Ok(()) };
        if let Ok(term) = term_of(&expr, SPAN, &mut env) {
            prop_assert_eq!(term.eval(&assignment), Ok(Int::from(value)));
        }
        if let Ok(formula) = formula_of(&expr, SPAN, &mut env) {
            prop_assert_eq!(formula.eval(&assignment), Ok(value != 0));
        }
    }
}

fn x() -> E {
    E::Atom(0)
}

fn y() -> E {
    E::Atom(1)
}

#[test]
fn what_is_not_linear_is_a_located_error() {
    for (op, a, b) in [
        (BinOp::Mul, x(), y()),
        (BinOp::Div, x(), y()),
        (BinOp::Mod, x(), y()),
        (BinOp::Div, x(), E::Const(0)),
        (BinOp::BitAnd, x(), y()),
        (BinOp::BitXor, x(), y()),
        (BinOp::Shl, x(), y()),
        (BinOp::Shr, x(), E::Const(64)),
    ] {
        let expr = E::Binary(op, a.into(), b.into());
        let error = term_of(&expr, SPAN, &mut env).unwrap_err();
        assert_eq!(error.span(), SPAN);
        assert!(matches!(error, LowerError::Unsupported { .. }), "{op:?}");
    }
}

#[test]
fn linear_corner_cases_are_exact() {
    let less = E::Binary(BinOp::Lt, x().into(), y().into());
    let product = E::Binary(BinOp::Mul, less.clone().into(), y().into());
    assert!(
        term_of(&product, SPAN, &mut env).is_ok(),
        "a truth value times a variable"
    );
    // Truth as a number and back is the comparison itself.
    let doubled = E::Binary(BinOp::Eq, less.clone().into(), E::Const(1).into());
    assert_eq!(
        formula_of(&doubled, SPAN, &mut env).unwrap(),
        formula_of(&less, SPAN, &mut env).unwrap()
    );
    let wrapped = E::Unary(
        UnOp::Wrap {
            bits: 32,
            signed: true,
        },
        less.clone().into(),
    );
    assert_eq!(
        term_of(&wrapped, SPAN, &mut env).unwrap(),
        term_of(&less, SPAN, &mut env).unwrap(),
        "wrapping what fits changes nothing"
    );
}

#[test]
fn choices_by_choices_are_not_written_out() {
    // Each value is chosen by a comparison of the last: written out, it doubles at each step.
    let step = |value: E, i: i64| {
        let below = E::Binary(BinOp::Lt, value.clone().into(), E::Const(i).into());
        let next = E::Binary(BinOp::Add, value.clone().into(), E::Const(i * 7).into());
        E::Cond(below.into(), next.into(), value.into())
    };
    let few = (0..3).fold(x(), step);
    assert!(term_of(&few, SPAN, &mut env).is_ok());
    let many = (0..14).fold(x(), step);
    let error = term_of(&many, SPAN, &mut env).unwrap_err();
    assert_eq!(error, LowerError::TooLarge { span: SPAN });
}
