//! The *fixed point*: all views that calls can have, under all interference that their steps are.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use palisade_program::Span;
use palisade_program::heap::Type;
use rustc_hash::FxHashSet;

use super::Refusal;
use super::certificate::{Certificate, Facts};
use super::heap::Published;
use super::interference::Action;
use super::object::{Object, Part};
use super::step::Stepper;
use super::view::{History, Key, Link, Mark, Node, Slot, Standing, View};

/// Views at most.
const VIEWS: usize = 1_000_000;
/// Nodes of one view at most.
const NODES: usize = 12;

/// Why there is no proof, and at which step.
#[derive(Clone, Debug)]
pub(super) struct Stuck {
    pub(super) refusal: Refusal,
    pub(super) part: usize,
    pub(super) span: Span,
    /// Views that were found before.
    pub(super) views: usize,
}

/// What was done with a view.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Its next step follows an unknown link: it comes to more when more is published.
    follows: bool,
    /// The actions so far were applied to it.
    interfered: bool,
}

/// All views.
pub(super) struct Fixpoint<'a> {
    pub(super) object: &'a Object<'a>,
    pub(super) mark: Mark,
    cancel: Option<&'a AtomicBool>,
    pub(super) views: Vec<View>,
    known: FxHashSet<View>,
    pub(super) actions: Vec<Action>,
    known_actions: FxHashSet<Action>,
    published: Published,
    /// What shared variables can be when a call begins: whether the key is in, bits.
    starts: BTreeSet<(bool, u8)>,
    /// By view.
    seen: Vec<Seen>,
    open: Vec<usize>,
}

impl<'a> Fixpoint<'a> {
    /// Computes it. The key is in the set if a listed node has it that is not marked.
    pub(super) fn of(
        object: &'a Object<'a>,
        mark: Mark,
        cancel: Option<&'a AtomicBool>,
    ) -> Result<Self, Stuck> {
        let mut all = Self {
            object,
            mark,
            cancel,
            views: Vec::new(),
            known: FxHashSet::default(),
            actions: Vec::new(),
            known_actions: FxHashSet::default(),
            published: Published::default(),
            starts: BTreeSet::new(),
            seen: Vec::new(),
            open: Vec::new(),
        };
        let init = object.parts.iter().position(|p| p.operation.is_none());
        let start = (false, object.first_bits());
        if let Some(init) = init {
            let mut view = all.entry(init, Key::Less, start);
            view.nodes[0].link = Link::Null;
            all.add(view);
        } else {
            let mut nothing = all.entry(0, Key::Less, start);
            nothing.nodes[0].link = Link::Null;
            all.published.learn(&nothing, mark);
            all.begin(start);
        }
        all.close()?;
        Ok(all)
    }

    /// What was found, to be checked; all but `init`, which is run, and what others say already.
    pub(super) fn certificate(self, fingerprint: u128, locks: bool) -> Certificate {
        let of_call = |view: &View| {
            let part = &self.object.parts[usize::from(view.method)];
            part.operation.is_some() && !self.is_superfluous(view)
        };
        let views = self.views.iter().filter(|view| of_call(view));
        let views = views.cloned().collect();
        Certificate {
            fingerprint,
            locks,
            mark: self.mark,
            facts: Facts {
                kinds: self.published.nodes,
                links: self.published.edges,
            },
            views,
        }
    }

    /// Whether the view was found, perhaps with some links unknown: that says less, so it stands for more.
    pub(super) fn covers(&self, view: &View) -> bool {
        self.known.contains(view) || self.is_superfluous(view)
    }

    /// Whether a view was found that says less.
    fn is_superfluous(&self, view: &View) -> bool {
        let known = |n: &usize| {
            let node = &view.nodes[*n];
            node.link != Link::Unknown && node.standing != Standing::Own
        };
        let links: Vec<usize> = (0..view.nodes.len()).filter(known).collect();
        let mut general = view.clone();
        (1..1_u32 << links.len()).any(|forgotten| {
            for (i, &n) in links.iter().enumerate() {
                general.nodes[n].link = if forgotten >> i & 1 == 1 {
                    Link::Unknown
                } else {
                    view.nodes[n].link
                };
            }
            self.known.contains(&general)
        })
    }

    /// The view of a call that begins.
    fn entry(&self, part: usize, argument: Key, (inside, bits): (bool, u8)) -> View {
        let body = self.object.parts[part].body;
        let default = |ty: Type| match ty {
            Type::Pointer(_) | Type::Lock => Slot::Null,
            Type::Bool => Slot::Bool(false),
            Type::Data => Slot::Key(Key::Unset),
            Type::Int => Slot::Any,
        };
        let mut locals: Vec<Slot> = body.locals.iter().map(|l| default(l.ty)).collect();
        if self.object.parts[part].operation.is_some() {
            locals[0] = Slot::Key(argument);
        }
        let mut view = View {
            method: part as u8,
            at: body.entry.index() as u16,
            argument,
            inside,
            history: History::default(),
            bits,
            held: 0,
            locals,
            nodes: vec![Node {
                key: Key::Root,
                standing: Standing::Listed,
                bits: 0,
                held: 0,
                link: Link::Unknown,
            }],
        };
        view.notice();
        view
    }

