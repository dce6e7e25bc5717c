//! Drawing: structures as pictures, by [Friggens and Groves, arXiv 2015]'s conventions (section 2,
//! "Graphical representation").
//!
//! Place: output. Double line = summary object; dashed outline = object that may be absent;
//! solid arrow = 1, dotted arrow = 1/2; hexagon = thread, rectangle = any other object; a
//! unary predicate is written in its object when 1, with `= 1/2` when unknown.
//!
//! [`dot`] writes Graphviz text; [`svg`] draws without Graphviz by a plain layered layout;
//! [`page`] is one HTML page for a location.

use crate::kleene::Kleene;
use crate::structure::Structure;
use crate::vocabulary::{PredId, Vocabulary};
use std::collections::BTreeMap;
use std::fmt::Write;

/// An arrow between two objects.
struct Arrow {
    from: usize,
    to: usize,
    definite: bool,
    label: String,
}

/// What is drawn.
struct Picture {
    nullary: Vec<String>,
    objects: Vec<Vec<String>>,
    threads: Vec<bool>,
    summary: Vec<bool>,
    maybe: Vec<bool>,
    arrows: Vec<Arrow>,
}

fn shows(voc: &Vocabulary, p: PredId, k: Kleene) -> bool {
    let (yes, half) = voc.get(p).shown;
    match k {
        Kleene::True => yes,
        Kleene::Half => half,
        Kleene::False => false,
    }
}

