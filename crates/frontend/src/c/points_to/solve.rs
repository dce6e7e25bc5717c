//! The *solver*: sets of objects that grow along inclusions until nothing is new.

use std::collections::BTreeSet;

use super::Id;

/// Number of a set.
pub(super) type Node = u32;

/// A set and where it flows.
#[derive(Default)]
struct Set {
    all: BTreeSet<Id>,
    /// Those that have not been passed on yet.
    new: Vec<Id>,
    /// Sets that include this one.
    to: BTreeSet<Node>,
    /// Sets that include what the objects of this one hold.
    loads: Vec<Node>,
    /// Sets that the objects of this one include.
    stores: Vec<Node>,
    /// Calls of the functions of this one.
    calls: Vec<usize>,
}

/// Inclusions between sets.
#[derive(Default)]
pub(super) struct Solver {
    sets: Vec<Set>,
    /// What each object holds.
    contents: Vec<Node>,
    open: Vec<Node>,
    /// Objects that something is stored to.
    pub(super) written: BTreeSet<Id>,
    /// Calls and the functions that they were found to call.
    pub(super) called: Vec<(usize, Id)>,
}

impl Solver {
    pub(super) fn node(&mut self) -> Node {
        self.sets.push(Set::default());
        self.sets.len() as Node - 1
    }

    pub(super) fn object(&mut self) -> Id {
        let node = self.node();
        self.contents.push(node);
        self.contents.len() as Id - 1
    }

    /// What an object holds.
    pub(super) fn content(&self, object: Id) -> Node {
        self.contents[object as usize]
    }

    /// The objects of a set.
    pub(super) fn objects(&self, node: Node) -> &BTreeSet<Id> {
        &self.sets[node as usize].all
    }

    /// An object is in a set.
    pub(super) fn add(&mut self, node: Node, object: Id) {
        let set = &mut self.sets[node as usize];
        if set.all.insert(object) {
            set.new.push(object);
            self.open.push(node);
        }
    }

    /// A set is part of another.
    pub(super) fn include(&mut self, from: Node, to: Node) {
        let set = &mut self.sets[from as usize];
        if from != to && set.to.insert(to) {
            for object in set.all.clone() {
                self.add(to, object);
            }
        }
    }

    /// What the objects of a set hold is part of another.
    pub(super) fn load(&mut self, from: Node, to: Node) {
        self.sets[from as usize].loads.push(to);
        for object in self.objects(from).clone() {
            self.include(self.content(object), to);
        }
    }

    /// A set is part of what the objects of another hold.
    pub(super) fn store(&mut self, to: Node, value: Node) {
        self.sets[to as usize].stores.push(value);
        for object in self.objects(to).clone() {
            self.stored(object, value);
        }
    }

    fn stored(&mut self, object: Id, value: Node) {
        self.written.insert(object);
        self.include(value, self.content(object));
    }

    /// The functions of a set are called.
    pub(super) fn call(&mut self, callee: Node, call: usize) {
        self.sets[callee as usize].calls.push(call);
        let functions = self.objects(callee).clone();
        self.called.extend(functions.into_iter().map(|f| (call, f)));
    }

    /// Passes on what is new, until nothing is.
    pub(super) fn run(&mut self) {
        while let Some(node) = self.open.pop() {
            let set = &mut self.sets[node as usize];
            let new = std::mem::take(&mut set.new);
            let to: Vec<Node> = set.to.iter().copied().collect();
            let (loads, stores) = (set.loads.clone(), set.stores.clone());
            let calls = set.calls.clone();
            for object in new {
                to.iter().for_each(|t| self.add(*t, object));
                for target in &loads {
                    self.include(self.content(object), *target);
                }
                for value in &stores {
                    self.stored(object, *value);
                }
                self.called.extend(calls.iter().map(|call| (*call, object)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Solver;

    /// `p = &x; q = &p; *q = &y; r = *q`
    #[test]
    fn stores_and_loads_through_pointers() {
        let mut solver = Solver::default();
        let [x, y, p, q, r] = [(); 5].map(|()| solver.object());
        let address = |solver: &mut Solver, of| {
            let node = solver.node();
            solver.add(node, of);
            node
        };
        let to_y = address(&mut solver, y);
        let held_q = solver.content(q);
        solver.store(held_q, to_y);
        let held_r = solver.content(r);
        solver.load(held_q, held_r);
        solver.add(held_q, p);
        solver.add(solver.content(p), x);
        solver.run();
        assert_eq!(solver.objects(held_r), &[x, y].into());
        assert_eq!(solver.objects(solver.content(p)), &[x, y].into());
        assert_eq!(solver.written, [p].into());
    }
}
