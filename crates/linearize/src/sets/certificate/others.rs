//! What others notice of a step. An [`Action`] is what a step writes, with the nodes that this is about: the one that is written,
//! those that enter and leave the list, and where the list goes on. What else its call knows is forgotten.
//!
//! Another call notices it in a heap that has the nodes of both: some of the action's nodes are nodes of that call's view, the others
//! are not. All ways are tried, in all orders in which the nodes can stand in the list; the word is written, and the list
//! followed again.

use super::super::Refusal;
use super::super::view::{Key, Link, Mark, Node, Standing, View};
use super::fragment::{Fragment, Pasts, pasts};
use super::known::shortened;
use super::own::Taken;

/// What a step writes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Action {
    inside: (bool, bool),
    bits: (u8, u8),
    /// Shared locks that its call holds.
    held: u8,
    nodes: Vec<Node>,
    /// Links and bits of the same nodes afterwards.
    written: Vec<(Link, u8)>,
}

/// What a call knows of memory; calls that know the same notice the same.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Seen {
    pub(super) nodes: Vec<Node>,
    pub(super) inside: bool,
    pub(super) bits: u8,
    pub(super) held: u8,
    /// The key was in the set all the time since the call began, and it is the call's.
    pub(super) never_out: bool,
}

impl Seen {
    pub(super) fn of(view: &View) -> Self {
        Self {
            nodes: view.nodes.clone(),
            inside: view.inside,
            bits: view.bits,
            held: view.held,
            never_out: view.argument == Key::Equal && !view.history.was_out,
        }
    }

    /// The view of a call that has noticed it.
    pub(super) fn view(&self, old: &View) -> View {
        let mut view = View {
            inside: self.inside,
            bits: self.bits,
            nodes: self.nodes.clone(),
            ..old.clone()
        };
        if view.argument == Key::Equal {
            view.history.was_in |= view.inside;
            view.history.was_out |= !view.inside;
        }
        view
    }
}

impl Action {
    /// What others notice of a step, if anything.
    pub(super) fn of(taken: &Taken) -> Result<Option<Self>, Refusal> {
        let (before, after) = (&taken.before, &taken.after);
        let nodes = &before.nodes;
        let is_changed = |n: &u8| {
            let (old, new) = (nodes[usize::from(*n)], taken.written[usize::from(*n)]);
            old.standing != Standing::Own && (old.link, old.bits) != (new.link, new.bits)
        };
        let changed: Vec<u8> = (0..nodes.len() as u8).filter(is_changed).collect();
        if changed.is_empty() && before.bits == after.bits {
            return Ok(None);
        }
        // Nodes whose links matter come first.
        let mut kept = Vec::new();
        let mut ends = Vec::new();
        for &n in &changed {
            kept.push(n);
            let (old, new) = (
                nodes[usize::from(n)].link,
                taken.written[usize::from(n)].link,
            );
            if old == new {
                continue;
            }
            let mut at = new;
            while let Link::To(to) = at {
                let node = taken.written[usize::from(to)];
                if node.standing != Standing::Own {
                    break;
                }
                if kept.contains(&to) {
                    return Err(Refusal::Cycle);
                }
                kept.push(to);
                at = node.link;
            }
            let back = at;
            at = old;
            while at != back {
                match at {
                    Link::To(to) if kept.contains(&to) => return Err(Refusal::Cycle),
                    Link::To(to) => {
                        kept.push(to);
                        at = nodes[usize::from(to)].link;
                    }
                    Link::Past(to) => at = to.map_or(Link::Null, Link::To),
                    Link::Null | Link::Unknown => return Err(Refusal::Lost),
                }
            }
            if let Link::To(to) = back {
                ends.push(to);
            }
        }
        let moved = taken
            .written
            .iter()
            .zip(nodes)
            .any(|(new, old)| new.link != old.link);
        let linked = if moved { kept.len() } else { 0 };
        kept.extend(ends);
        let place = |to: u8| kept.iter().position(|n| *n == to).map(|n| n as u8);
        let known = |n: usize, link: Link| match link {
            _ if n >= linked => Link::Unknown,
            Link::To(to) => place(to).map_or(Link::Unknown, Link::To),
            Link::Past(Some(to)) => place(to).map_or(Link::Unknown, |to| Link::Past(Some(to))),
            Link::Null | Link::Past(None) | Link::Unknown => link,
        };
        let old = kept.iter().enumerate().map(|(n, &of)| {
            let node = nodes[usize::from(of)];
            let standing = if node.standing.left() {
                Standing::Left
            } else {
                node.standing
            };
            let link = known(n, node.link);
            Node {
                standing,
                link,
                ..node
            }
        });
        let new = kept.iter().enumerate().map(|(n, &of)| {
            let node = taken.written[usize::from(of)];
            (known(n, node.link), node.bits)
        });
        Ok(Some(Self {
            inside: (before.inside, after.inside),
            bits: (before.bits, after.bits),
            held: before.held,
            nodes: old.collect(),
            written: new.collect(),
        }))
    }

    /// What a call knows after it, in all ways.
    pub(super) fn noticed(
        &self,
        seen: &Seen,
        mark: Mark,
        ways: &mut Vec<Seen>,
    ) -> Result<(), Refusal> {
        let excluded =
            self.held & seen.held != 0 || self.bits.0 != seen.bits || self.inside.0 != seen.inside;
        if excluded {
            return Ok(());
        }
        self.identify(seen, mark, &mut Vec::new(), ways)
    }

