//! Random Rust programs whose threads, one after the other, work on one object behind a lock: an
//! enum whose variants lie over one another, a union, an array, a pair. Other types are written than
//! are read, whole objects are copied, swapped and reinterpreted, so that the cells of the shared
//! memory are cut and put together again. Compared with the compiled programs as in
//! [`rust_random`](crate::rust_random).

use std::fmt::Write;

use crate::rust_random::{Rng, compare};

const DECLARATIONS: &str = "
use std::sync::Mutex;
#[derive(Clone, Copy)]
enum Shape { Empty, One(i8), Two { a: u16, b: u64 }, Three(Option<u32>, [u8; 3]), Four(i64, bool) }
#[derive(Clone, Copy)]
#[repr(C)]
union Pun { word: u64, halves: [u32; 2], bytes: [u8; 8] }
#[derive(Clone, Copy)]
struct All { shape: Shape, other: Shape, pun: Pun, pair: (u8, u32), list: [u16; 4] }
impl Shape {
    fn number(&self) -> u64 {
        match self {
            Shape::Empty => 1,
            Shape::One(x) => *x as u64,
            Shape::Two { a, b } => *a as u64 ^ *b,
            Shape::Three(Some(x), [a, _, c]) => *x as u64 + *a as u64 * 3 + *c as u64,
            Shape::Three(None, [_, b, _]) => *b as u64,
            Shape::Four(x, y) => (*x as u64) << (*y as u32),
        }
    }
    fn change(&mut self, by: u64) {
        match self {
            Shape::Empty => *self = Shape::One(by as i8),
            Shape::One(x) => *x = x.wrapping_sub(by as i8),
            Shape::Two { a, b } => { *a ^= by as u16; *b = b.wrapping_add(by) }
            Shape::Three(x, list) => { *x = x.map(|x| x ^ by as u32); list[1] = by as u8 }
            Shape::Four(x, y) => { *x = x.wrapping_mul(by as i64); *y = by & 1 == 1 }
        }
    }
}
const FIRST: All = All {
    shape: Shape::Empty, other: Shape::Two { a: 7, b: 1 << 40 }, pun: Pun { word: 0x0102_0304_0506_0708 },
    pair: (200, 70_000), list: [1, 2, 3, 65_535],
};
";

fn value(rng: &mut Rng) -> String {
    let known = [
        0,
        1,
        2,
        127,
        128,
        255,
        256,
        65_535,
        1 << 31,
        u64::MAX,
        0x8877_6655_4433_2211,
    ];
    let known = known[rng.below(known.len())];
    match rng.below(4) {
        0 => format!("{known}u64"),
        1 => "s.pair.1 as u64".to_owned(),
        2 => "unsafe { s.pun.word }".to_owned(),
        _ => format!("opaque({known})"),
    }
}

fn shape(rng: &mut Rng) -> String {
    let v = value(rng);
    match rng.below(5) {
        0 => "Shape::Empty".to_owned(),
        1 => format!("Shape::One({{ {v} }} as i8)"),
        2 => format!("Shape::Two {{ a: {{ {v} }} as u16, b: {v} }}"),
        3 => format!(
            "Shape::Three(if {{ {v} }} & 1 == 1 {{ Some({{ {v} }} as u32) }} else {{ None }}, [1, {{ {v} }} as u8, 3])"
        ),
        _ => format!("Shape::Four({{ {v} }} as i64, {{ {v} }} > 3)"),
    }
}

fn step(rng: &mut Rng) -> String {
    let v = value(rng);
    match rng.below(12) {
        0 => format!("s.shape = {};", shape(rng)),
        1 => format!("s.other = {};", shape(rng)),
        2 => format!("let v = {v}; s.shape.change(v);"),
        3 => "{ let s = &mut *s; std::mem::swap(&mut s.shape, &mut s.other); }".to_owned(),
        4 => "s.other = s.shape;".to_owned(),
        5 => format!("s.pun.word = {v};"),
        6 => format!(
            "let v = {v}; unsafe {{ s.pun.halves[{}] = v as u32; }}",
            rng.below(2)
        ),
        7 => format!(
            "let v = {v}; unsafe {{ s.pun.bytes[{}] = v as u8; }}",
            rng.below(8)
        ),
        8 => "s.list = unsafe { std::mem::transmute::<u64, [u16; 4]>(s.pun.word) };".to_owned(),
        9 => "s.pun = Pun { word: unsafe { std::mem::transmute::<[u16; 4], u64>(s.list) } };"
            .to_owned(),
        10 => format!("let v = {v}; s.pair = (v as u8, (v >> 3) as u32);"),
        _ => format!("let v = {v}; s.list[{}] = v as u16;", rng.below(4)),
    }
}

fn program(number: usize) -> String {
    let mut rng = Rng::new(number + 91);
    let mut text =
        format!("fn p{number}() -> u64 {{\n    static S: Mutex<All> = Mutex::new(FIRST);\n");
    for _ in 0..=rng.below(2) {
        text.push_str("    std::thread::spawn(|| {\n        let mut s = S.lock().unwrap();\n");
        for _ in 0..=rng.below(5) {
            let _ = writeln!(text, "        {}", step(&mut rng));
        }
        text.push_str("    }).join().unwrap();\n");
    }
    text.push_str(
        "    let s = S.lock().unwrap();
    let mut sum = s.shape.number().wrapping_mul(31) ^ s.other.number();
    for b in unsafe { s.pun.bytes } { sum = sum.wrapping_mul(31) ^ b as u64; }
    for b in s.list { sum = sum.wrapping_mul(31) ^ b as u64; }
    sum.wrapping_add(s.pair.0 as u64).wrapping_add(s.pair.1 as u64)\n}\n",
    );
    text
}

#[test]
fn threads_see_what_the_compiled_ones_do() {
    compare("shared", DECLARATIONS, 6, program);
}