fn picture(voc: &Vocabulary, s: &Structure) -> Picture {
    let n = s.len();
    let mut out = Picture {
        nullary: Vec::new(),
        objects: vec![Vec::new(); n],
        threads: vec![false; n],
        summary: (0..n).map(|u| s.is_summary(voc, u)).collect(),
        maybe: (0..n)
            .map(|u| s.get(voc, PredId::AC, &[u]) != Kleene::True)
            .collect(),
        arrows: Vec::new(),
    };
    let text = |name: &str, k: Kleene| {
        if k == Kleene::Half {
            format!("{name} = 1/2")
        } else {
            name.to_owned()
        }
    };
    let mut arrows: BTreeMap<(usize, usize, bool), Vec<String>> = BTreeMap::new();
    for p in voc.ids().filter(|p| *p != PredId::SM && *p != PredId::AC) {
        let pred = voc.get(p);
        match pred.arity {
            0 => {
                let k = s.get(voc, p, &[]);
                if shows(voc, p, k) {
                    out.nullary.push(text(&pred.name, k));
                }
            }
            1 => {
                let is_thread = ["isthread", "is_thread"].contains(&pred.name.as_str());
                for u in 0..n {
                    let k = s.get(voc, p, &[u]);
                    if is_thread && k.may() {
                        out.threads[u] = true;
                    } else if shows(voc, p, k) {
                        out.objects[u].push(text(&pred.name, k));
                    }
                }
            }
            2 => {
                for u in 0..n {
                    for w in 0..n {
                        let k = s.get(voc, p, &[u, w]);
                        if shows(voc, p, k) {
                            let key = (u, w, k == Kleene::True);
                            arrows.entry(key).or_default().push(pred.name.clone());
                        }
                    }
                }
            }
            // Relations of more than two objects are listed above the picture.
            _ => {
                let count = (0..n.pow(pred.arity as u32))
                    .map(|i| crate::coerce::tuple_at(i / n, i % n, pred.arity, n))
                    .filter(|t| s.get(voc, p, t).may())
                    .count();
                if count > 0 {
                    out.nullary.push(format!("{}: {count} tuples", pred.name));
                }
            }
        }
    }
    out.arrows = arrows
        .into_iter()
        .map(|((from, to, definite), names)| Arrow {
            from,
            to,
            definite,
            label: names.join(", "),
        })
        .collect();
    out
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// The structure as a Graphviz digraph.
pub fn dot(voc: &Vocabulary, name: &str, s: &Structure) -> String {
    let p = picture(voc, s);
    let quote = |t: &str| t.replace('\\', "\\\\").replace('"', "\\\"");
    let mut out = format!("digraph \"{}\" {{\n  rankdir=LR;\n", quote(name));
    if !p.nullary.is_empty() {
        let _ = writeln!(
            out,
            "  label=\"{}\"; labelloc=t;",
            quote(&p.nullary.join(", "))
        );
    }
    for u in 0..p.objects.len() {
        let _ = writeln!(
            out,
            "  u{u} [label=\"{}\", shape={}, peripheries={}{}];",
            quote(&p.objects[u].join("\n")).replace('\n', "\\n"),
            if p.threads[u] { "hexagon" } else { "box" },
            if p.summary[u] { 2 } else { 1 },
            if p.maybe[u] { ", style=dashed" } else { "" },
        );
    }
    for a in &p.arrows {
        let _ = writeln!(
            out,
            "  u{} -> u{} [label=\"{}\"{}];",
            a.from,
            a.to,
            quote(&a.label),
            if a.definite { "" } else { ", style=dotted" },
        );
    }
    out.push_str("}\n");
    out
}

const LINE: f64 = 15.0;
const CHAR: f64 = 7.0;

/// Where an object is drawn: centre and half sizes.
#[derive(Clone, Copy)]
struct Place {
    x: f64,
    y: f64,
    w: f64,
    h: f64,
}

/// Layers by distance from the objects that nothing definite points at.
fn layers(p: &Picture) -> Vec<usize> {
    let n = p.objects.len();
    let mut layer = vec![usize::MAX; n];
    let entered = |u: usize| p.arrows.iter().any(|a| a.to == u && a.from != u);
    let mut frontier: Vec<usize> = (0..n).filter(|u| !entered(*u)).collect();
    let mut depth = 0;
    loop {
        if frontier.is_empty() {
            match (0..n).find(|u| layer[*u] == usize::MAX) {
                Some(u) => frontier.push(u),
                None => return layer,
            }
        }
        for u in &frontier {
            if layer[*u] == usize::MAX {
                layer[*u] = depth;
            }
        }
        let next: Vec<usize> = (0..n)
            .filter(|w| layer[*w] == usize::MAX)
            .filter(|w| {
                p.arrows
                    .iter()
                    .any(|a| a.to == *w && frontier.contains(&a.from))
            })
            .collect();
        frontier = next;
        depth += 1;
    }
}

fn places(p: &Picture) -> (Vec<Place>, f64, f64) {
    let layer = layers(p);
    let n = p.objects.len();
    let depth = layer.iter().copied().max().map_or(0, |d| d + 1);
    let size = |u: usize| {
        let longest = p.objects[u]
            .iter()
            .map(|l| l.chars().count())
            .max()
            .unwrap_or(2);
        (
            (longest as f64 * CHAR / 2.0 + 12.0).max(26.0),
            (p.objects[u].len().max(1) as f64 * LINE / 2.0 + 8.0).max(18.0),
        )
    };
    let mut out = vec![
        Place {
            x: 0.0,
            y: 0.0,
            w: 0.0,
            h: 0.0
        };
        n
    ];
    let (mut x, mut bottom) = (40.0, 0.0f64);
    for d in 0..depth {
        let members: Vec<usize> = (0..n).filter(|u| layer[*u] == d).collect();
        let wide = members.iter().map(|u| size(*u).0).fold(0.0, f64::max);
        let mut y = 60.0;
        for u in members {
            let (w, h) = size(u);
            out[u] = Place {
                x: x + wide,
                y: y + h,
                w,
                h,
            };
            y += 2.0 * h + 96.0;
        }
        bottom = bottom.max(y - 60.0);
        x += 2.0 * wide + 110.0;
    }
    (out, x, bottom.max(80.0))
}

fn outline(place: Place, thread: bool, grow: f64, dashed: bool) -> String {
    let Place { x, y, w, h } = place;
    let (w, h) = (w + grow, h + grow);
    let style = if dashed {
        " stroke-dasharray=\"5 3\""
    } else {
        ""
    };
    if thread {
        let c = h.min(14.0 + grow);
        let points = [
            (x - w - c, y),
            (x - w, y - h),
            (x + w, y - h),
            (x + w + c, y),
            (x + w, y + h),
            (x - w, y + h),
        ];
        let list: Vec<String> = points
            .iter()
            .map(|(a, b)| format!("{a:.1},{b:.1}"))
            .collect();
        format!(
            "<polygon points=\"{}\" fill=\"none\" stroke=\"black\"{style}/>",
            list.join(" ")
        )
    } else {
        format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"none\" stroke=\"black\"{style}/>",
            x - w,
            y - h,
            2.0 * w,
            2.0 * h
        )
    }
}

