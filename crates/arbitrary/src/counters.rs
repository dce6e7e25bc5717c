//! Programs with counters, most of which are only compared with each other
//! ([`palisade_program::shift`]), and may then be shifted. Now and then one is used in another way. Temporaries of the front end hold
//! counters here and other values there.

use crate::Rng;
use crate::writer::Writer;

/// A random program whose threads end. Up to three threads count `x` and `y` up and compare them.
pub fn generate(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let mut out = Writer::default();
    out.line(&format!("shared x = {};", rng.below(3)));
    out.line(&format!("shared y = {};", rng.below(5)));
    out.line("shared flag = 0;");
    out.line("shared slot[2] = 0;");
    let threads = 2 + usize::from(rng.chance(20));
    let statements = if threads == 2 { 4 } else { 3 };
    for t in 0..threads {
        out.open(&format!("thread t{t}"));
        for local in ["p", "q", "r"] {
            out.line(&format!("local {local} = 0;"));
        }
        for _ in 0..statements {
            statement(&mut rng, &mut out, 1);
        }
        if rng.chance(60) {
            out.line(&format!("assert(p - q != {});", rng.below(5)));
        }
        out.close();
    }
    if rng.chance(60) {
        out.line(&format!("never x > y + {};", rng.below(4)));
    }
    out.finish()
}

/// A program without end: some threads count `x` up while it is not far ahead of `y`, others count `y` up while it
/// is behind. With faults: a bound or a comparison that is off by one, a fence or an atomic step left out.
pub fn without_end(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let mut out = Writer::default();
    out.line("shared x = 0;");
    out.line("shared y = 0;");
    out.line("shared slot[2] = 0;");
    let ahead = 1 + rng.below(2);
    let marks = rng.chance(60);
    for t in 0..2 + usize::from(rng.chance(25)) {
        out.open(&format!("thread t{t}"));
        for local in ["p", "q", "r"] {
            out.line(&format!("local {local} = 0;"));
        }
        out.open("while (1)");
        let mut reads = ["p = x;", "q = y;"];
        if rng.chance(40) {
            reads.reverse();
        }
        for read in reads {
            out.line(read);
        }
        let faulty = usize::from(rng.chance(15));
        if t == 0 || (t == 2 && rng.chance(50)) {
            out.open(&format!("if (p - q < {})", ahead + faulty));
            if marks {
                out.line("slot[p % 2] = 1;");
            }
            fence(&mut rng, &mut out, 40);
            count(&mut rng, &mut out, "x", "p", t == 2);
        } else {
            out.open(if faulty == 0 {
                "if (q < p)"
            } else {
                "if (q <= p)"
            });
            if marks {
                out.line("r = slot[q % 2];");
                out.line("assert(r == 1);");
            }
            count(&mut rng, &mut out, "y", "q", t == 2);
        }
        out.close();
        fence(&mut rng, &mut out, 50);
        out.close();
        out.close();
    }
    let least = if rng.chance(70) {
        "y > x"
    } else {
        "x % 3 == 1 && y > x"
    };
    out.line(&format!("never {least};"));
    out.line(&format!(
        "never x > y + {};",
        ahead + usize::from(rng.chance(50))
    ));
    out.finish()
}

