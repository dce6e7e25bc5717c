//! *Interference*: what a step of one call does to the views of others [Vafeiadis, VMCAI 2010].
//!
//! A step that changes memory is kept as an [`Action`]: the nodes that it changes and those that
//! their links lead to, before and after. Another view is changed by it in every way in which these nodes can be among
//! its own or not; what no heap can be is left out ([`View::consistent`]): both have a lock, a node would have
//! two predecessors, and so on.

use super::step::Taken;
use super::view::{Link, Mark, Node, Standing, View};

/// A change of memory by some call.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Action {
    inside: (bool, bool),
    bits: (u8, u8),
    /// Shared locks that the call holds.
    held: u8,
    /// Whether marked nodes leave that are not among these.
    unseen: bool,
    /// Before and after; links lead to nodes of the action.
    nodes: Vec<(Node, Node)>,
}

impl Action {
    /// What others notice of a step, if anything.
    pub(super) fn of(taken: &Taken) -> Option<Self> {
        let (before, after) = (&taken.before, &taken.after);
        let changed = |n: usize| {
            let (old, new) = (before.nodes[n], after.nodes[n]);
            let own = new.standing == Standing::Own;
            !own && (old.standing, old.bits, old.link) != (new.standing, new.bits, new.link)
                // That the call has begun a new path is its own affair.
                && !(old.standing.left() && new.standing.left() && old.bits == new.bits)
        };
        // A node that was allocated by the step is not reached yet.
        let linked = |n: usize| {
            let (old, new) = (before.nodes[n], after.nodes[n]);
            (old.standing, old.link) != (new.standing, new.link)
        };
        let mut order: Vec<usize> = (0..before.nodes.len()).filter(|&n| changed(n)).collect();
        if order.is_empty() && before.bits == after.bits {
            return None;
        }
        let roots = order.clone();
        for &n in roots.iter().filter(|&&n| linked(n)) {
            for link in [before.nodes[n].link, after.nodes[n].link] {
                if let Link::To(to) = link
                    && !order.contains(&usize::from(to))
                {
                    order.push(usize::from(to));
                }
            }
        }
        let part = |nodes: &[Node], n: usize| {
            let node = nodes[n];
            let place = |to: u8| order.iter().position(|&o| o == usize::from(to));
            let link = match node.link {
                Link::To(to) if roots.contains(&n) && linked(n) => {
                    place(to).map_or(Link::Unknown, |new| Link::To(new as u8))
                }
                Link::Null if roots.contains(&n) && linked(n) => Link::Null,
                Link::To(_) | Link::Null | Link::Past(_) | Link::Unknown => Link::Unknown,
            };
            let standing = match node.standing {
                Standing::LeftBefore => Standing::Left,
                other @ (Standing::Own | Standing::Listed | Standing::Left) => other,
            };
            Node {
                standing,
                link,
                ..node
            }
        };
        let nodes = order
            .iter()
            .map(|&n| (part(&before.nodes, n), part(&after.nodes, n)));
        Some(Self {
            inside: (before.inside, after.inside),
            bits: (before.bits, after.bits),
            held: before.held,
            unseen: taken.unseen,
            nodes: nodes.collect(),
        })
    }

    /// The views that the action makes of one.
    pub(super) fn applied(&self, view: &View, mark: Mark) -> Vec<View> {
        let excluded =
            self.held & view.held != 0 || self.bits.0 != view.bits || self.inside.0 != view.inside;
        let mut found = Vec::new();
        if !excluded {
            self.identify(view, mark, &mut Vec::new(), &mut found);
        }
        found
    }

    /// Chooses for each node of the action which one of the view it is, if any.
    fn identify(
        &self,
        view: &View,
        mark: Mark,
        chosen: &mut Vec<Option<u8>>,
        found: &mut Vec<View>,
    ) {
        let Some((node, _)) = self.nodes.get(chosen.len()) else {
            found.extend(self.happen(view, mark, chosen));
            return;
        };
        let is_root = node.key == super::view::Key::Root;
        if !is_root {
            chosen.push(None);
            self.identify(view, mark, chosen, found);
            chosen.pop();
        }
        if node.standing == Standing::Own {
            return;
        }
        for (w, other) in view.nodes.iter().enumerate() {
            let same = other.key == node.key
                && other.bits == node.bits
                && other.standing != Standing::Own
                && other.standing.left() == node.standing.left()
                && other.held & node.held == 0;
            if same && !chosen.contains(&Some(w as u8)) {
                chosen.push(Some(w as u8));
                self.identify(view, mark, chosen, found);
                chosen.pop();
            }
        }
    }

    fn happen(&self, view: &View, mark: Mark, chosen: &[Option<u8>]) -> Vec<View> {
        let mut merged = view.clone();
        // Where the nodes of the action are; what had left the list before, or is not reached yet, is
        // none of the view's business before the step.
        let mut place: Vec<Option<u8>> = chosen.to_vec();
        for (n, (node, _)) in self.nodes.iter().enumerate() {
            if place[n].is_none() && node.standing == Standing::Listed {
                place[n] = Some(merged.nodes.len() as u8);
                merged.nodes.push(Node {
                    held: 0,
                    link: Link::Unknown,
                    ..*node
                });
            }
        }
        for (n, (node, _)) in self.nodes.iter().enumerate() {
            let Some(at) = place[n].filter(|_| node.standing != Standing::Own) else {
                continue;
            };
            let link = match node.link {
                Link::Null => Link::Null,
                Link::To(to) => place[usize::from(to)].map_or(Link::Unknown, Link::To),
                // An action has none of the former.
                Link::Past(_) | Link::Unknown => Link::Unknown,
            };
            let here = &mut merged.nodes[usize::from(at)].link;
            match (*here, link) {
                (_, Link::Unknown) => {}
                (Link::Unknown | Link::Past(_), _) => *here = link,
                (known, link) if known == link => {}
                (_, _) => return Vec::new(),
            }
        }
        if !merged.consistent(mark) {
            return Vec::new();
        }
        for (n, (before, after)) in self.nodes.iter().enumerate() {
            if before.standing == Standing::Own && after.standing == Standing::Listed {
                place[n] = Some(merged.nodes.len() as u8);
                merged.nodes.push(Node { held: 0, ..*after });
            }
        }
        for (n, (before, after)) in self.nodes.iter().enumerate() {
            let Some(at) = place[n] else {
                continue;
            };
            let moved = (before.standing, before.link) != (after.standing, after.link);
            let link = match after.link {
                Link::Null => Link::Null,
                Link::To(to) => place[usize::from(to)].map_or(Link::Unknown, Link::To),
                Link::Past(_) | Link::Unknown => Link::Unknown,
            };
            let here = &mut merged.nodes[usize::from(at)];
            here.bits = after.bits;
            if before.standing != after.standing {
                here.standing = after.standing;
            }
            if moved {
                here.link = link;
            }
        }
        merged.inside = self.inside.1;
        merged.bits = self.bits.1;
        merged.notice();
        if self.unseen {
            let known: Vec<u8> = place.into_iter().flatten().collect();
            return merged.left_unseen(&known, mark);
        }
        if merged.consistent(mark) {
            vec![merged]
        } else {
            Vec::new()
        }
    }
}
