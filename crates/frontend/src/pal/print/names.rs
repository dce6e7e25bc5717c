//! Names for printing: every variable, thread and label of a Program gets a name
//! that the language can read and that clashes with no other. Programs from other
//! front ends and from reductions may have names that the language has not.

use std::collections::HashSet;

use palisade_program::{Cfg, LocId, Origin, Program, PropAtom, PropExpr, Template, ThreadVar};

use crate::pal::token::is_reserved;

/// All names of a program.
pub(super) struct Names {
    pub(super) globals: Vec<String>,
    pub(super) templates: Vec<TemplateNames>,
}

/// The names of one thread.
pub(super) struct TemplateNames {
    pub(super) name: String,
    pub(super) locals: Vec<String>,
    /// For each location: its labels (the user's, or one made up where a property
    /// names the location).
    pub(super) labels: Vec<Vec<String>>,
    /// Names of labels that are taken.
    taken: HashSet<String>,
}

impl TemplateNames {
    /// A label for `loc`: one that it has, or a new one.
    pub(super) fn label(&mut self, loc: LocId) -> String {
        if let Some(label) = self.labels[loc.index()].first() {
            return label.clone();
        }
        let label = self.fresh(&format!("L{}", loc.0));
        self.labels[loc.index()].push(label.clone());
        label
    }

    /// A label that is not taken.
    pub(super) fn fresh(&mut self, wish: &str) -> String {
        unique(wish, &mut self.taken)
    }
}

impl Names {
    pub(super) fn of(program: &Program) -> Self {
        let mut taken = HashSet::new();
        let globals: Vec<String> = program
            .globals
            .iter()
            .map(|g| unique(g.name.trim_start_matches('$'), &mut taken))
            .collect();
        let mut units = HashSet::new();
        let mut templates: Vec<TemplateNames> = program
            .templates
            .iter()
            .map(|t| template_names(t, unique(&t.name, &mut units), taken.clone()))
            .collect();
        let properties = program.properties.iter().chain(&program.reaches);
        let properties = properties.map(|p| (&p.threads, &p.cond));
        let hints = program.hints.iter().map(|h| (&h.threads, &h.expr));
        for (threads, cond) in properties.chain(hints) {
            label_locations(threads, cond, &mut templates);
        }
        Self { globals, templates }
    }
}

fn template_names(template: &Template, name: String, mut taken: HashSet<String>) -> TemplateNames {
    let locals = template
        .locals
        .iter()
        .map(|l| {
            let plain = l.name.trim_start_matches('$');
            match l.origin {
                Origin::User => unique(plain, &mut taken),
                Origin::Temporary => unique(&format!("${plain}"), &mut taken),
            }
        })
        .collect();
    let mut labels = vec![Vec::new(); template.cfg.loc_count()];
    let mut label_names = HashSet::new();
    for label in &template.labels {
        // The same label twice comes from a function inlined twice.
        let text = unique(&label.name, &mut label_names);
        labels[label.loc.index()].push(text);
    }
    TemplateNames {
        name,
        locals,
        labels,
        taken: label_names,
    }
}

/// Gives every location that a property names a label.
fn label_locations(threads: &[ThreadVar], cond: &PropExpr, templates: &mut [TemplateNames]) {
    cond.for_each_atom(&mut |atom| {
        if let PropAtom::At(thread, loc) = atom {
            let template = threads[thread.index()].template;
            templates[template.index()].label(*loc);
        }
    });
}

/// A readable name near `wish` that is not in `taken`; it is taken afterwards.
fn unique(wish: &str, taken: &mut HashSet<String>) -> String {
    let mut name: String = wish
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '$' => c,
            _ => '_',
        })
        .collect();
    // The bracket that closes an element's index leaves no trace.
    if wish.ends_with(']') {
        name.pop();
    }
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    if is_reserved(&name) {
        name.push('_');
    }
    let base = name.clone();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        name = format!("{base}_{number}");
        number += 1;
    }
    name
}

/// Whether the graph is a chain from entry to exit, without branch or loop.
pub(super) fn is_chain(cfg: &Cfg) -> bool {
    let mut at = cfg.entry;
    for _ in 0..=cfg.edges.len() {
        if at == cfg.exit {
            return true;
        }
        let mut edges = cfg.outgoing(at);
        match (edges.next(), edges.next()) {
            (Some((_, edge)), None) => at = edge.to,
            _ => return false,
        }
    }
    false
}
