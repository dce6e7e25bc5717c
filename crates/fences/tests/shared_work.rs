//! Work is shared between placements: what one verification has computed, the next
//! one recalls, and comes to the verdict that it would have come to alone.

use crate::common;

use common::gapped;
use palisade_fences::{Level, Plan, Rule, sites};
use palisade_program::Model;
use palisade_verify::{Buffers, Knowledge, Options, Sizes, verify_with};

/// A ticket lock with unbounded tickets: the proof needs predicates.
const TEXT: &str = "\
shared next = 0;
shared serving = 0;
thread t[2] {
    local mine = 0;
    while (1) {
        mine = fetch_add(next, 1);
        while (serving != mine) { }
        cs: skip;
        serving = mine + 1;
    }
}
never t#1@cs && t#2@cs;
";

#[test]
fn posts_survive_another_fence() {
    for model in [Model::Tso, Model::Pso] {
        let gapped = gapped(TEXT);
        let all = sites(&gapped.program, &gapped.gaps);
        let plan = Plan::new(&gapped.program, model, all, &Rule::Count);
        assert!(!plan.decisions.is_empty());
        let options = Options {
            model,
            falsify: false,
            // Of the same size for all placements.
            buffers: Buffers::Bounded(Sizes {
                default: 2,
                named: std::collections::BTreeMap::new(),
            }),
            ..Options::default()
        };
        let shared = Knowledge::default();
        let first = verify_with(plan.program, &options, &shared);
        assert!(first.certified && first.stats.predicates > 0, "{model}");
        for decision in 0..plan.decisions.len() {
            let placement = plan.nothing().with(decision, Level::Full);
            let program = plan.switched(&placement);
            let before = shared.recalled_posts();
            let found = verify_with(&program, &options, &shared);
            let recalled = shared.recalled_posts() - before;
            let alone = verify_with(&program, &options, &Knowledge::default());
            assert_eq!(found.verdict, alone.verdict, "{model}, {decision}");
            let computed = found.stats.posts.0 - found.stats.posts.1;
            assert!(
                recalled > computed,
                "{model}, {decision}: {recalled} recalled, {computed} computed"
            );
        }
    }
}
