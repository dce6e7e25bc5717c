//! Direct stores: the machine runs random programs as they are and with their direct
//! stores; every obligation has the same answer, and the final states are the same. A
//! store that needs its buffer is missed when it is made direct.

use crate::common;

use common::{Target, WEAK, answer, is_small, only, parse, run, shape, soak, targets};
use palisade_arbitrary::{Rng, Shape, generate};
use palisade_memory::unbuffered::unbuffered_stores;
use palisade_program::unbuffered::{StoreEdge, with_unbuffered};
use palisade_program::{Model, Program, Step};

fn stores(program: &Program) -> Vec<StoreEdge> {
    let mut all = Vec::new();
    for id in program.template_ids() {
        for (number, edge) in program.template(id).cfg.edges.iter().enumerate() {
            if matches!(edge.step, Step::Store { .. }) {
                all.push((id, number.into()));
            }
        }
    }
    all
}

/// Whether the machine sees a difference when `direct` are direct, for this target.
fn differs(alone: &Program, model: Model, direct: &[StoreEdge], finals: bool) -> bool {
    let changed = with_unbuffered(alone, direct).expect("they are stores");
    let (before, after) = (
        run(alone, model, None, finals),
        run(&changed, model, None, finals),
    );
    answer(&before) != answer(&after) || (finals && before.finals != after.finals)
}

#[test]
fn no_violation_is_lost() {
    compare(soak(400), &shape);
}

/// Threads that publish several times: a `fence(ss)` orders what is behind it, also
/// where stores before it need their buffers.
#[test]
fn no_violation_is_lost_by_publications() {
    compare(soak(400), &|seed| Shape {
        threads: 2 + (seed % 5 / 4) as usize,
        ..Shape::publications()
    });
}

fn compare(count: u64, shape: &dyn Fn(u64) -> Shape) {
    let (mut some, mut all_direct, mut caught, mut tried) = (0, 0, 0, 0);
    for seed in 0..count {
        let text = generate(seed, &shape(seed));
        let program = parse(&text);
        let model = WEAK[(seed / 4) as usize % 2];
        if !is_small(&program, model) {
            continue;
        }
        let mut rng = Rng::new(seed);
        for target in targets(&program) {
            let alone = only(&program, target);
            let (direct, all) = (unbuffered_stores(&alone, model), stores(&alone));
            let finals = target == Target::Finals;
            if !direct.is_empty() {
                let lost = differs(&alone, model, &direct, finals);
                assert!(
                    !lost,
                    "seed {seed}, {model}, {target:?}: {direct:?}\n{text}"
                );
            }
            some += u64::from(!direct.is_empty());
            all_direct += u64::from(!all.is_empty() && direct == all);
            // A seeded fault: one more store is direct.
            let buffered: Vec<_> = all.iter().filter(|s| !direct.contains(s)).collect();
            if finals && !buffered.is_empty() {
                let mut forged = direct;
                forged.push(*buffered[rng.below(buffered.len())]);
                forged.sort_unstable();
                tried += 1;
                caught += u64::from(differs(&alone, model, &forged, true));
            }
        }
    }
    println!(
        "{count} programs: {some} targets with direct stores, {all_direct} with no others; {caught} of {tried} faults seen"
    );
    assert!(some * 2 > count && all_direct * 10 > count);
    assert!(caught * 10 > tried, "{caught} of {tried} faults seen");
}

/// What is direct in small shapes, by hand.
#[test]
fn shapes_by_hand() {
    let direct = |text: &str, model: Model| {
        let program = parse(text);
        (
            unbuffered_stores(&program, model).len(),
            stores(&program).len(),
        )
    };
    let passing = "shared d = 0; shared f = 0;
        thread w { while (*) { d = 1; f = 1; } }
        thread r { local a = 0; a = f; a = d; }";
    assert_eq!(direct(passing, Model::Tso), (2, 2));
    assert_eq!(direct(passing, Model::Pso), (0, 2));
    let ordered = "shared d = 0; shared f = 0;
        thread w { d = 1; fence(ss); f = 1; }
        thread r { local a = 0; a = f; a = d; }";
    assert_eq!(direct(ordered, Model::Pso), (2, 2));
    let buffering = "shared x = 0; shared y = 0;
        thread a { local r = 0; x = 1; r = y; x = 2; fence; r = y; }
        thread b { local r = 0; y = 1; r = x; }";
    assert_eq!(direct(buffering, Model::Tso), (1, 3));
    // What it loads is its own, or it has stored there just before.
    let own = "shared x = 0; shared y = 0; shared z = 0;
        thread a { local r = 0; x = 1; r = z; y = 2; r = y; z = 1; }
        thread b { local r = 0; y = 1; r = x; fence; r = z; }";
    assert_eq!(direct(own, Model::Tso), (3, 4));
    // Two publications: only the first flag and the second data may change places.
    let twice = "shared d = 0; shared f = 0;
        thread w { d = 1; fence(ss); f = 1; d = 2; fence(ss); f = 2; }
        thread r { local a = 0; a = f; a = d; }";
    assert_eq!(direct(twice, Model::Pso), (2, 4));
    // A `never` that sees the thread beside its memory needs the buffer.
    let seen = "shared x = 0; thread a { x = 1; END: skip; } never a@END && x == 0;";
    assert_eq!(direct(seen, Model::Tso), (0, 1));
    let unseen = "shared x = 0; thread a { x = 1; END: skip; } never x == 2;";
    assert_eq!(direct(unseen, Model::Tso), (1, 1));
    // Copies of one template are other threads to each other, but for `self`.
    let copies = "shared a[2] = 0; shared x = 0;
        thread t[2] { local r = 0; x = 1; r = a[self]; a[self] = r + 1; r = a[1 - self]; }";
    assert_eq!(direct(copies, Model::Tso), (0, 2));
    let numbered = "shared a[2] = 0; shared x = 0;
        thread t[2] { local r = 0; x = 1; r = a[self]; a[self] = r + 1; r = x; }";
    assert_eq!(direct(numbered, Model::Tso), (1, 2));
}
