//! The *heap* of a view: links that become known, and links that are written.

use std::collections::BTreeSet;

use super::Refusal;
use super::view::{Key, Link, Mark, Node, Standing, View, ascends, marked};

/// What is known of nodes that others can reach, from all views.
#[derive(Default)]
pub(super) struct Published {
    /// Keys of which one leads to the other in some list; `None` is null.
    pub(super) edges: BTreeSet<(Key, Option<Key>)>,
    /// Nodes: key, whether it is listed, bits.
    pub(super) nodes: BTreeSet<(Key, bool, u8)>,
    /// Whether marked nodes may leave that the view of the call does not have.
    pub(super) unseen_leave: bool,
}

impl Published {
    /// Adds the nodes of a view; says whether one is new.
    pub(super) fn learn(&mut self, view: &View, mark: Mark) -> bool {
        let mut new = false;
        for node in view.nodes.iter().filter(|n| n.standing != Standing::Own) {
            let listed = node.standing == Standing::Listed;
            new |= self.nodes.insert((node.key, listed, node.bits));
            let to = match node.link {
                Link::Null => None,
                Link::To(to) => Some(view.nodes[usize::from(to)].key),
                Link::Past(_) | Link::Unknown => continue,
            };
            new |= self.edges.insert((node.key, to));
        }
        if self.unseen_leave {
            let listed = self
                .nodes
                .iter()
                .filter(|n| n.0 != Key::Root && n.1 && marked(n.2, mark));
            let left: Vec<_> = listed.map(|&(key, _, bits)| (key, false, bits)).collect();
            for node in left {
                new |= self.nodes.insert(node);
            }
        }
        new
    }
}

/// The views in which the link of node `of` is known.
pub(super) fn followed(view: &View, of: u8, published: &Published, mark: Mark) -> Vec<View> {
    let from = view.nodes[usize::from(of)];
    if !matches!(from.link, Link::Unknown | Link::Past(_)) {
        return vec![view.clone()];
    }
    let leads = |to: Option<Key>| published.edges.contains(&(from.key, to));
    let mut ways = Vec::new();
    let mut add = |link: Link, more: Option<Node>| {
        let mut way = view.clone();
        way.nodes.extend(more);
        way.nodes[usize::from(of)].link = link;
        if way.consistent(mark) {
            ways.push(way);
        }
    };
    if leads(None) {
        add(Link::Null, None);
    }
    for (to, node) in view.nodes.iter().enumerate() {
        if node.standing != Standing::Own && leads(Some(node.key)) {
            add(Link::To(to as u8), None);
        }
    }
    let end = view.nodes.len() as u8;
    for &(key, listed, bits) in &published.nodes {
        if key == Key::Root || !leads(Some(key)) {
            continue;
        }
        let standings: &[Standing] = if listed {
            &[Standing::Listed]
        } else {
            &[Standing::Left, Standing::LeftBefore]
        };
        for &standing in standings {
            // All nodes whose locks the call holds are in the view.
            let node = Node {
                key,
                standing,
                bits,
                held: 0,
                link: Link::Unknown,
            };
            add(Link::To(end), Some(node));
        }
    }
    ways
}

