//! The checker's account of expressions against definitions, in numbers of 128 bits, for
//! every operator and width; against what `palisade_program` computes; and what the
//! solver makes of the terms.

use super::*;
use palisade_logic::prover::{Answer, Cluster, Options, Prover};
use palisade_logic::{Assignment, Purpose, Var};
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

const WIDTHS: [u8; 4] = [8, 16, 32, 64];

/// All unary operators.
fn unary() -> Vec<UnOp> {
    let mut all = vec![UnOp::Neg, UnOp::Not, UnOp::BitNot];
    for bits in WIDTHS {
        all.extend([true, false].map(|signed| UnOp::Wrap { bits, signed }));
    }
    all
}

/// Numbers at which something may go wrong.
fn numbers() -> Vec<i64> {
    let mut all = vec![
        0,
        1,
        2,
        3,
        5,
        7,
        10,
        63,
        64,
        100,
        i64::MAX,
        i64::MAX - 1,
        i64::MIN + 1,
    ];
    for bits in [7, 8, 15, 16, 31, 32, 62] {
        all.extend([(1_i64 << bits) - 1, 1 << bits, (1 << bits) + 1]);
    }
    let negative: Vec<i64> = all.iter().map(|n| -n).collect();
    all.extend(negative);
    all.push(i64::MIN);
    all.sort_unstable();
    all.dedup();
    all
}

/// Bit `i` of a number in two's complement.
fn bit(value: i128, i: u32) -> i128 {
    value.div_euclid(1 << i.min(120)).rem_euclid(2)
}

/// The number that has these bits, the last of them for all that follow.
fn of_bits(bit: impl Fn(u32) -> i128) -> i128 {
    let positive: i128 = (0..100).map(|i| bit(i) << i).sum();
    positive - (bit(100) << 100)
}

/// The value by definition; `None` where there is none.
fn defined(op: BinOp, a: i128, b: i128) -> Option<i128> {
    Some(match op {
        BinOp::Add => a.checked_add(b)?,
        BinOp::Sub => a.checked_sub(b)?,
        BinOp::Mul => a.checked_mul(b)?,
        BinOp::Div | BinOp::Mod if b == 0 => return None,
        BinOp::Div => a.checked_div_euclid(b)?,
        BinOp::Mod => a.checked_rem_euclid(b)?,
        BinOp::Eq => i128::from(a == b),
        BinOp::Ne => i128::from(a != b),
        BinOp::Lt => i128::from(a < b),
        BinOp::Le => i128::from(a <= b),
        BinOp::Gt => i128::from(a > b),
        BinOp::Ge => i128::from(a >= b),
        BinOp::And => i128::from(a != 0 && b != 0),
        BinOp::Or => i128::from(a != 0 || b != 0),
        BinOp::BitAnd => of_bits(|i| bit(a, i) * bit(b, i)),
        BinOp::BitOr => of_bits(|i| bit(a, i).max(bit(b, i))),
        BinOp::BitXor => of_bits(|i| (bit(a, i) + bit(b, i)) % 2),
        BinOp::Shl | BinOp::Shr if !(0..64).contains(&b) => return None,
        BinOp::Shl => a.checked_mul(1 << b)?,
        BinOp::Shr => a.div_euclid(1 << b),
    })
}

fn defined_unary(op: UnOp, a: i128) -> i128 {
    match op {
        UnOp::Neg => -a,
        UnOp::Not => i128::from(a == 0),
        UnOp::BitNot => of_bits(|i| 1 - bit(a, i)),
        UnOp::Wrap { bits, signed } => {
            let bits = u32::from(bits);
            let low: i128 = (0..bits).map(|i| bit(a, i) << i).sum();
            let sign = if signed { bit(a, bits - 1) } else { 0 };
            low - (sign << bits)
        }
    }
}

/// Whether terms can have the value.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn fits(value: &i128) -> bool {
    value.abs() <= palisade_logic::term::LIMIT
}

fn defined_value(expr: &E, at: &[i64]) -> Option<i128> {
    let small = |value: i128| Some(value).filter(fits);
    match expr {
        Expr::Const(c) => Some(i128::from(*c)),
        Expr::Atom(a) => Some(i128::from(at[*a as usize])),
        Expr::Unary(op, e) => small(defined_unary(*op, defined_value(e, at)?)),
        Expr::Binary(op, a, b) => {
            small(defined(*op, defined_value(a, at)?, defined_value(b, at)?)?)
        }
        Expr::Cond(c, a, b) => {
            let (c, a, b) = (
                defined_value(c, at)?,
                defined_value(a, at)?,
                defined_value(b, at)?,
            );
            Some(if c == 0 { b } else { a })
        }
    }
}

const SPAN: Span = Span::new(3, 7);

/// The expression over variables.
fn symbolic(expr: &E) -> Option<Term> {
    term_of(expr, SPAN, &mut |a| Ok(Term::var(Var(*a)))).ok()
}

/// The expression at known values.
fn known(expr: &E, at: &[i64]) -> Option<Int> {
    let term = term_of(expr, SPAN, &mut |a| Ok(Term::constant(at[*a as usize])));
    let term = term.ok()?;
    Some(term.as_constant().expect("all atoms are known"))
}

fn assignment(at: &[i64]) -> Assignment {
    let values = at.iter().enumerate();
    values
        .map(|(i, v)| (Var(i as u32), Int::from(*v)))
        .collect()
}

