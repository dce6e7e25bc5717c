//! *Jumps into a block*: `goto`, and a switch to one of its cases, may pass declarations. The variables live from where
//! their block begins, but what they hold is not known (C11, 6.2.4): on the way of the jump they
//! are undefined, initialised or not. A way is therefore a location of its own in front of the label, at which the
//! variables are undefined that are in scope at the label and were not where the jump began.

use std::collections::HashSet;
use std::rc::Rc;

use palisade_program::{LocId, Span};

use super::code::{Code, Lower};
use super::layout::Object;

/// The jumps to a label, and where it is.
#[derive(Default)]
pub(super) struct Jumps {
    /// Those that were met before the label: where each has come to, and what was in scope.
    open: Vec<(LocId, Vec<Rc<Object>>)>,
    /// What is in scope at the label, once it was met.
    at_label: Option<Vec<Rc<Object>>>,
}

impl Code<'_, '_> {
    /// The automatic variables in scope, in the order of the text.
    fn in_scope(&mut self, below: usize) -> Vec<Rc<Object>> {
        let scopes = self.frame().scopes.iter().skip(below);
        let mut all: Vec<Rc<Object>> = scopes.flat_map(|s| s.values().cloned()).collect();
        all.retain(|object| object.on_stack);
        all.sort_by(|a, b| (a.site.start, &a.name).cmp(&(b.site.start, &b.name)));
        all
    }

    /// Undefines what is in `at_label` and not in `before`.
    fn pass(&mut self, before: &[Rc<Object>], at_label: &[Rc<Object>], span: Span) -> Lower<()> {
        for object in at_label.iter().filter(|o| !is_among(o, before)) {
            self.undefine(object, &HashSet::new(), span)?;
        }
        Ok(())
    }

    /// A jump to the label at `loc`.
    pub(super) fn jump_to(&mut self, name: &str, loc: LocId, span: Span) {
        let before = self.in_scope(0);
        let jumps = self.frame().jumps.entry(name.to_owned()).or_default();
        match jumps.at_label.clone() {
            // What is read behind the label was lowered already.
            Some(at_label) if at_label.iter().any(|o| !is_among(o, &before)) => {
                let what = "a jump back into a block, past a declaration";
                self.refuse_run(what, span);
            }
            Some(_) => self.go(loc, span),
            None => {
                let way = self.graph.loc();
                self.go(way, span);
                let jumps = self.frame().jumps.entry(name.to_owned()).or_default();
                jumps.open.push((way, before));
            }
        }
        self.stop();
    }

    /// The label at `loc` stands here: the jumps that were met before get there.
    pub(super) fn met_label(&mut self, name: &str, loc: LocId, span: Span) -> Lower<()> {
        let at_label = self.in_scope(0);
        let jumps = self.frame().jumps.entry(name.to_owned()).or_default();
        jumps.at_label = Some(at_label.clone());
        let open = std::mem::take(&mut jumps.open);
        let (here, live) = (self.here, self.live);
        for (way, before) in open {
            self.at(way);
            self.pass(&before, &at_label, span)?;
            self.go(loc, span);
        }
        (self.here, self.live) = (here, live);
        Ok(())
    }

    /// A switch gets to one of its cases, past the declarations in its body.
    pub(super) fn pass_in_switch(&mut self, outside: usize, span: Span) -> Lower<()> {
        let at_label = self.in_scope(outside);
        self.pass(&[], &at_label, span)
    }
}

fn is_among(object: &Rc<Object>, all: &[Rc<Object>]) -> bool {
    all.iter().any(|other| Rc::ptr_eq(other, object))
}
