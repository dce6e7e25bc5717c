//! *Closing*: the least certificate that the check would accept, by the rules of the check alone. Nothing is said because of it: it shows in tests what
//! the check accepts at all, whatever the search for proofs comes to.

use std::collections::BTreeSet;

use palisade_program::heap::Program;

use super::known::{Known, Told};
use super::others::{Action, Seen};
use super::own::Stepper;
use super::{Certificate, Facts, Objection, What, entries, fingerprint, layout, open, plain};
use crate::prove::{with_locks, without_aliases};
use crate::sets::marks;
use crate::sets::object::Object;
use crate::sets::view::{Key, Link, Mark, Standing, View, marked};

/// A certificate of the program with the first mark that gives one; at most so many views.
///
/// # Errors
/// The objection with the mark that came furthest.
pub fn close(program: &Program, most: usize) -> Result<Certificate, Objection> {
    let print = fingerprint(program);
    let simple = without_aliases(program);
    let with = with_locks(&simple);
    let (mut last, mut furthest) = (plain(What::Unsupported), 0);
    for (locks, program) in [(true, &with), (false, &simple)] {
        if !locks && with == simple {
            continue;
        }
        let Ok(object) = Object::of(program) else {
            continue;
        };
        if !layout::agrees(&object) {
            continue;
        }
        for mark in marks(&object) {
            let mut closing = Closing::new(&object, mark);
            match closing.run(most) {
                Ok(()) => {
                    return Ok(Certificate {
                        fingerprint: print,
                        locks,
                        mark,
                        facts: closing.facts,
                        views: closing.views,
                    });
                }
                Err(objection) if closing.views.len() > furthest => {
                    (last, furthest) = (objection, closing.views.len());
                }
                Err(_) => {}
            }
        }
    }
    Err(last)
}

struct Closing<'a> {
    object: &'a Object<'a>,
    mark: Mark,
    facts: Facts,
    known: Known,
    views: Vec<View>,
    /// How many actions each of them has noticed.
    noticed: Vec<usize>,
    actions: Vec<Action>,
    starts: BTreeSet<(bool, u8)>,
}

impl<'a> Closing<'a> {
    fn new(object: &'a Object<'a>, mark: Mark) -> Self {
        let mut told = Told::default();
        for (method, part) in object.parts.iter().enumerate() {
            for (at, live) in part.live.iter().enumerate() {
                told.insert((method as u8, at as u16), live.clone());
            }
        }
        Self {
            object,
            mark,
            facts: Facts::default(),
            known: Known::telling(told, mark),
            views: Vec::new(),
            noticed: Vec::new(),
            actions: Vec::new(),
            starts: BTreeSet::new(),
        }
    }

    fn add(&mut self, view: &View) {
        if !self.known.covers(view) {
            self.known.add(view);
            self.views.push(self.known.forget(view.clone()));
            self.noticed.push(0);
        }
    }

    fn begin(&mut self, start: (bool, u8)) {
        if self.starts.insert(start) {
            for view in entries(self.object, start) {
                self.add(&view);
            }
        }
    }

    fn run(&mut self, most: usize) -> Result<(), Objection> {
        let bits = super::init(self.object, &mut |kind, link| {
            self.facts.kinds.extend(kind);
            self.facts.links.insert(link);
            true
        })?;
        self.begin((false, bits));
        let parts = self.object.parts.iter();
        let open: Vec<Vec<bool>> = parts.map(|p| open(p.body, self.object)).collect();
        let (mut next, mut size) = (0, 0);
        loop {
            while next < self.views.len() {
                if self.views.len() > most {
                    return Err(plain(What::Stopped));
                }
                self.step(next)?;
                next += 1;
            }
            let facts = self.facts.kinds.len() + self.facts.links.len();
            if facts > size {
                // Links may lead to more.
                (next, size) = (0, facts);
                continue;
            }
            for v in 0..self.views.len() {
                let view = self.views[v].clone();
                if open[usize::from(view.method)][usize::from(view.at)] {
                    self.notice(v, &view)?;
                }
            }
            if next == self.views.len() {
                return Ok(());
            }
        }
    }

    fn step(&mut self, number: usize) -> Result<(), Objection> {
        let view = self.views[number].clone();
        let part = &self.object.parts[usize::from(view.method)];
        let steps = part.body.leaving(usize::from(view.at).into());
        for (_, edge) in steps {
            let no = |what: What| Objection {
                what,
                method: part.name.to_owned(),
                span: edge.span,
            };
            let stepper = Stepper {
                object: self.object,
                mark: self.mark,
                facts: &self.facts,
            };
            let all = stepper.take(&view, edge).map_err(|r| no(What::Step(r)))?;
            for taken in all {
                self.learn(&taken.after, taken.unseen);
                self.begin((taken.after.inside, taken.after.bits));
                let action = Action::of(&taken).map_err(|r| no(What::Step(r)))?;
                if let Some(action) = action
                    && !self.actions.contains(&action)
                {
                    self.actions.push(action);
                }
                if edge.to != part.body.exit {
                    self.add(&taken.after);
                }
            }
        }
        Ok(())
    }

    fn learn(&mut self, view: &View, unseen: bool) {
        for node in view.nodes.iter().filter(|n| n.standing != Standing::Own) {
            if node.key != Key::Root {
                let listed = node.standing == Standing::Listed;
                self.facts.kinds.insert((node.key, listed, node.bits));
            }
            match node.link {
                Link::Null => {
                    self.facts.links.insert((node.key, None));
                }
                Link::To(to) => {
                    let to = view.nodes[usize::from(to)].key;
                    self.facts.links.insert((node.key, Some(to)));
                }
                Link::Past(_) | Link::Unknown => {}
            }
        }
        if unseen {
            let all: Vec<(Key, bool, u8)> = self.facts.kinds.iter().copied().collect();
            let gone = all.into_iter().filter(|k| marked(k.2, self.mark));
            self.facts.kinds.extend(gone.map(|k| (k.0, false, k.2)));
        }
    }

    fn notice(&mut self, number: usize, view: &View) -> Result<(), Objection> {
        let seen = Seen::of(view);
        let mut ways = Vec::new();
        for action in &self.actions[self.noticed[number]..] {
            let understood = action.noticed(&seen, self.mark, &mut ways);
            understood.map_err(|no| plain(What::Other(no)))?;
        }
        self.noticed[number] = self.actions.len();
        for way in &ways {
            self.add(&way.view(view));
        }
        Ok(())
    }
}
