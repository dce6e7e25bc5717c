//! A drawable *graph*: labelled nodes joined by labelled arrows. The graph of a
//! thread's control flow has a node per location and an arrow per step.

use palisade_program::{LocId, Program, TemplateId};

/// What a node stands for, which decides its look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// Where control starts.
    Entry,
    /// Where control ends.
    Exit,
    /// Any other location.
    Inner,
}

/// A node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// Its text.
    pub label: String,
    /// Its kind.
    pub kind: NodeKind,
}

/// An arrow between two nodes, given by their indices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrow {
    /// From here
    pub from: usize,
    /// to there.
    pub to: usize,
    /// Its text.
    pub label: String,
}

/// A graph with a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph {
    /// Its title.
    pub name: String,
    /// Its nodes; [`Arrow`]s refer to them by index.
    pub nodes: Vec<Node>,
    /// Its arrows.
    pub arrows: Vec<Arrow>,
}

/// The control flow of one template. Steps carry their source line.
pub fn control_flow(program: &Program, template: TemplateId) -> Graph {
    let code = program.template(template);
    let nodes = code
        .cfg
        .locs()
        .map(|loc| Node {
            label: location_name(program, template, loc),
            kind: if loc == code.cfg.entry {
                NodeKind::Entry
            } else if loc == code.cfg.exit {
                NodeKind::Exit
            } else {
                NodeKind::Inner
            },
        })
        .collect();
    let arrows = code
        .cfg
        .edges
        .iter()
        .map(|edge| Arrow {
            from: edge.from.index(),
            to: edge.to.index(),
            label: format!(
                "{}: {}",
                program.source.position(edge.span.start).line,
                program.show_step(template, &edge.step)
            ),
        })
        .collect();
    Graph {
        name: code.name.clone(),
        nodes,
        arrows,
    }
}

/// The control flow of every template.
pub fn control_flows(program: &Program) -> Vec<Graph> {
    program
        .template_ids()
        .map(|template| control_flow(program, template))
        .collect()
}

/// A location's number, with its label if it has one.
pub fn location_name(program: &Program, template: TemplateId, loc: LocId) -> String {
    match program.template(template).label_at(loc) {
        Some(label) => format!("{} {}", loc.0, label.name),
        None => loc.0.to_string(),
    }
}