    /// Calls may begin with these shared variables.
    fn begin(&mut self, start: (bool, u8)) {
        if !self.starts.insert(start) {
            return;
        }
        for part in 0..self.object.parts.len() {
            if self.object.parts[part].operation.is_none() {
                continue;
            }
            for argument in [Key::Less, Key::Equal, Key::Greater] {
                let view = self.entry(part, argument, start);
                self.add(view);
            }
        }
    }

    fn add(&mut self, view: View) {
        let part = &self.object.parts[usize::from(view.method)];
        // All that `init` makes is there when calls begin.
        let view = if part.operation.is_some() {
            let live = &part.live[usize::from(view.at)];
            view.reduce(live, self.mark)
        } else {
            view
        };
        if self.covers(&view) {
            return;
        }
        let number = self.views.len();
        self.known.insert(view.clone());
        self.views.push(view);
        self.seen.push(Seen::default());
        self.open.push(number);
    }

    fn close(&mut self) -> Result<(), Stuck> {
        while let Some(number) = self.open.pop() {
            let stopped = self.cancel.is_some_and(|c| c.load(Ordering::Relaxed));
            if stopped || self.views.len() > VIEWS {
                return Err(self.stuck(Refusal::Stopped, 0, Span::default()));
            }
            self.step(number)?;
        }
        Ok(())
    }

    fn stuck(&self, refusal: Refusal, part: usize, span: Span) -> Stuck {
        Stuck {
            refusal,
            part,
            span,
            views: self.views.len(),
        }
    }

    /// All steps of a view, and the first interference with it.
    fn step(&mut self, number: usize) -> Result<(), Stuck> {
        let view = self.views[number].clone();
        let number_of_part = usize::from(view.method);
        let object = self.object;
        let part = &object.parts[number_of_part];
        let mut results = Vec::new();
        for &e in part.code.leaving(usize::from(view.at).into()) {
            let edge = &part.body.edges[e];
            let stepper = Stepper {
                object,
                published: &self.published,
                mark: self.mark,
            };
            let taken = stepper
                .run(&view, edge)
                .map_err(|refusal| self.stuck(refusal, number_of_part, edge.span))?;
            if taken.iter().any(|t| t.after.nodes.len() > NODES) {
                return Err(self.stuck(Refusal::Stopped, number_of_part, edge.span));
            }
            results.extend(taken);
        }
        self.seen[number].follows |= follows(&view, part);
        let first = part.operation.is_none();
        let mut learned = false;
        for taken in results {
            // What is seen between steps of `init` is not seen by calls.
            let ended = usize::from(taken.after.at) == part.body.exit.index();
            if !first || ended {
                self.published.unseen_leave |= taken.unseen;
                learned |= self.published.learn(&taken.after, self.mark);
                self.begin((taken.after.inside, taken.after.bits));
            }
            if !first && let Some(action) = Action::of(&taken) {
                self.act(action);
            }
            if !ended {
                self.add(taken.after);
            }
        }
        if learned {
            let again = (0..self.views.len()).filter(|&v| self.seen[v].follows);
            self.open.extend(again);
            for seen in &mut self.seen {
                seen.follows = false;
            }
        }
        if part.open[usize::from(view.at)] && !self.seen[number].interfered {
            self.seen[number].interfered = true;
            for a in 0..self.actions.len() {
                for changed in self.actions[a].applied(&view, self.mark) {
                    self.add(changed);
                }
            }
        }
        Ok(())
    }

    /// A step that others notice.
    fn act(&mut self, action: Action) {
        if !self.known_actions.insert(action.clone()) {
            return;
        }
        for number in 0..self.views.len() {
            // The others are still to come.
            if !self.seen[number].interfered {
                continue;
            }
            for changed in action.applied(&self.views[number], self.mark) {
                self.add(changed);
            }
        }
        self.actions.push(action);
    }
}

/// Whether the next step of a view may follow a link that is not known.
fn follows(view: &View, part: &Part<'_>) -> bool {
    let unknown = view
        .nodes
        .iter()
        .any(|n| matches!(n.link, Link::Unknown | Link::Past(_)));
    let mut steps = part.code.leaving(usize::from(view.at).into()).iter();
    unknown && steps.any(|&e| part.body.edges[e].step.place().is_some())
}
