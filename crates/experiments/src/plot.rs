//! Cost against the number of threads: CPU time and states of programs for 1 to 64 threads, as
//! an SVG picture with a panel for each.

use std::fmt::Write;

/// The numbers of threads.
pub(crate) const NUMBERS: [u32; 11] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64];
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 240.0;
const MARGIN: f64 = 56.0;

/// Threads, CPU seconds, states.
pub(crate) type Point = (u32, f64, f64);

/// One line of a picture.
pub(crate) struct Curve {
    pub(crate) name: &'static str,
    pub(crate) colour: &'static str,
    pub(crate) points: Vec<Point>,
}

/// The picture of some programs, with their titles.
pub(crate) fn draw(programs: &[(String, [Curve; 2])]) -> String {
    let mut panels = String::new();
    let (across, down) = (WIDTH + 2.0 * MARGIN, HEIGHT + 2.0 * MARGIN);
    let mut top = 0.0;
    for (title, curves) in programs {
        let title = |what: &str| format!("{title}: {what}");
        let time = |p: &Point| p.1.max(0.01);
        let states = |p: &Point| p.2.max(1.0);
        panel(&mut panels, (0.0, top), &title("CPU seconds"), curves, time);
        panel(&mut panels, (across, top), &title("states"), curves, states);
        top += down;
    }
    let width = 2.0 * across;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {top}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{top}\" fill=\"white\"/>\n{panels}</svg>\n"
    )
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