    /// Chooses which nodes of the action are nodes of the view.
    fn identify(
        &self,
        seen: &Seen,
        mark: Mark,
        chosen: &mut Vec<Option<u8>>,
        ways: &mut Vec<Seen>,
    ) -> Result<(), Refusal> {
        let Some(node) = self.nodes.get(chosen.len()) else {
            return self.happen(seen, mark, chosen, ways);
        };
        if node.key != Key::Root {
            chosen.push(None);
            self.identify(seen, mark, chosen, ways)?;
            chosen.pop();
        }
        if node.standing == Standing::Own {
            return Ok(());
        }
        for (n, other) in seen.nodes.iter().enumerate() {
            let is_same = other.key == node.key
                && other.bits == node.bits
                && other.standing != Standing::Own
                && other.standing.left() == node.standing.left()
                && other.held & node.held == 0
                && !chosen.contains(&Some(n as u8));
            if is_same {
                chosen.push(Some(n as u8));
                self.identify(seen, mark, chosen, ways)?;
                chosen.pop();
            }
        }
        Ok(())
    }

    fn happen(
        &self,
        seen: &Seen,
        mark: Mark,
        chosen: &[Option<u8>],
        ways: &mut Vec<Seen>,
    ) -> Result<(), Refusal> {
        let count = seen.nodes.len();
        let mut nodes = seen.nodes.clone();
        let mut pasts = pasts(&nodes);
        let mut place = chosen.to_vec();
        for (n, node) in self.nodes.iter().enumerate() {
            // What has left the list, and is not of the view, is not its business.
            if place[n].is_none() && !node.standing.left() {
                place[n] = Some(nodes.len() as u8);
                nodes.push(Node {
                    held: 0,
                    link: Link::Unknown,
                    ..*node
                });
            }
        }
        let placed = |link: Link| match link {
            Link::To(to) => place[usize::from(to)].map_or(Link::Unknown, Link::To),
            Link::Past(Some(to)) => {
                place[usize::from(to)].map_or(Link::Unknown, |to| Link::Past(Some(to)))
            }
            Link::Null | Link::Past(None) | Link::Unknown => link,
        };
        for (n, node) in self.nodes.iter().enumerate() {
            let Some(at) = place[n] else {
                continue;
            };
            let link = placed(node.link);
            if !join(&mut nodes, &mut pasts, at, link, mark) {
                return Ok(());
            }
        }
        let fragment = Fragment {
            nodes: &nodes,
            pasts: &pasts,
            inside: seen.inside,
            mark,
        };
        if !fragment.hindsight(count, seen.never_out) {
            return Ok(());
        }
        let mut after = nodes.clone();
        let mut moved = false;
        for (n, (old, (link, bits))) in self.nodes.iter().zip(&self.written).enumerate() {
            let Some(at) = place[n] else {
                continue;
            };
            let node = &mut after[usize::from(at)];
            node.bits = *bits;
            if *link != old.link {
                node.link = placed(*link);
                moved = true;
            }
        }
        let mut lists = Vec::new();
        let mut wrong = None;
        let depends = moved && !pasts.is_empty();
        fragment.orders(&mut |order| {
            match fragment.walk(order, &after) {
                Ok(walked) if !lists.contains(&walked) => lists.push(walked),
                Ok(_) => {}
                Err(refusal) => wrong = Some(refusal),
            }
            wrong.is_none() && depends
        });
        if let Some(refusal) = wrong {
            return Err(refusal);
        }
        for walked in lists {
            if walked.inside != self.inside.1 {
                return Err(Refusal::OthersKey);
            }
            let kept = |n: u8| usize::from(n) < count;
            let mut now: Vec<Node> = after[..count].to_vec();
            for (n, node) in now.iter_mut().enumerate() {
                let (old, short) = (
                    seen.nodes[n].link,
                    shortened(&after, node.link, mark, &kept),
                );
                let rewritten = node.link != nodes[n].link;
                let vague = matches!(old, Link::Unknown | Link::Past(_));
                node.link = match short {
                    _ if !rewritten && !vague => old,
                    Link::Unknown if !rewritten => old,
                    known => known,
                };
            }
            for n in walked.left.into_iter().filter(|n| kept(*n)) {
                now[usize::from(n)].standing = Standing::Left;
            }
            let way = Seen {
                nodes: now,
                inside: self.inside.1,
                bits: self.bits.1,
                ..*seen
            };
            let same = (&way.nodes, way.inside, way.bits) == (&seen.nodes, seen.inside, seen.bits);
            if !same && !ways.contains(&way) {
                ways.push(way);
            }
        }
        Ok(())
    }
}

/// Adds what is known of a link; says whether both can be.
fn join(nodes: &mut [Node], pasts: &mut Pasts, at: u8, link: Link, mark: Mark) -> bool {
    let here = nodes[usize::from(at)].link;
    let marked = |link: Link| match link {
        Link::To(to) => nodes[usize::from(to)].marked(mark),
        Link::Null | Link::Past(_) | Link::Unknown => false,
    };
    match (here, link) {
        (_, Link::Unknown) => true,
        (Link::Unknown, Link::Past(to)) => {
            pasts.push((at, to));
            nodes[usize::from(at)].link = link;
            true
        }
        (Link::Unknown, Link::Null | Link::To(_)) => {
            nodes[usize::from(at)].link = link;
            true
        }
        (Link::Past(_), Link::Past(to)) => {
            pasts.push((at, to));
            true
        }
        (Link::Past(_), Link::Null | Link::To(_)) => {
            let can = marked(link);
            nodes[usize::from(at)].link = link;
            can
        }
        (Link::Null | Link::To(_), Link::Past(to)) => {
            pasts.push((at, to));
            marked(here)
        }
        (Link::Null | Link::To(_), Link::Null | Link::To(_)) => here == link,
    }
}
