//! The laws of embeddings, canonical abstraction and joins, on random 3-valued structures with
//! summary objects, and on the examples under several joins.

use crate::random;

use palisade_shape::analysis::{Analysis, Input, Options, analyse};
use palisade_shape::blur::{blur, names};
use palisade_shape::eval::Plan;
use palisade_shape::explore::Bounds;
use palisade_shape::formula::Var;
use palisade_shape::isomorphism::canonical;
use palisade_shape::join::{Join, StructureSet};
use palisade_shape::kleene::Kleene;
use palisade_shape::naive::World;
use palisade_shape::structure::Structure;
use palisade_shape::vocabulary::{PredId, Vocabulary};
use palisade_shape::worlds::worlds;
use proptest::prelude::*;
use random::{arb_formula, arb_structure, cases, structure, vocabulary};
use std::path::Path;

/// The tight embedding along a map of the objects, by its definition: every value is the join of
/// the values that are mapped to it.
fn tight(voc: &Vocabulary, s: &Structure, map: &[usize], m: usize) -> Structure {
    let (from, mut out) = (World::of(voc, s), Structure::new(voc, m));
    for p in voc.ids().filter(|p| *p != PredId::SM) {
        for image in World::new(voc, m).tuples(voc.get(p).arity) {
            let tuples = from.tuples(voc.get(p).arity);
            let sources = tuples
                .iter()
                .filter(|t| t.iter().zip(&image).all(|(u, i)| map[*u] == *i));
            let value = sources.map(|t| from.get(p, t)).reduce(Kleene::join);
            out.set(voc, p, &image, value.expect("the map is onto"));
        }
    }
    for i in 0..m {
        let sources: Vec<usize> = (0..s.len()).filter(|u| map[*u] == i).collect();
        let summary = sources.len() > 1 || s.is_summary(voc, sources[0]);
        let value = if summary { Kleene::Half } else { Kleene::False };
        out.set(voc, PredId::SM, &[i], value);
    }
    out
}

/// A map of `n` objects onto some, and how many those are.
fn onto(n: usize, digits: &[u8]) -> (Vec<usize>, usize) {
    let wish = |u: usize| digits[u % digits.len()] as usize % n.max(1);
    let mut used: Vec<usize> = (0..n).map(wish).collect();
    used.sort_unstable();
    used.dedup();
    let place = |u: usize| used.iter().position(|i| *i == wish(u));
    let map = (0..n).map(|u| place(u).expect("it is used")).collect();
    (map, used.len())
}

/// Some values made unknown.
fn loosened(voc: &Vocabulary, s: &Structure, digits: &[u8]) -> Structure {
    let mut out = s.clone();
    let mut at = 0;
    for p in voc.ids().filter(|p| *p != PredId::AC) {
        for tuple in World::new(voc, s.len()).tuples(voc.get(p).arity) {
            at += 1;
            if digits[at % digits.len()].is_multiple_of(3) {
                out.set(voc, p, &tuple, Kleene::Half);
            }
        }
    }
    out
}

fn embeds(voc: &Vocabulary, s: &Structure, t: &Structure) -> bool {
    World::of(voc, s).embeds_in(voc, &World::of(voc, t))
}

fn digits() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 20..120)
}