fn arrow(picture: &Picture, a: &Arrow, places: &[Place], rank: usize) -> String {
    let (p, q) = (places[a.from], places[a.to]);
    let dash = if a.definite {
        ""
    } else {
        " stroke-dasharray=\"2 3\""
    };
    let (path, lx, ly) = if a.from == a.to {
        let grow = if picture.summary[a.from] { 3.0 } else { 0.0 };
        let top = p.y - p.h - grow;
        let lift = 30.0 + 12.0 * rank as f64;
        (
            format!(
                "M{:.1},{top:.1} C{:.1},{:.1} {:.1},{:.1} {:.1},{top:.1}",
                p.x - 10.0,
                p.x - 24.0,
                top - lift,
                p.x + 24.0,
                top - lift,
                p.x + 10.0
            ),
            p.x,
            top - lift * 0.8,
        )
    } else {
        let (dx, dy) = (q.x - p.x, q.y - p.y);
        let length = dx.hypot(dy).max(1.0);
        let border = |u: usize, sx: f64, sy: f64| {
            // Where the line from the centre meets the outline.
            let c = places[u];
            let grow = if picture.summary[u] { 3.0 } else { 0.0 };
            let (w, h) = (c.w + grow, c.h + grow);
            let (ax, ay) = (sx.abs(), sy.abs());
            let across = if picture.threads[u] {
                // The slanted sides of the hexagon.
                let corner = h.min(14.0 + grow);
                (w + corner) / (ax + corner * ay / h).max(0.01)
            } else {
                w / ax.max(0.01)
            };
            let scale = across.min(h / ay.max(0.01));
            (c.x + sx * scale, c.y + sy * scale)
        };
        let bend = 14.0 + 34.0 * rank as f64;
        let (nx, ny) = (-dy / length * bend, dx / length * bend);
        let (sx, sy) = border(a.from, dx / length, dy / length);
        let (ex, ey) = border(a.to, -dx / length, -dy / length);
        let (mx, my) = (f64::midpoint(sx, ex) + nx, f64::midpoint(sy, ey) + ny);
        (
            format!("M{sx:.1},{sy:.1} Q{mx:.1},{my:.1} {ex:.1},{ey:.1}"),
            (sx + ex) / 4.0 + mx / 2.0,
            (sy + ey) / 4.0 + my / 2.0 - 3.0,
        )
    };
    format!(
        "<path d=\"{path}\" fill=\"none\" stroke=\"black\" marker-end=\"url(#tip)\"{dash}/>\
         <text x=\"{lx:.1}\" y=\"{ly:.1}\" text-anchor=\"middle\" font-style=\"italic\">{}</text>\n",
        escape(&a.label)
    )
}

/// The structure as an SVG picture.
pub fn svg(voc: &Vocabulary, s: &Structure) -> String {
    let p = picture(voc, s);
    let (places, width, height) = places(&p);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" \
         markerHeight=\"8\" orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>\n"
    );
    if !p.nullary.is_empty() {
        let _ = writeln!(
            out,
            "<text x=\"10\" y=\"18\">{}</text>",
            escape(&p.nullary.join(", "))
        );
    }
    for (u, place) in places.iter().enumerate() {
        out.push_str(&outline(*place, p.threads[u], 0.0, p.maybe[u]));
        if p.summary[u] {
            out.push_str(&outline(*place, p.threads[u], 3.0, p.maybe[u]));
        }
        for (i, line) in p.objects[u].iter().enumerate() {
            let y = place.y - place.h + 8.0 + LINE * (i as f64 + 0.75);
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
                place.x,
                escape(line)
            );
        }
        out.push('\n');
    }
    for (i, a) in p.arrows.iter().enumerate() {
        let pair = (a.from.min(a.to), a.from.max(a.to));
        let same = |b: &Arrow| (b.from.min(b.to), b.from.max(b.to)) == pair && b.from == a.from;
        let rank = p.arrows[..i].iter().filter(|b| same(b)).count();
        out.push_str(&arrow(&p, a, &places, rank));
    }
    out.push_str("</svg>\n");
    out
}

/// An HTML page with all structures of a location.
pub fn page(voc: &Vocabulary, title: &str, structures: &[Structure]) -> String {
    let title = escape(title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <style>body{{font-family:sans-serif}} figure{{border:1px solid #ccc;padding:8px;overflow:auto}}</style>\
         </head><body>\n<h1>{title}</h1>\n<p>{} structures. Double line: summary object. Dotted: \
         unknown. Hexagon: thread.</p>\n",
        structures.len()
    );
    for (i, s) in structures.iter().enumerate() {
        let _ = writeln!(
            out,
            "<figure>{}<figcaption>structure {}</figcaption></figure>",
            svg(voc, s),
            i + 1
        );
    }
    out.push_str("</body></html>\n");
    out
}
