//! The laws of evaluation and actions, on random structures: the bit-plane evaluation against the
//! naive one, coerce, focus, differencing. Those of embeddings and joins: [`embedding`](embedding.rs).

use crate::random;

use palisade_shape::analysis::{Input, Options, read_program};
use palisade_shape::blur::blur;
use palisade_shape::coerce::Dirty;
use palisade_shape::concrete::step;
use palisade_shape::eval::Plan;
use palisade_shape::focus::FocusPlan;
use palisade_shape::formula::{Formula, Var};
use palisade_shape::isomorphism::canonical;
use palisade_shape::join::Join;
use palisade_shape::kleene::Kleene;
use palisade_shape::model::Model;
use palisade_shape::naive::World;
use palisade_shape::structure::Structure;
use palisade_shape::syntax::Diagnostics;
use palisade_shape::transfer::{Context, apply};
use palisade_shape::vocabulary::{PredId, Vocabulary};
use proptest::prelude::*;
use random::{arb_formula, arb_structure, cases, vocabulary};

/// Every value of a formula, by plan and naively, with some variables fixed.
fn agree(voc: &Vocabulary, s: &Structure, f: &Formula) -> Result<(), TestCaseError> {
    let vars: Vec<Var> = (0..4).map(Var).collect();
    let world = World::of(voc, s);
    let (free, fixed) = vars.split_at(2);
    let plan = Plan::new(f, free, fixed).expect("small");
    for outer in world.tuples(2) {
        let table = plan.eval(voc, s, &outer);
        for inner in world.tuples(2) {
            let at = free
                .iter()
                .chain(fixed)
                .copied()
                .zip(inner.iter().chain(&outer).copied())
                .collect();
            let expected = world.eval(f, &at);
            let bit = |w: &[u64]| w[inner[0]] >> inner[1] & 1 == 1;
            let found = Kleene::from_bits(bit(&table.may), bit(&table.must));
            prop_assert_eq!(found, expected, "{:?} at {:?} {:?}", f, inner, outer);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn evaluation_is_the_textbook_one(s in arb_structure(true), f in arb_formula()) {
        agree(&vocabulary(), &s, &f)?;
    }
}

const LISTS: &str = r"
%s Vars {x, y}
foreach (z in Vars) { %p z(v) unique }
%p n(v, w) function acyclic
%i t(v, w) = n*(v, w) reflexive transitive
%i shared(v) = E(a, b) a != b & n(a, v) & n(b, v)
foreach (z in Vars) { %i r[z](v) = E(w) z(w) & t(w, v) }
%i onx(v) = A(w) x(w) -> n(w, v)
%r x(v) & y(w) & n(v, w) ==> !n(w, v)
%%
%action cut() { %f { x(v) } { n(v, w) = n(v, w) & !x(v) } }
%action link() {
  %f { x(v), y(v) }
  %p !(E(v, w) x(v) & n(v, w)) & !(E(v, w) x(v) & y(w) & t(w, v))
  { n(v, w) = n(v, w) | x(v) & y(w) }
}
%action relink() {
  %p !(E(v, w) x(v) & y(w) & t(w, v))
  { n(v, w) = (x(v) ? y(w) : n(v, w)) }
}
%action next() { %f { y(v) & n(v, w) } { x(v) = E(w) y(w) & n(w, v) } }
%action create() { %new { x(v) = isNew(v) } }
%action createLinked() { %new { n(v, w) = n(v, w) | isNew(v) & y(w) x(v) = isNew(v) } }
%action free() { %retain !x(v) }
%action pick() { %p n(a, b) & !x(a) { y(v) = v == b } }
%%
a cut() a
a link() a
a relink() a
a next() a
a create() a
a createLinked() a
a free() a
a pick() a
";

/// Like [`LISTS`], with cycles allowed and a closure of more than an atom.
const GRAPHS: &str = r"
%s Vars {x, y}
foreach (z in Vars) { %p z(v) unique }
%p n(v, w)
%i t(v, w) = n+(v, w)
%i cyc(v) = E(w) n(w, v) & n*(v, w)
foreach (z in Vars) { %i r[z](v) = E(w) z(w) & n*(w, v) }
%i avoid(v) = E(w) x(w) & TC (w, v)(a, b) (n(a, b) & !y(a))
%i many() = E(a, b) a != b & x(a) & n(a, b)
%%
%action cut() { %f { x(v) } { n(v, w) = n(v, w) & !(x(v) & y(w)) } }
%action link() { { n(v, w) = n(v, w) | x(v) & y(w) } }
%action turn() { { n(v, w) = n(w, v) } }
%action isolate() { %f { y(v) } { n(v, w) = n(v, w) & !y(w) & !y(v) } }
%action free() { %retain !y(v) }
%action double() { %new r[x](v) { n(v, w) = n(v, w) | (E(o) instance(v, o) & n(o, w)) } }
%action copy() { %clone r[y](v) { x(v) = x(v) & !isNew(v) y(v) = y(v) & !isNew(v) } }
%action toggle() { { x(v) = (x(v) ? 0 : y(v)) y(v) = x(v) } }
%%
a cut() a
a link() a
a turn() a
a isolate() a
a free() a
a double() a
a copy() a
a toggle() a
";

fn model(text: &str) -> Model {
    let mut errors = Diagnostics::default();
    let input = Input {
        name: "laws.tvp",
        text,
    };
    let model = read_program(input, &Options::default(), &mut errors);
    model.unwrap_or_else(|| panic!("{errors}"))
}

/// A concrete world of a model: random core values, functions and uniqueness respected,
/// definitions evaluated naively. `None` when a rule is broken.
fn world(model: &Model, n: usize, digits: &[u8]) -> Option<World> {
    let voc = &model.vocabulary;
    let mut w = World::new(voc, n);
    let mut at = 0;
    let mut next = |m: usize| {
        at += 1;
        digits[at % digits.len()] as usize % m.max(1)
    };
    for p in voc.ids().skip(2) {
        let pred = voc.get(p);
        if pred.definition.is_some() || ["isNew", "instance"].contains(&pred.name.as_str()) {
            continue;
        }
        match pred.arity {
            1 => {
                let u = next(n + 1);
                if u < n {
                    w.set(p, &[u], Kleene::True);
                }
            }
            _ => {
                for u in 0..n {
                    let t = next(n + 1);
                    if t < n && (!pred.properties.acyclic || t > u) {
                        w.set(p, &[u, t], Kleene::True);
                    }
                }
            }
        }
    }
    define(voc, &mut w);
    model
        .axioms
        .iter()
        .all(|a| w.satisfies(&a.formula))
        .then_some(w)
}

fn define(voc: &Vocabulary, w: &mut World) {
    for p in voc.instrumentation().collect::<Vec<_>>() {
        let def = voc.get(p).definition.clone().expect("defined");
        for tuple in w.tuples(def.args.len()) {
            let at = def
                .args
                .iter()
                .copied()
                .zip(tuple.iter().copied())
                .collect();
            let value = w.eval(&def.formula, &at);
            w.set(p, &tuple, value);
        }
    }
}

/// Loses information: blurs, adds an object that need not exist, and makes some values unknown.
fn abstraction(voc: &Vocabulary, w: &World, digits: &[u8]) -> Structure {
    let mut s = blur(voc, &w.structure(voc));
    if digits.first().is_some_and(|d| d.is_multiple_of(2)) && s.len() < 5 {
        s = with_absent(voc, &s, digits);
    }
    let n = s.len();
    for (i, d) in digits.iter().enumerate() {
        let p = PredId(2 + (u32::from(*d) % (voc.len() as u32 - 2)));
        let tuple: Vec<usize> = (0..voc.get(p).arity)
            .map(|k| digits[(i + k + 1) % digits.len()] as usize % n.max(1))
            .collect();
        if n > 0 && d % 3 == 0 {
            s.set(voc, p, &tuple, Kleene::Half);
        }
    }
    s
}

/// The structure with one object more, of any values, that may be absent.
fn with_absent(voc: &Vocabulary, s: &Structure, digits: &[u8]) -> Structure {
    let (mut out, new) = (s.extend(voc, 1), s.len());
    let mut at = 0;
    for p in voc.ids().skip(2) {
        for tuple in World::new(voc, new + 1).tuples(voc.get(p).arity) {
            if tuple.contains(&new) {
                at += 1;
                let d = digits[at % digits.len()] as usize;
                out.set(voc, p, &tuple, Kleene::ALL[d % 3]);
            }
        }
    }
    out.set(voc, PredId::AC, &[new], Kleene::Half);
    out
}

proptest! {
    #![proptest_config(cases())]

    /// Coerce keeps every consistent concrete structure, and only sharpens.
    #[test]
    fn coerce_is_sound(n in 0..5usize, d in proptest::collection::vec(any::<u8>(), 20..60), e in proptest::collection::vec(any::<u8>(), 0..20)) {
        for text in [LISTS, GRAPHS] {
            let m = model(text);
            let voc = &m.vocabulary;
            let Some(w) = world(&m, n, &d) else { continue };
            let s = abstraction(voc, &w, &e);
            let mut c = s.clone();
            prop_assert!(m.rules.coerce(voc, &mut c, Dirty::all(voc)).is_ok(), "discarded");
            prop_assert!(w.embeds_in(voc, &World::of(voc, &c)), "lost the concrete structure");
            prop_assert!(World::of(voc, &c).embeds_in(voc, &World::of(voc, &s)));
            let mut again = c.clone();
            prop_assert!(m.rules.coerce(voc, &mut again, Dirty::all(voc)).is_ok());
            prop_assert_eq!(c, again);
        }
    }

    /// A whole action covers its concrete steps: focus, coerce, update with differencing, blur.
    #[test]
    fn actions_are_sound(n in 0..5usize, d in proptest::collection::vec(any::<u8>(), 20..60), e in proptest::collection::vec(any::<u8>(), 0..12)) {
        for text in [LISTS, GRAPHS] {
            let m = model(text);
            let voc = &m.vocabulary;
            let Some(w) = world(&m, n, &d) else { continue };
            let mut s = abstraction(voc, &w, &e);
            prop_assert!(m.rules.coerce(voc, &mut s, Dirty::all(voc)).is_ok());
            let s = blur(voc, &s);
            let cx = Context {
                vocabulary: voc,
                rules: &m.rules,
                instrumentation: &m.instrumentation,
                join: Join::Part,
            };
            for action in &m.actions {
                let post = apply(&cx, action, &s);
                for r in step(&m, action, &w, 12).results {
                    if r.broken.is_some() {
                        continue;
                    }
                    let covered = post
                        .structures
                        .iter()
                        .any(|t| r.world.embeds_in(voc, &World::of(voc, t)));
                    let tvs = |s: &Structure| palisade_shape::print::tvs(voc, s);
                    prop_assert!(
                        covered,
                        "{} lost\n{}from\n{}abstract\n{}results\n{}",
                        action.title,
                        tvs(&r.world.structure(voc)),
                        tvs(&w.structure(voc)),
                        tvs(&s),
                        post.structures.iter().map(tvs).collect::<String>()
                    );
                }
            }
        }
    }

    /// On a concrete structure an action is exact: differencing equals re-evaluation.
    #[test]
    fn differencing_is_exact_on_concrete_structures(n in 0..5usize, d in proptest::collection::vec(any::<u8>(), 20..60)) {
        for text in [LISTS, GRAPHS] {
            let m = model(text);
            let voc = &m.vocabulary;
            let Some(w) = world(&m, n, &d) else { continue };
            let cx = Context {
                vocabulary: voc,
                rules: &m.rules,
                instrumentation: &m.instrumentation,
                join: Join::Conc,
            };
            for action in &m.actions {
                let form = |s: &Structure| canonical(voc, s);
                let mut found: Vec<Structure> =
                    apply(&cx, action, &w.structure(voc)).structures.iter().map(form).collect();
                let mut expected: Vec<Structure> = step(&m, action, &w, 12)
                    .results
                    .iter()
                    .filter(|r| r.broken.is_none())
                    .map(|r| form(&r.world.structure(voc)))
                    .collect();
                found.sort();
                expected.sort();
                prop_assert_eq!(found, expected, "{}", action.title);
            }
        }
    }

    /// Focus keeps every concrete structure, and makes the formula definite or says so.
    #[test]
    fn focus_is_sound(n in 0..5usize, d in proptest::collection::vec(any::<u8>(), 20..60), e in proptest::collection::vec(any::<u8>(), 0..20), which in 0..5usize) {
        let m = model(LISTS);
        let voc = &m.vocabulary;
        let pred = |n: &str| voc.find(n).expect("declared");
        let (a, b) = (Var(100), Var(101));
        let x = Formula::Atom(pred("x"), vec![a]);
        let formulas = [
            x.clone(),
            Formula::and([x.clone(), Formula::Atom(pred("n"), vec![a, b])]),
            Formula::or([x.not(), Formula::Atom(pred("shared"), vec![b])]),
            Formula::Atom(pred("r[y]"), vec![a]),
            Formula::Atom(pred("n"), vec![a, b]),
        ];
        let f = &formulas[which];
        if let Some(w) = world(&m, n, &d) {
            let s = abstraction(voc, &w, &e);
            let plan = FocusPlan::new(voc, f).expect("small");
            let out = plan.focus(voc, s, Dirty::none(voc));
            let covered = out.structures.iter().any(|(t, _)| w.embeds_in(voc, &World::of(voc, t)));
            prop_assert!(covered, "lost the concrete structure");
        }
    }
}