proptest! {
    #![proptest_config(cases())]

    /// The Embedding Theorem: along any embedding, not only that in the blur, and for any
    /// assignment, a formula's value is below its value on the image. By both evaluators.
    #[test]
    fn embedding_theorem(s in arb_structure(false), d in digits(), e in digits(), f in arb_formula()) {
        let voc = vocabulary();
        let (map, m) = onto(s.len(), &d);
        let t = loosened(&voc, &tight(&voc, &s, &map, m), &e);
        prop_assert!(embeds(&voc, &s, &t));
        let vars: Vec<Var> = (0..4).map(Var).collect();
        let plan = Plan::new(&f, &[], &vars).expect("small");
        let (from, to) = (World::of(&voc, &s), World::of(&voc, &t));
        for tuple in from.tuples(4) {
            let image: Vec<usize> = tuple.iter().map(|u| map[*u]).collect();
            let at = |objects: &[usize]| vars.iter().copied().zip(objects.iter().copied()).collect();
            let (x, y) = (from.eval(&f, &at(&tuple)), to.eval(&f, &at(&image)));
            prop_assert!(x.below(y), "{x} is not below {y}");
            let (x, y) = (plan.value(&voc, &s, &tuple), plan.value(&voc, &t, &image));
            prop_assert!(x.below(y), "{x} is not below {y} by planes");
        }
    }

    /// Canonical abstraction is the tight embedding along the canonical names, and idempotent.
    #[test]
    fn blur_is_tight_and_idempotent(s in arb_structure(false)) {
        let voc = vocabulary();
        let names = names(&voc, &s);
        let mut all = names.clone();
        all.sort();
        all.dedup();
        let place = |u: usize| all.iter().position(|name| *name == names[u]);
        let map: Vec<usize> = (0..s.len()).map(|u| place(u).expect("a name")).collect();
        let b = blur(&voc, &s);
        prop_assert_eq!(&b, &tight(&voc, &s, &map, all.len()));
        prop_assert_eq!(&blur(&voc, &b), &b);
        prop_assert!(embeds(&voc, &s, &b));
    }

    #[test]
    fn isomorphic_structures_have_equal_blurs(s in arb_structure(false), seed in any::<u64>()) {
        let voc = vocabulary();
        let mut order: Vec<usize> = (0..s.len()).collect();
        order.sort_by_key(|u| seed.rotate_left(11 * *u as u32).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let t = s.select(&voc, &order);
        prop_assert_eq!(blur(&voc, &s), blur(&voc, &t));
        prop_assert_eq!(canonical(&voc, &s), canonical(&voc, &t));
    }

    #[test]
    fn joins_are_upper_bounds(a in arb_structure(false), b in arb_structure(false)) {
        let voc = vocabulary();
        let (a, b) = (blur(&voc, &a), blur(&voc, &b));
        for join in [Join::Rel, Join::Part, Join::Ind, Join::Conc] {
            let mut set = StructureSet::new(join);
            set.insert(&voc, a.clone());
            set.insert(&voc, b.clone());
            for s in [&a, &b] {
                let covered = set.structures().iter().any(|t| {
                    World::of(&voc, s).embeds_in(&voc, &World::of(&voc, t))
                });
                prop_assert!(covered, "{join:?} lost a structure");
            }
            // inserting again changes nothing
            let before = set.structures().to_vec();
            set.insert(&voc, a.clone());
            set.insert(&voc, b.clone());
            prop_assert_eq!(&before, &set.structures().to_vec());
        }
    }

    /// The pointwise join is an upper bound, and below every other one.
    #[test]
    fn join_is_the_least_upper_bound(n in 0..5usize, d in digits(), e in digits(), f in digits()) {
        let voc = vocabulary();
        let (a, b) = (structure(&voc, n, &d, false), structure(&voc, n, &e, false));
        let ab = a.join(&voc, &b);
        prop_assert!(a.below(&voc, &ab) && b.below(&voc, &ab));
        // An upper bound, value by value: where they differ, or by choice, unknown.
        let mut bound = loosened(&voc, &a, &f);
        for p in voc.ids() {
            for tuple in World::new(&voc, n).tuples(voc.get(p).arity) {
                if a.get(&voc, p, &tuple) != b.get(&voc, p, &tuple) {
                    bound.set(&voc, p, &tuple, Kleene::Half);
                }
            }
        }
        prop_assert!(a.below(&voc, &bound) && b.below(&voc, &bound));
        prop_assert!(ab.below(&voc, &bound), "not the least");
        prop_assert_eq!(&b.join(&voc, &a), &ab);
        prop_assert_eq!(&a.join(&voc, &a), &a);
    }

    /// What `part` merges is the least upper bound of the two that keeps their names.
    #[test]
    fn part_merges_to_the_least_upper_bound(s in arb_structure(false), d in digits(), e in digits()) {
        let voc = vocabulary();
        // The same names: only values that are not for abstraction differ.
        let vary = |digits: &[u8]| {
            let mut out = blur(&voc, &s);
            let other = structure(&voc, out.len(), digits, false);
            for p in voc.ids().filter(|p| *p != PredId::AC && !voc.get(*p).abstraction) {
                for tuple in World::new(&voc, out.len()).tuples(voc.get(p).arity) {
                    out.set(&voc, p, &tuple, other.get(&voc, p, &tuple));
                }
            }
            out
        };
        let (a, b) = (vary(&d), vary(&e));
        let mut set = StructureSet::new(Join::Part);
        set.insert(&voc, a.clone());
        set.insert(&voc, b.clone());
        prop_assert_eq!(set.structures(), &[a.join(&voc, &b)][..]);
    }
}

fn analysed(program: &str, states: &str, join: Join) -> Analysis {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shape");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let load = |path: &str, _: &str| Some((path.to_owned(), read(path)?));
    let mut options = Options {
        loader: &load,
        ..Options::default()
    };
    options.limits.join = join;
    options.bounds.visits = 1;
    let (p, s) = (read(program), read(states));
    let input = |name, text| Input { name, text };
    let text = |t: &Option<String>| t.clone().expect("an example");
    analyse(
        input(program, &text(&p)),
        input(states, &text(&s)),
        &options,
    )
    .unwrap_or_else(|errors| panic!("{errors}"))
}

/// Under `ind` objects may be absent; creating others must not make them exist: the worlds of the
/// structures that `rel` keeps are worlds of those of `ind`.
#[test]
fn creation_keeps_absent_objects_absent() {
    let ind = analysed("create.tvp", "list.tvs", Join::Ind);
    let rel = analysed("create.tvp", "list.tvs", Join::Rel);
    let (model, bounds) = (&rel.model, Bounds::default());
    let voc = &model.vocabulary;
    let both = rel.fixpoint.locations.iter().zip(&ind.fixpoint.locations);
    let mut seen = 0;
    for ((r, i), label) in both.zip(&model.locations) {
        let stored: Vec<World> = i
            .set
            .structures()
            .iter()
            .map(|s| World::of(voc, s))
            .collect();
        for w in r
            .set
            .structures()
            .iter()
            .flat_map(|s| worlds(model, s, &bounds))
        {
            assert!(stored.iter().any(|s| w.embeds_in(voc, s)), "at {label}");
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen} worlds only");
}

/// What `rel` keeps apart embeds in what `part` merges, at every location, and both say the same.
#[test]
fn relational_structures_embed_in_partial_ones() {
    let examples = [
        ("reverse.tvp", "list.tvs"),
        ("insert.tvp", "list.tvs"),
        ("append.tvp", "two_lists.tvs"),
        ("splice.tvp", "doubly.tvs"),
        ("mark_sweep.tvp", "graph.tvs"),
        ("mutex.tvm", "mutex.tvs"),
    ];
    let mut fewer = 0;
    for (program, states) in examples {
        let rel = analysed(program, states, Join::Rel);
        let part = analysed(program, states, Join::Part);
        assert_eq!(rel.verdict.word(), part.verdict.word(), "{program}");
        let voc = &rel.model.vocabulary;
        let both = rel.fixpoint.locations.iter().zip(&part.fixpoint.locations);
        for ((r, p), label) in both.zip(&rel.model.locations) {
            for s in r.set.structures() {
                let covered = p.set.structures().iter().any(|t| embeds(voc, s, t));
                assert!(covered, "{program} at {label}");
            }
        }
        fewer += usize::from(part.fixpoint.kept() < rel.fixpoint.kept());
    }
    assert!(fewer > 2, "part merged something in {fewer} examples only");
}