/// Every operator on numbers, on a variable and a number, and as a formula.
#[test]
fn operators_are_what_they_are_defined_to_be() {
    let (x, y) = (|| E::Atom(0).into(), || E::Atom(1).into());
    let mut count = 0;
    for a in numbers() {
        for op in unary() {
            let expr = E::Unary(op, x());
            let right = defined_unary(op, i128::from(a));
            assert_eq!(known(&expr, &[a]), Some(right), "{op:?} {a}");
            let term = symbolic(&expr).expect("it is linear");
            assert_eq!(term.eval(&assignment(&[a])), Ok(right), "{op:?} {a}");
            count += 1;
        }
        for b in numbers() {
            for op in BINARY {
                let right = defined(op, i128::from(a), i128::from(b)).filter(fits);
                let expr = E::Binary(op, x(), y());
                assert_eq!(known(&expr, &[a, b]), right, "{a} {op:?} {b}");
                for (half, at) in [
                    (E::Binary(op, x(), E::Const(b).into()), a),
                    (E::Binary(op, E::Const(a).into(), x()), b),
                ] {
                    let Some((term, right)) = symbolic(&half).zip(right) else {
                        continue;
                    };
                    let at = assignment(&[at]);
                    assert_eq!(term.eval(&at), Ok(right), "{a} {op:?} {b}");
                    let formula = formula_of(&half, SPAN, &mut |a| Ok(Term::var(Var(*a))));
                    let formula = formula.expect("there is a term");
                    assert_eq!(formula.eval(&at), Ok(right != 0), "{a} {op:?} {b}");
                    count += 1;
                }
            }
        }
    }
    println!("{count} operations");
    assert!(count > 50_000);
}

/// What the solver makes of the terms: that a variable has the value and the term another
/// one is impossible.
#[test]
fn the_solver_agrees() {
    let mut prover = Prover::new(Options::plain());
    let mut count = 0;
    let samples: Vec<i64> = numbers().into_iter().step_by(3).collect();
    let mut check = |expr: &E, at: i64, right: i128| {
        let Some(term) = symbolic(expr) else { return };
        let wrong = term.plus_constant(-right).expect("it fits");
        let wrong = Formula::ne(&wrong, &Term::constant(0)).expect("it fits");
        let here = Formula::eq(&Term::var(Var(0)), &Term::constant(at)).expect("it fits");
        let lits = [prover.literal(&here), prover.literal(&wrong)];
        let answer = prover.check(Cluster(0), &lits, Purpose::Certify);
        assert!(
            matches!(answer, Answer::Unsat(_)),
            "{expr:?} at {at} should be {right}: {answer:?}"
        );
        count += 1;
    };
    for &a in &samples {
        for op in unary() {
            let expr = E::Unary(op, E::Atom(0).into());
            check(&expr, a, defined_unary(op, i128::from(a)));
        }
        for op in BINARY {
            for b in [-3, 0, 1, 5, 31, 0xf0, 1 << 40, -256] {
                let expr = E::Binary(op, E::Atom(0).into(), E::Const(b).into());
                if let Some(right) = defined(op, i128::from(a), i128::from(b)).filter(fits) {
                    check(&expr, a, right);
                }
            }
        }
    }
    println!("{count} queries");
    assert!(count > 1_000);
}

fn expression() -> impl Strategy<Value = E> {
    let leaf = prop_oneof![
        (-9_i64..70).prop_map(E::Const),
        prop::sample::select(numbers()).prop_map(E::Const),
        (0_u32..3).prop_map(E::Atom)
    ];
    leaf.prop_recursive(4, 14, 3, |inner| {
        let op = prop::sample::select(BINARY.to_vec());
        let unary = prop::sample::select(unary());
        prop_oneof![
            4 => (op, inner.clone(), inner.clone())
                .prop_map(|(op, a, b)| E::Binary(op, a.into(), b.into())),
            3 => (unary, inner.clone()).prop_map(|(op, a)| E::Unary(op, a.into())),
            1 => (inner.clone(), inner.clone(), inner)
                .prop_map(|(c, a, b)| E::Cond(c.into(), a.into(), b.into())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn expressions_are_what_they_are_defined_to_be(
        expr in expression(),
        at in prop::collection::vec(prop_oneof![-200_i64..300, any::<i64>()], 3),
    ) {
        let right = defined_value(&expr, &at);
        if let (Some(value), Some(right)) = (known(&expr, &at), right) {
            prop_assert_eq!(value, right);
        }
        if let (Some(term), Some(right)) = (symbolic(&expr), right)
            && let Ok(value) = term.eval(&assignment(&at))
        {
            prop_assert_eq!(value, right);
        }
        // Where the machine gives a value it is the right one.
        if let (Ok(value), Some(right)) = (expr.eval(&|a| at[*a as usize]), right) {
            prop_assert_eq!(i128::from(value), right);
        }
    }

    #[test]
    fn opposites_are_opposite(
        a in expression(),
        b in expression(),
        at in prop::collection::vec(-3_i64..3, 3),
    ) {
        let negated = a.clone().negate();
        for (a, b) in [(&a, &b), (&a, &negated)] {
            if are_opposite(a, b)
                && let (Some(a), Some(b)) = (defined_value(a, &at), defined_value(b, &at))
            {
                prop_assert!((a != 0) != (b != 0));
            }
        }
    }
}
