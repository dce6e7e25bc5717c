//! Symmetry: what is interchangeable, what is not and why, and how much smaller
//! searches become.

use crate::common;

use common::{parse, word};
use palisade_machine::{Exploration, Options, explore};
use palisade_program::symmetry::Symmetry;
use palisade_program::{GlobalId, LocalId, Model, TemplateId};

/// Why the first template is not symmetric.
fn reason(text: &str) -> Option<String> {
    let program = parse(text);
    let symmetry = Symmetry::of(&program);
    let asymmetry = symmetry.asymmetry(TemplateId(0));
    assert!(asymmetry.is_none_or(|a| !program.source.slice(a.span).is_empty()));
    asymmetry.map(|a| a.reason.clone())
}

#[test]
fn names_may_be_stored_compared_and_used_as_index() {
    let text = "
        shared owner = -1; shared a[3] = 0; shared x = 0;
        thread t[3] {
            local who = -1; local r = 0;
            atomic { assume(owner == -1); owner = self; }
            who = owner;
            a[self] = x + 1;
            a[who] = 2;
            if (who != self) { r = 1; }
            assert(r == 0);
        }
        never t#1.r == 1 && t#2.who == t#2.self;";
    assert_eq!(reason(text), None);
    let program = parse(text);
    let symmetry = Symmetry::of(&program);
    let t = Some(TemplateId(0));
    assert_eq!(symmetry.names_in(GlobalId(0)), t);
    assert_eq!(symmetry.names_in(GlobalId(1)), None);
    assert_eq!(symmetry.indexed_by(GlobalId(1)), t);
    assert_eq!(symmetry.names_in(GlobalId(2)), None);
    let exit = program.template(TemplateId(0)).cfg.exit;
    let local = |l| symmetry.names_in_local(TemplateId(0), exit, LocalId(l));
    assert_eq!((local(0), local(1)), (t, None));
}

#[test]
fn other_uses_break_symmetry() {
    let with = |statement: &str, property: &str| {
        reason(&format!(
            "shared x = 0; shared y = 0; shared a[2] = 0; shared b[3] = 0;
             thread t[3] {{ local r = 0; {statement} }}
             {property}"
        ))
    };
    assert_eq!(with("x = 1;", ""), None);
    assert!(with("r = self + 1;", "").unwrap().contains("computed"));
    assert!(
        with("r = x; if (r < self) { x = 1; }", "")
            .unwrap()
            .contains("ordered")
    );
    assert!(
        with("x = self; if (x == 1) { y = 1; }", "")
            .unwrap()
            .contains("constant")
    );
    assert!(
        with("x = self; if (x) { y = 1; }", "")
            .unwrap()
            .contains("constant")
    );
    assert!(
        with("x = self; y = x + 1;", "")
            .unwrap()
            .contains("computed")
    );
    assert!(
        with("b[self] = 1; b[2] = 0;", "")
            .unwrap()
            .contains("constant")
    );
    assert!(
        with("x = self;", "never x == 2;")
            .unwrap()
            .contains("constant")
    );
    assert!(
        with("x = 1;", "never t[0].r == 1;")
            .unwrap()
            .contains("t[0]")
    );
    assert!(
        with("b[self] = 1;", "never b[1] == 1;")
            .unwrap()
            .contains("constant")
    );
    assert!(with("x = self; r = choose(0..1); if (r == x) { y = 1; }", "").is_some());
    assert_eq!(
        with("x = self; r = choose(0..2); if (r == x) { y = 1; }", ""),
        None
    );
    assert!(with("assume(self < 2); a[self] = 1;", "").is_some());
    assert_eq!(with("if (self < 3 && 0 <= self) { x = 1; }", ""), None);
    let orders = with("if (self < 2) { x = 1; }", "");
    assert!(orders.unwrap().contains("orders"));
}

fn explored(text: &str, model: Model, symmetry: bool) -> Exploration {
    let mut options = Options::new(model);
    options.symmetry = symmetry;
    options.partial_order = false;
    explore(&parse(text), &options).unwrap()
}

#[test]
fn searches_shrink_and_verdicts_stay() {
    let lock = |check: &str| {
        format!(
            "shared m = 0; shared owner = -1; shared a[4] = 0;
             thread t[4] {{
                 local r = 0;
                 {check}
                 owner = self; a[self] = 1;
                 c: r = owner; assert(r == self);
                 a[self] = 0;
                 unlock(m);
             }}
             never t#1@c && t#2@c;"
        )
    };
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        for (check, verdict) in [("lock(m);", "holds"), ("skip;", "violated")] {
            let text = lock(check);
            let (plain, reduced) = (explored(&text, model, false), explored(&text, model, true));
            assert_eq!(word(&plain.verdict), verdict);
            assert_eq!(word(&reduced.verdict), verdict);
            if verdict == "holds" {
                let (a, b) = (plain.stats.states, reduced.stats.states);
                assert!(b * 8 < a, "{model}: {a} states, {b} up to symmetry");
            }
        }
    }
}
