//! Cost against the number of threads: CPU time and states of Increment (lock) and Tas
//! lock for 1 to 64 threads, with templates and with `--symmetry off` (each copy a
//! thread of its own), as an SVG picture. A point that takes longer than the limit is
//! left out, and so are larger numbers of threads.

use std::fmt::Write;

use palisade_program::Model;
use palisade_verify::Threads;

use super::{Experiment, measure};
use crate::args::BenchArgs;
use crate::context::Context;

const NUMBERS: [u32; 11] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64];
const PROGRAMS: [&str; 2] = ["increment_lock", "tas_lock"];
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 240.0;
const MARGIN: f64 = 56.0;

/// Threads, CPU seconds, states.
type Point = (u32, f64, f64);

/// One line of a picture.
struct Curve {
    name: &'static str,
    colour: &'static str,
    points: Vec<Point>,
}

pub(super) fn draw(experiments: &[Experiment], args: &BenchArgs, context: &Context) -> String {
    let mut panels = String::new();
    let mut row = 0;
    for experiment in experiments
        .iter()
        .filter(|e| PROGRAMS.contains(&e.name.as_str()))
    {
        let curves = [
            ("templates", "#1b6ca8", true),
            ("symmetry off", "#c0392b", false),
        ];
        let curves = curves.map(|(name, colour, symmetry)| Curve {
            name,
            colour,
            points: points(experiment, symmetry, args, context),
        });
        let top = f64::from(row) * (HEIGHT + 2.0 * MARGIN);
        let time = |p: &Point| p.1.max(0.01);
        let states = |p: &Point| p.2.max(1.0);
        let title = |what: &str| format!("{}: {what}", experiment.title);
        panel(
            &mut panels,
            (0.0, top),
            &title("CPU seconds"),
            &curves,
            time,
        );
        let right = WIDTH + 2.0 * MARGIN;
        panel(&mut panels, (right, top), &title("states"), &curves, states);
        row += 1;
    }
    let (width, height) = (
        2.0 * (WIDTH + 2.0 * MARGIN),
        f64::from(row) * (HEIGHT + 2.0 * MARGIN),
    );
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n{panels}</svg>\n"
    )
}

fn points(
    experiment: &Experiment,
    symmetry: bool,
    args: &BenchArgs,
    context: &Context,
) -> Vec<Point> {
    let mut points = Vec::new();
    for n in NUMBERS {
        let threads = Threads::Exactly(n);
        let program = &experiment.safe;
        let limit = args.row_timeout;
        let measured = measure(program, threads, symmetry, Model::Sc, limit, context);
        if measured.verdict != "holds" {
            break;
        }
        points.push((n, measured.cpu_seconds, measured.states as f64));
    }
    points
}

/// A picture with logarithmic axes; the powers of ten that frame the values are its
/// lines.
fn panel(
    svg: &mut String,
    (left, top): (f64, f64),
    title: &str,
    curves: &[Curve],
    value: impl Fn(&Point) -> f64,
) {
    let all = || curves.iter().flat_map(|c| &c.points);
    let low = all().map(&value).fold(f64::INFINITY, f64::min).min(1.0);
    let high = all().map(&value).fold(1.0, f64::max);
    let (low, high) = (
        low.log10().floor(),
        high.log10().ceil().max(low.log10().floor() + 1.0),
    );
    let most = f64::from(NUMBERS[NUMBERS.len() - 1]).log2();
    let x = |n: u32| left + MARGIN + WIDTH * f64::from(n).log2() / most;
    let y = |v: f64| top + MARGIN + HEIGHT * (1.0 - (v.log10() - low) / (high - low));
    let (x0, x1) = (left + MARGIN, left + MARGIN + WIDTH);
    // Writing to a string does not fail.
    let _ = writeln!(
        svg,
        "<text x=\"{x0}\" y=\"{}\" font-weight=\"bold\">{title}</text>",
        top + 24.0
    );
    let mut power = low;
    while power <= high {
        let at = y(10_f64.powf(power));
        let _ = writeln!(
            svg,
            "<line x1=\"{x0}\" x2=\"{x1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">1e{power}</text>",
            x0 - 6.0,
            at + 4.0
        );
        power += 1.0;
    }
    let bottom = top + MARGIN + HEIGHT;
    for n in [1, 2, 4, 8, 16, 32, 64] {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{n}</text>",
            x(n),
            bottom + 18.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">threads</text>",
        f64::midpoint(x0, x1),
        bottom + 36.0
    );
    for (k, curve) in curves.iter().enumerate() {
        let points = curve.points.iter();
        let path: Vec<String> = points
            .map(|p| format!("{:.1},{:.1}", x(p.0), y(value(p))))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>",
            path.join(" "),
            curve.colour
        );
        for point in &path {
            let (px, py) = point.split_once(',').unwrap_or(("0", "0"));
            let _ = writeln!(
                svg,
                "<circle cx=\"{px}\" cy=\"{py}\" r=\"3\" fill=\"{}\"/>",
                curve.colour
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"{}\">{}</text>",
            x1,
            top + 24.0 + 14.0 * k as f64,
            curve.colour,
            curve.name
        );
    }
}
