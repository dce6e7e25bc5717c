//! Random programs over floating point: numbers of all kinds (zeros, infinities, NaNs, the least and the greatest) by their
//! bits in memory, compared, negated, converted, seen as integers, and computed with. Results that would have to
//! be rounded while the program runs are rare: Palisade does not follow them.

use std::fmt::Write;

use crate::c_support::Rng;

const DOUBLES: [&str; 14] = [
    "0",
    "0x8000000000000000",
    "0x7ff0000000000000",
    "0xfff0000000000000",
    "0x7ff8000000000000",
    "0xfff8000000000123",
    "0x3ff0000000000000",
    "0xbff0000000000000",
    "0x4008000000000001",
    "0x0000000000000001",
    "0x800fffffffffffff",
    "0x7fefffffffffffff",
    "0xffefffffffffffff",
    "0x3fb999999999999a",
];
const SINGLES: [&str; 12] = [
    "0",
    "0x80000000",
    "0x7f800000",
    "0xff800000",
    "0x7fc00001",
    "0xffc00000",
    "0x3f800000",
    "0xbf800000",
    "0x3dcccccd",
    "0x00800000",
    "0x7f7fffff",
    "0x40490fdb",
];
const CONSTANTS: [&str; 14] = [
    "0.0", "-0.0", "1.0", "-1.0", "0.1", "0.1f", "1.5f", "1e300", "-1e-310", "0x1.8p3", "1e400",
    "3", "-7", "2.5e10f",
];
const COMPARISONS: [&str; 6] = ["<", ">", "<=", ">=", "==", "!="];
const OPERATIONS: [&str; 4] = ["+", "-", "*", "/"];

/// A program, and whether its result is open.
pub(crate) fn program(number: usize) -> (String, bool) {
    let mut rng = Rng::new(number);
    let rng = &mut rng;
    let p = format!("p{number}_");
    let mut text = format!(
        "union {p}d {{ double value; unsigned long bits; struct {{ unsigned low, high; }} parts; }};\n\
         union {p}s {{ float value; unsigned bits; }};\n\
         double {p}a, {p}b; float {p}f;\n\
         static unsigned {p}high(double d) {{ union {p}d u; u.value = d; return u.parts.high; }}\n\
         static unsigned {p}low(double d) {{ unsigned long b; memcpy(&b, &d, sizeof b); return (unsigned)b; }}\n\
         unsigned {p}run(void) {{\n  unsigned sum = 17; union {p}d u; union {p}s s; volatile int zero = 0;\n"
    );
    for name in ["a", "b"] {
        let bits = rng.pick(&DOUBLES);
        let _ = writeln!(text, "  u.bits = {bits}ul; if (!zero) {p}{name} = u.value;");
    }
    let bits = rng.pick(&SINGLES);
    let _ = writeln!(text, "  s.bits = {bits}u; if (!zero) {p}f = s.value;");
    for _ in 0..6 {
        let check = check(rng, &p);
        let _ = writeln!(text, "  sum = sum * 31 + (unsigned)({check});");
    }
    text.push_str("  return sum;\n}\n");
    (text, false)
}

fn check(rng: &mut Rng, p: &str) -> String {
    match rng.below(8) {
        0 => format!("!({})", value(rng, p, 1)),
        1 => {
            let (a, b) = (value(rng, p, 0), value(rng, p, 0));
            format!("({a}) ? ({a} < {b}) : 2")
        }
        2 => format!("{p}high(-{p}a) + {p}low({p}b)"),
        3 => {
            let (a, b) = (rng.pick(&CONSTANTS), rng.pick(&CONSTANTS));
            let op = rng.pick(&OPERATIONS);
            format!("{p}high(({a} {op} {b}) == ({a} {op} {b}) ? ({a} {op} {b}) : 1)")
        }
        4 => format!("(int)(({} + 2.75f) / 2)", 1 + rng.below(9)),
        _ => {
            let (a, b) = (value(rng, p, 1), value(rng, p, 1));
            format!("{a} {} {b}", rng.pick(&COMPARISONS))
        }
    }
}

fn value(rng: &mut Rng, p: &str, depth: usize) -> String {
    match rng.below(if depth > 0 { 9 } else { 5 }) {
        0 => format!("{p}a"),
        1 => format!("{p}b"),
        2 => format!("{p}f"),
        3 => rng.pick(&CONSTANTS).to_owned(),
        4 => format!("(double){p}f"),
        5 => format!("(- {})", value(rng, p, depth - 1)),
        6 => format!("(float)({})", value(rng, p, depth - 1)),
        _ => {
            let a = value(rng, p, depth - 1);
            let b = value(rng, p, depth - 1);
            format!("({a} {} {b})", rng.pick(&OPERATIONS))
        }
    }
}