/// A program whose counters may wrap around: some threads count `x` up while it is not too far ahead of `y`, others count `y` up while it is behind. Now and then a
/// counter is used as a number, or there is no room for one more.
pub fn round(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let rng = &mut rng;
    let mut out = Writer::default();
    let start = rng.below(3);
    out.line(&format!("shared x = {start};"));
    out.line(&format!("shared y = {start};"));
    out.line("shared slot[2] = 0;");
    let ahead = 1 + rng.below(2);
    let by = 1 + rng.below(2);
    for t in 0..2 + usize::from(rng.chance(20)) {
        out.open(&format!("thread t{t}"));
        out.line("local p = 0; local q = 0; local r = 0;");
        out.open("while (1)");
        let line = *rng.pick(&["p = x; q = y;", "q = y; p = x;"]);
        out.line(line);
        let faulty = usize::from(rng.chance(15));
        if t == 0 || (t == 2 && rng.chance(50)) {
            let test = match rng.below(8) {
                0 => format!("p < q + {ahead}"),
                1 | 2 => format!("p - q != {}", (ahead + faulty) * by),
                3 => format!("p != q + {}", (ahead + faulty) * by),
                _ => format!("p - q < {}", (ahead + faulty) * by),
            };
            out.open(&format!("if ({test})"));
            out.line("slot[p % 2] = 1;");
            fence(rng, &mut out, 60);
            count_by(rng, &mut out, ("x", "p"), by, t == 2);
        } else {
            out.open(if faulty == 0 { "if (q != p)" } else { "if (1)" });
            out.line("r = slot[q % 2];");
            let line = *rng.pick(&["assert(r == 1);", "slot[q % 2] = 0;", "r = 0;"]);
            out.line(line);
            count_by(rng, &mut out, ("y", "q"), by, t == 2);
        }
        out.close();
        if rng.chance(4) {
            let line = *rng.pick(&["assert(p < 3);", "r = p;", "slot[p % 3 % 2] = 1;"]);
            out.line(line);
        }
        fence(rng, &mut out, 60);
        out.close();
        out.close();
    }
    out.line(&format!("never x - y == {};", ahead * by + rng.below(2)));
    if rng.chance(30) {
        out.line("never x % 4 == 1 && x != y + 1;");
    }
    out.finish()
}

fn fence(rng: &mut Rng, out: &mut Writer, percent: usize) {
    if rng.chance(percent) {
        let kind = *rng.pick(&["fence;", "fence(ss);"]);
        out.line(kind);
    }
}

/// Adds one to a counter that was read: atomically if others do the same, mostly.
fn count(rng: &mut Rng, out: &mut Writer, counter: &str, local: &str, is_shared: bool) {
    count_by(rng, out, (counter, local), 1, is_shared);
}

fn count_by(
    rng: &mut Rng,
    out: &mut Writer,
    (counter, local): (&str, &str),
    by: usize,
    is_shared: bool,
) {
    if is_shared || rng.chance(40) {
        out.line(&format!("r = cas({counter}, {local}, {local} + {by});"));
    } else {
        out.line(&format!("{counter} = {local} + {by};"));
    }
}

fn statement(rng: &mut Rng, out: &mut Writer, depth: usize) {
    let counter = *rng.pick(&["x", "y"]);
    let local = *rng.pick(&["p", "q"]);
    let other = if local == "p" { "q" } else { "p" };
    let step = 1 + rng.below(2);
    match rng.below(16) {
        0 | 1 => out.line(&format!("{local} = {counter};")),
        2 => out.line(&format!("{counter} = {local} + {step};")),
        3 => out.line(&format!("{counter} = {counter} + {step};")),
        4 => out.line(&format!("{local} = fetch_add({counter}, {step});")),
        5 => out.line(&format!("slot[{local} % 2] = {};", rng.below(2))),
        6 => out.line(&format!("r = slot[{counter} % 2];")),
        7 => out.line(&format!("assert(slot[{local} % 2] == r || flag == 1);")),
        8 => {
            let line = *rng.pick(&["fence;", "fence(ss);", "flag = 1;", "flag = r;"]);
            out.line(line);
        }
        // Against the rules, seldom.
        9 if rng.chance(15) => out.line(&format!("r = {local};")),
        9 if rng.chance(15) => out.line(&format!("assert({counter} != 4);")),
        9 => out.line(&format!("{local} = {other} + r;")),
        _ if depth == 0 => out.line(&format!("{counter} = {local};")),
        choice => {
            let condition = match choice {
                10 => format!("cas({counter}, {local}, {local} + {step})"),
                11 => format!("{local} - {other} < {step}"),
                12 => "x == y".to_owned(),
                13 => format!("{local} < {counter}"),
                14 => format!("{counter} % 3 == {}", rng.below(3)),
                _ => format!("flag == {}", rng.below(2)),
            };
            out.open(&format!("if ({condition})"));
            statement(rng, out, depth - 1);
            if rng.chance(40) {
                out.middle("else");
                statement(rng, out, depth - 1);
            }
            out.close();
        }
    }
}
