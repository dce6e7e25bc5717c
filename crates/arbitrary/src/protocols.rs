//! Small protocols as people write them, with faults: a fence left out, a value that is off by one, a wait
//! for the wrong turn. What they have in common: one variable is written several times, and
//! others rely on the order.
//!
//! | protocol | what it exercises |
//! |---|---|
//! | hand-over | spin loops; two to four threads that pass a turn, some for two rounds |
//! | handshake | flags that are raised, lowered and raised again |
//! | seqlock | a version around data, written once or twice |
//! | cas lock | compare-and-swap on a variable with stores in buffers |

use crate::Rng;
use crate::writer::Writer;

/// A random protocol; it ends, or spins without storing.
pub fn generate(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let mut out = Writer::default();
    match rng.below(4) {
        0 => hand_over(&mut rng, &mut out),
        1 => handshake(&mut rng, &mut out),
        2 => seqlock(&mut rng, &mut out),
        _ => cas_lock(&mut rng, &mut out),
    }
    out.finish()
}

/// A place for a fence: one of `percent` has it.
fn fence(rng: &mut Rng, out: &mut Writer, percent: usize) {
    if rng.chance(percent) {
        let kind = *rng.pick(&["fence;", "fence(ss);", "fence(ss);"]);
        out.line(kind);
    }
}

/// A value that is off by one now and then.
fn value(rng: &mut Rng, right: usize) -> usize {
    right + usize::from(rng.chance(8))
}

fn hand_over(rng: &mut Rng, out: &mut Writer) {
    let threads = 2 + rng.below(3);
    let rounds = if threads == 2 { 1 + rng.below(2) } else { 1 };
    let [shared, wait] = [rng.chance(50), rng.chance(80)];
    out.line("shared turn = 0;");
    out.line("shared d = 0;");
    for t in 0..threads {
        out.open(&format!("thread t{t}"));
        out.line("local r = 0;");
        for round in 0..rounds {
            let number = round * threads + t;
            if wait || number > 0 {
                let turn = value(rng, number);
                out.open(&format!("while (turn != {turn})"));
                out.line("skip;");
                out.close();
            }
            out.line("r = d;");
            out.line(&format!("assert(r == {});", value(rng, number)));
            out.line(&format!("d = {};", number + 1));
            if shared {
                out.line("d = r + 1;");
            }
            fence(rng, out, 75);
            out.line(&format!("turn = {};", number + 1));
        }
        out.close();
    }
    if rng.chance(50) {
        out.line(&format!("finally (d == {});", value(rng, rounds * threads)));
    }
}

fn handshake(rng: &mut Rng, out: &mut Writer) {
    let rounds = 1 + rng.below(2);
    out.line("shared f0 = 0;");
    out.line("shared f1 = 0;");
    for t in 0..2 {
        out.open(&format!("thread t{t}"));
        out.line("local r = 0;");
        for round in 0..rounds {
            out.line(&format!("f{t} = 1;"));
            fence(rng, out, 70);
            out.line(&format!("r = f{};", 1 - t));
            out.open("if (r == 0)");
            out.line(&format!("c{round}: skip;"));
            out.close();
            fence(rng, out, 15);
            out.line(&format!("f{t} = 0;"));
            fence(rng, out, 30);
        }
        out.close();
    }
    for (a, b) in (0..rounds).flat_map(|a| (0..rounds).map(move |b| (a, b))) {
        out.line(&format!("never t0@c{a} && t1@c{b};"));
    }
}

fn seqlock(rng: &mut Rng, out: &mut Writer) {
    for name in ["v", "d", "e"] {
        out.line(&format!("shared {name} = 0;"));
    }
    out.open("thread w");
    for round in 1..=1 + rng.below(2) {
        out.line(&format!("v = {};", 2 * round - 1));
        fence(rng, out, 85);
        out.line(&format!("d = {round};"));
        fence(rng, out, 20);
        out.line(&format!("e = {};", value(rng, round)));
        fence(rng, out, 85);
        out.line(&format!("v = {};", 2 * round));
    }
    out.close();
    for reader in 0..=usize::from(rng.chance(20)) {
        out.open(&format!("thread r{reader}"));
        for local in ["a", "b", "x", "y"] {
            out.line(&format!("local {local} = 0;"));
        }
        out.line("a = v;");
        if rng.chance(85) {
            out.line("assume(a % 2 == 0);");
        }
        out.line("x = d;");
        out.line("y = e;");
        out.line("b = v;");
        let check = *rng.pick(&[
            "a != b || x == y",
            "a != b || x == y",
            "a != b || 2 * x == a",
        ]);
        out.line(&format!("assert({check});"));
        out.close();
    }
}

fn cas_lock(rng: &mut Rng, out: &mut Writer) {
    let threads = 2 + rng.below(2);
    let buffered = rng.chance(40);
    out.line("shared m = 0;");
    out.line("shared d = 0;");
    for t in 0..threads {
        out.open(&format!("thread t{t}"));
        for local in ["ok", "r"] {
            out.line(&format!("local {local} = 0;"));
        }
        if buffered && t == 0 {
            out.line("m = 1;");
            out.line("ok = cas(m, 1, 0);");
        }
        out.line("ok = cas(m, 0, 1);");
        out.open("if (ok)");
        out.line("c: skip;");
        out.line("r = d;");
        out.line("d = r + 1;");
        fence(rng, out, 80);
        if rng.chance(92) {
            out.line("m = 0;");
        }
        out.close();
        out.close();
    }
    if rng.chance(50) {
        out.line("never t0@c && t1@c;");
    }
    if rng.chance(50) {
        out.line(&format!("finally (d <= {});", value(rng, threads) - 1));
    } else {
        out.line("finally (d > 0);");
    }
}
