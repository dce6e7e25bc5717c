//! A drawable *graph*: labelled nodes joined by labelled arrows. The graph of a
//! thread's control flow has a node per location and an arrow per step; what a step does
//! to shared memory, and whether a run takes it, decide the arrow's look.

use palisade_program::{Action, ActionKind, LocId, Program, Step, TemplateId, Trace};

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
    /// Whether the user has given it a label.
    pub is_labelled: bool,
}

/// What the step of an arrow does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ArrowKind {
    /// Nothing that others can see.
    #[default]
    Local,
    /// Reads shared memory.
    Load,
    /// Writes shared memory.
    Store,
    /// Several steps in one.
    Atomic,
    /// A fence or a flush.
    Fence,
    /// May be violated.
    Assertion,
}

impl ArrowKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Local,
        Self::Load,
        Self::Store,
        Self::Atomic,
        Self::Fence,
        Self::Assertion,
    ];

    /// What the step does.
    pub const fn of(step: &Step) -> Self {
        match step {
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => Self::Local,
            Step::Load { .. } | Step::Get { .. } => Self::Load,
            Step::Store { .. } | Step::Put { .. } => Self::Store,
            Step::Atomic(_) | Step::RemoteAtomic(_) => Self::Atomic,
            Step::Fence(_) | Step::Flush(_) => Self::Fence,
            Step::Assert { .. } => Self::Assertion,
        }
    }

    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic => "atomic",
            Self::Fence => "fence",
            Self::Assertion => "assertion",
        }
    }

    /// Its colour on white.
    pub(crate) const fn colour(self) -> &'static str {
        match self {
            Self::Local => "#777777",
            Self::Load => "#1a7f37",
            Self::Store => "#c2410c",
            Self::Atomic => "#8250df",
            Self::Fence => "#0969da",
            Self::Assertion => "#cf222e",
        }
    }
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
    /// What it does.
    pub kind: ArrowKind,
    /// Whether the run takes it.
    pub is_taken: bool,
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
            is_labelled: code.label_at(loc).is_some(),
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
            kind: ArrowKind::of(&edge.step),
            is_taken: false,
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

/// The control flow of every template with the steps that a run takes.
pub fn with_run(program: &Program, trace: &Trace) -> Vec<Graph> {
    let actions = trace.steps.iter().filter_map(|step| step.action.as_ref());
    with_actions(program, &trace.threads, actions)
}

/// The same, for a run of threads with these names.
pub fn with_actions<'a>(
    program: &Program,
    threads: &[String],
    actions: impl Iterator<Item = &'a Action>,
) -> Vec<Graph> {
    let mut graphs = control_flows(program);
    let copies = program.copies_named(threads).unwrap_or(1);
    let instances = program.instances(copies);
    for action in actions {
        let edge = match &action.kind {
            ActionKind::Step { edge, .. }
            | ActionKind::Block { edge, .. }
            | ActionKind::Ordered { edge, .. } => edge,
            ActionKind::Update { .. } | ActionKind::NetworkRead { .. } => continue,
            ActionKind::AtomicRead { .. } | ActionKind::AtomicApply { .. } => continue,
            ActionKind::NetworkWrite { .. } => continue,
        };
        let graph = instances.get(action.thread);
        let graph = graph.and_then(|i| graphs.get_mut(i.template.index()));
        if let Some(arrow) = graph.and_then(|g| g.arrows.get_mut(edge.index())) {
            arrow.is_taken = true;
        }
    }
    graphs
}

/// A location's number, with its label if it has one.
pub fn location_name(program: &Program, template: TemplateId, loc: LocId) -> String {
    match program.template(template).label_at(loc) {
        Some(label) => format!("{} {}", loc.0, label.name),
        None => loc.0.to_string(),
    }
}
