//! Random programs with processes.

use crate::Rng;
use crate::shape::Shape;
use crate::writer::Writer;

pub(crate) fn generate(rng: &mut Rng, shape: &Shape) -> String {
    let mut out = Writer::default();
    let processes = shape.threads.max(2);
    for p in 0..processes {
        out.open(&format!("process p{p}"));
        for v in 0..shape.vars {
            let init = if rng.chance(60) {
                0
            } else {
                rng.between(0, shape.modulus - 1)
            };
            out.line(&format!("shared x{p}{v} = {init};"));
        }
        out.line("local r = 0;");
        let count = rng.between(2, shape.statements.max(2) as i64);
        for _ in 0..count {
            statement(rng, shape, &mut out, p, processes, 0);
        }
        out.close();
    }
    properties(rng, shape, &mut out, processes);
    out.finish()
}

fn own(rng: &mut Rng, shape: &Shape, p: usize) -> String {
    format!("x{p}{}", rng.below(shape.vars))
}

fn statement(
    rng: &mut Rng,
    shape: &Shape,
    out: &mut Writer,
    p: usize,
    processes: usize,
    depth: usize,
) {
    let m = shape.modulus;
    let x = own(rng, shape, p);
    let other = (p + 1 + rng.below(processes - 1)) % processes;
    let y = own(rng, shape, other);
    let c = rng.between(0, m - 1);
    if shape.remote_atomics && rng.chance(30) {
        out.line(&remote_atomic(rng, shape, p, other));
        return;
    }
    match rng.below(if depth < 1 { 12 } else { 9 }) {
        0 | 1 => out.line(&format!("put({y}, p{other}, {x});")),
        2 | 3 => out.line(&format!("{x} = get({y}, p{other});")),
        4 if shape.fences => {
            let is_local = shape.local_flushes && rng.chance(70);
            let word = if is_local { "flush_local" } else { "flush" };
            out.line(&format!("{word}(p{other});"));
        }
        5 | 6 => out.line(&format!("{x} = {c};")),
        7 => out.line(&format!("{x} = (r + {c}) % {m};")),
        9 if shape.loops => {
            // Names need only differ within the process.
            let i = format!("i{}", rng.below(1_000_000));
            out.line(&format!("local {i} = 0;"));
            out.open(&format!("while ({i} < 2)"));
            statement(rng, shape, out, p, processes, depth + 1);
            out.line(&format!("{i} = {i} + 1;"));
            out.close();
        }
        10 => {
            out.open(&format!("if ({x} == {c})"));
            statement(rng, shape, out, p, processes, depth + 1);
            out.close();
        }
        11 if shape.asserts => out.line(&format!("assert(r != {c});")),
        _ => out.line(&format!("r = {x};")),
    }
}

/// A remote atomic operation of process `p` on a variable of `other`.
fn remote_atomic(rng: &mut Rng, shape: &Shape, p: usize, other: usize) -> String {
    let (result, remote) = (own(rng, shape, p), own(rng, shape, other));
    let operand = |rng: &mut Rng| match rng.below(3) {
        0 => own(rng, shape, p),
        1 => "r".to_owned(),
        _ => rng.between(0, shape.modulus - 1).to_string(),
    };
    let op = [
        "sum", "replace", "no_op", "min", "max", "band", "bor", "bxor",
    ][rng.below(8)];
    let first = operand(rng);
    match rng.below(3) {
        0 => {
            let second = operand(rng);
            format!("{result} = compare_and_swap({remote}, p{other}, {first}, {second});")
        }
        1 => format!("{result} = fetch_and_op({remote}, p{other}, {first}, {op});"),
        _ => format!("accumulate({remote}, p{other}, {first}, {op});"),
    }
}

fn properties(rng: &mut Rng, shape: &Shape, out: &mut Writer, processes: usize) {
    let fact = |rng: &mut Rng| {
        let p = rng.below(processes);
        let c = rng.between(0, shape.modulus - 1);
        if rng.chance(50) {
            format!("p{p}.r == {c}")
        } else {
            format!("{} == {c}", own(rng, shape, p))
        }
    };
    if shape.finals && rng.chance(70) {
        let (a, b) = (fact(rng), fact(rng));
        out.line(&format!("finally (!({a} && {b}));"));
    }
    if shape.nevers && rng.chance(50) {
        let (a, b) = (fact(rng), fact(rng));
        out.line(&format!("never {a} && {b};"));
    }
}
