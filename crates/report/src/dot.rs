//! *Dot*: graphs in Graphviz's language, one cluster per graph.

use std::fmt::Write;

use crate::graph::{Graph, NodeKind};

/// All graphs as one digraph.
pub fn render(graphs: &[Graph]) -> String {
    let mut text = String::from("digraph program {\n  node [fontname=\"monospace\"];\n");
    text.push_str("  edge [fontname=\"monospace\"];\n");
    for (index, graph) in graphs.iter().enumerate() {
        push_cluster(&mut text, index, graph);
    }
    text.push_str("}\n");
    text
}

fn push_cluster(text: &mut String, index: usize, graph: &Graph) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "  subgraph cluster_{index} {{");
    let _ = writeln!(text, "    label={};", quoted(&graph.name));
    for (number, node) in graph.nodes.iter().enumerate() {
        let look = match node.kind {
            NodeKind::Entry => "shape=circle, style=bold",
            NodeKind::Exit => "shape=doublecircle",
            NodeKind::Inner => "shape=circle",
        };
        let look = if node.is_labelled {
            format!("{look}, fillcolor=\"#fff3bf\", style=filled")
        } else {
            look.to_owned()
        };
        let label = quoted(&node.label);
        let _ = writeln!(text, "    n{index}_{number} [{look}, label={label}];");
    }
    for arrow in &graph.arrows {
        let label = quoted(&arrow.label);
        let (from, to) = (arrow.from, arrow.to);
        let colour = arrow.kind.colour();
        let width = if arrow.is_taken { ", penwidth=3" } else { "" };
        let _ = writeln!(
            text,
            "    n{index}_{from} -> n{index}_{to} \
             [label={label}, color=\"{colour}\", fontcolor=\"{colour}\"{width}];"
        );
    }
    text.push_str("  }\n");
}

/// A quoted string of the language.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_escaped() {
        assert_eq!(quoted("a \"b\" \\ c"), "\"a \\\"b\\\" \\\\ c\"");
    }
}
