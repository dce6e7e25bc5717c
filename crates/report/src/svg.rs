//! *SVG*: placed graphs as one picture, side by side. No Graphviz is needed.

use std::fmt::Write;

use crate::graph::{Arrow, ArrowKind, Graph, NodeKind};
use crate::layout::{Layout, Metrics, PlacedArrow, Point, layout};
use crate::wrap::width;

const METRICS: Metrics = Metrics {
    char_width: 7.3,
    layer_height: 36.0,
    gap: 14.0,
};
/// Half the height of a node.
const NODE_RADIUS: f64 = 12.0;
/// Half the width of a self-loop.
const LOOP_WIDTH: f64 = 14.0;
/// Height of a graph's title.
const TITLE: f64 = 28.0;

/// All graphs side by side.
pub fn render(graphs: &[Graph]) -> String {
    let placed: Vec<Layout> = graphs.iter().map(|g| layout(g, METRICS)).collect();
    let title_width = |g: &Graph| width(&g.name) as f64 * METRICS.char_width + 2.0 * METRICS.gap;
    let widths: Vec<f64> = graphs
        .iter()
        .zip(&placed)
        .map(|(g, p)| p.width.max(title_width(g)))
        .collect();
    let total: f64 = widths.iter().sum::<f64>() + 2.0 * METRICS.gap;
    let height = placed.iter().map(|p| p.height).fold(0.0, f64::max) + TITLE + METRICS.gap;
    let mut text = head(total, height);
    let mut x = METRICS.gap;
    for ((graph, place), width) in graphs.iter().zip(&placed).zip(&widths) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "<g transform=\"translate({x:.1} 0)\">");
        let _ = writeln!(
            text,
            "<text class=\"title\" x=\"{:.1}\" y=\"18\">{}</text>",
            width / 2.0,
            escaped(&graph.name)
        );
        let _ = writeln!(text, "<g transform=\"translate(0 {TITLE})\">");
        push_graph(&mut text, graph, place);
        text.push_str("</g>\n</g>\n");
        x += width;
    }
    text.push_str("</svg>\n");
    text
}

/// The picture's beginning. It may stand in a page, so its styles are for itself only.
fn head(width: f64, height: f64) -> String {
    let mut text = format!(
        "<svg class=\"cfg\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" \
         height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\">\n\
         <style>\n\
         .cfg text {{ font: 12px monospace; text-anchor: middle; fill: #222 }}\n\
         .cfg .title {{ font-weight: bold; font-size: 14px }}\n\
         .cfg .node {{ fill: #f4f4f0; stroke: #444 }}\n\
         .cfg .labelled {{ fill: #fff3bf }}\n\
         .cfg .entry {{ stroke-width: 2.5 }}\n\
         .cfg .exit {{ fill: #ddd }}\n\
         .cfg .arrow {{ fill: none }}\n\
         .cfg .taken {{ stroke-width: 3 }}\n\
         .cfg .back {{ fill: #fff; stroke: none }}\n"
    );
    for kind in ArrowKind::ALL {
        let (name, colour) = (kind.name(), kind.colour());
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            ".cfg .arrow.{name} {{ stroke: {colour} }} .cfg text.{name} {{ fill: {colour} }}"
        );
    }
    text.push_str("</style>\n<defs>");
    for kind in ArrowKind::ALL {
        let (name, colour) = (kind.name(), kind.colour());
        let _ = write!(
            text,
            "<marker id=\"head-{name}\" viewBox=\"0 0 10 10\" refX=\"10\" refY=\"5\" \
             markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" \
             orient=\"auto-start-reverse\"><path d=\"M0 0L10 5L0 10z\" fill=\"{colour}\"/></marker>"
        );
    }
    text.push_str("</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    text
}

fn push_graph(text: &mut String, graph: &Graph, placed: &Layout) {
    for (arrow, place) in graph.arrows.iter().zip(&placed.arrows) {
        let (path, kind) = (path(&place.points), arrow.kind.name());
        let taken = if arrow.is_taken { " taken" } else { "" };
        let _ = writeln!(
            text,
            "<path class=\"arrow {kind}{taken}\" marker-end=\"url(#head-{kind})\" d=\"{path}\"/>"
        );
    }
    for (arrow, place) in graph.arrows.iter().zip(&placed.arrows) {
        push_label(text, arrow, place);
    }
    for (node, &(x, y)) in graph.nodes.iter().zip(&placed.nodes) {
        let class = match node.kind {
            NodeKind::Entry => "node entry",
            NodeKind::Exit => "node exit",
            NodeKind::Inner => "node",
        };
        let labelled = if node.is_labelled { " labelled" } else { "" };
        let w = node_width(&node.label);
        let _ = writeln!(
            text,
            "<rect class=\"{class}{labelled}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{w:.1}\" height=\"{:.1}\" \
             rx=\"{NODE_RADIUS}\"/><text x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
            x - w / 2.0,
            y - NODE_RADIUS,
            2.0 * NODE_RADIUS,
            y + 4.0,
            escaped(&node.label)
        );
    }
}

fn node_width(label: &str) -> f64 {
    (width(label) as f64 * METRICS.char_width + METRICS.gap).max(2.0 * NODE_RADIUS)
}

/// An arrow's text on a white ground, which interrupts the line behind it.
fn push_label(text: &mut String, arrow: &Arrow, place: &PlacedArrow) {
    let (x, y) = place.label;
    let (label, kind) = (arrow.label.as_str(), arrow.kind.name());
    let w = width(label) as f64 * METRICS.char_width + 4.0;
    let _ = writeln!(
        text,
        "<rect class=\"back\" x=\"{:.1}\" y=\"{:.1}\" width=\"{w:.1}\" height=\"16\"/>\
         <text class=\"{kind}\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
        x - w / 2.0,
        y - 8.0,
        y + 4.0,
        escaped(label)
    );
}

/// A smooth line through the points that starts and ends at the rims of the
/// nodes.
fn path(points: &[Point]) -> String {
    let mut points = points.to_vec();
    if let [node, text, back] = points[..]
        && node == back
    {
        // A self-loop goes round both sides of its text.
        points = vec![
            node,
            (text.0 - LOOP_WIDTH, text.1),
            (text.0 + LOOP_WIDTH, text.1),
            back,
        ];
    }
    let last = points.len() - 1;
    points[0] = rim(points[0], points[1], -5.0);
    points[last] = rim(points[last], points[last - 1], 5.0);
    let mut path = format!("M{:.1} {:.1}", points[0].0, points[0].1);
    for pair in points.windows(2) {
        let ((x1, y1), (x2, y2)) = (pair[0], pair[1]);
        let middle = f64::midpoint(y1, y2);
        let _ = write!(
            path,
            "C{x1:.1} {middle:.1} {x2:.1} {middle:.1} {x2:.1} {y2:.1}"
        );
    }
    path
}

/// Where the line towards `other` leaves the node at `node`; ends and starts are
/// set a little apart, so that a self-loop can be seen.
fn rim((x, y): Point, other: Point, aside: f64) -> Point {
    if other.1 > y {
        (x + aside, y + NODE_RADIUS)
    } else {
        (x + aside, y - NODE_RADIUS)
    }
}

/// Text for XML. Characters that XML forbids become the replacement character.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