impl View {
    /// Writes the link of a node; links of nodes that others can reach are known before it. The list
    /// changes in a way that the view sees: own nodes come in, and those between the node and where
    /// the new links lead back to the list leave. Says whether marked nodes leave that the view does not
    /// tell: then others of it may be among them.
    pub(super) fn write_link(&mut self, of: u8, new: Link, mark: Mark) -> Result<bool, Refusal> {
        let node = self.nodes[usize::from(of)];
        if node.standing == Standing::Own {
            self.nodes[usize::from(of)].link = new;
            return Ok(false);
        }
        if node.link == new {
            return Ok(false);
        }
        if node.marked(mark) {
            return Err(Refusal::LinkOfMarked);
        }
        if node.standing.left() {
            return Err(Refusal::LinkOfLeft);
        }
        let (entering, back) = self.own_chain(new)?;
        let (leaving, unseen) = self.chain_to(node.link, back)?;
        self.nodes[usize::from(of)].link = new;
        for &n in &entering {
            self.nodes[n].standing = Standing::Listed;
        }
        for &n in &leaving {
            self.nodes[n].standing = Standing::Left;
        }
        for n in entering.iter().copied().chain([usize::from(of)]) {
            let from = self.nodes[n];
            if let Link::To(to) = from.link
                && !ascends(from.key, self.nodes[usize::from(to)].key)
            {
                return Err(Refusal::Unsorted);
            }
        }
        let equal = |&&n: &&usize| self.nodes[n].key == Key::Equal;
        let lost = leaving.iter().any(|n| equal(&n));
        let gained = entering.iter().find(equal).copied();
        match gained {
            // A node with the key replaces another: at no time it is out.
            Some(_) if lost => return Err(Refusal::Replaced),
            Some(n) => self.inside = !self.nodes[n].marked(mark),
            None if lost => self.inside = false,
            None => {}
        }
        Ok(unseen)
    }

    /// The own nodes from `link` on, and where they lead.
    fn own_chain(&self, link: Link) -> Result<(Vec<usize>, Link), Refusal> {
        let mut chain = Vec::new();
        let mut at = link;
        while let Link::To(to) = at {
            let n = usize::from(to);
            let node = self.nodes[n];
            match node.standing {
                Standing::Own if chain.contains(&n) => return Err(Refusal::Cycle),
                Standing::Own => chain.push(n),
                Standing::Listed => break,
                Standing::Left | Standing::LeftBefore => return Err(Refusal::LinkToLeft),
            }
            at = node.link;
        }
        Ok((chain, at))
    }

    /// The nodes from `link` to `end`, without the latter, and whether there are marked ones that the
    /// view does not tell.
    fn chain_to(&self, link: Link, end: Link) -> Result<(Vec<usize>, bool), Refusal> {
        let mut chain = Vec::new();
        let mut unseen = false;
        let mut at = link;
        if end == Link::Unknown {
            return Err(Refusal::Lost);
        }
        while at != end {
            match at {
                Link::To(to) => {
                    chain.push(usize::from(to));
                    at = self.nodes[usize::from(to)].link;
                }
                Link::Past(to) => {
                    unseen = true;
                    at = to.map_or(Link::Null, Link::To);
                }
                Link::Null | Link::Unknown => return Err(Refusal::Lost),
            }
        }
        Ok((chain, unseen))
    }

    /// The views in which some of the marked nodes that may be among those that left unseen have left.
    pub(super) fn left_unseen(self, except: &[u8], mark: Mark) -> Vec<Self> {
        let may = |n: &usize| {
            let node = self.nodes[*n];
            let known = except.contains(&(*n as u8));
            node.standing == Standing::Listed && node.marked(mark) && !known
        };
        let candidates: Vec<usize> = (0..self.nodes.len()).filter(may).collect();
        let ways = (0..1_u32 << candidates.len()).map(|some| {
            let mut way = self.clone();
            for (i, &n) in candidates.iter().enumerate() {
                if some >> i & 1 == 1 {
                    way.nodes[n].standing = Standing::Left;
                }
            }
            way
        });
        ways.filter(|way| way.consistent(mark)).collect()
    }

    /// Writes a bit of a node.
    pub(super) fn write_bit(
        &mut self,
        of: u8,
        bit: u8,
        value: bool,
        mark: Mark,
    ) -> Result<(), Refusal> {
        let node = &mut self.nodes[usize::from(of)];
        let was = node.marked(mark);
        node.bits = node.bits & !(1 << bit) | u8::from(value) << bit;
        if was && !node.marked(mark) && node.standing != Standing::Own {
            return Err(Refusal::Unmarked);
        }
        if node.standing == Standing::Listed && node.key == Key::Equal {
            self.inside = !node.marked(mark);
        }
        Ok(())
    }
}
