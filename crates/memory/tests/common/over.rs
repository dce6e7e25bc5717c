//! The comparison for abstract buffers: the reduced program has every run of the
//! machine, and where no store can be beyond the exact cells, no other.

use palisade_machine::{Bound, Exploration, Options, explore};
use palisade_memory::need::most_buffered;
use palisade_memory::reduced::Reduced;
use palisade_memory::summary::{Abstract, ExactCells, Keep, SummaryInvariant};
use palisade_memory::{pso, tso};
use palisade_program::cfg::{CfgBuilder, Step};
use palisade_program::{AssertKind, Broken, Domain, Expr, Model, Program, Verdict};

use super::{Change, Disagreement, Target, only, original_finals, targets};

/// Both ways to use the cells.
pub(crate) const KEEPS: [Keep; 2] = [Keep::Newest, Keep::Oldest];

/// Values beyond which no program here stores.
const VALUES: Domain = Domain { lo: 0, hi: 3 };

/// What is claimed of all stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Claimed {
    Any,
    Among,
    Rising,
}

/// All claims.
pub(crate) const CLAIMS: [Claimed; 3] = [Claimed::Any, Claimed::Among, Claimed::Rising];

/// An abstraction: its exact cells, which stores they hold, what is claimed.
pub(crate) type Way = (u32, Keep, Claimed);

/// The reduced program.
pub(crate) fn reduce(program: &Program, model: Model, (k, keep, claimed): Way) -> Reduced {
    let claim = move || match claimed {
        Claimed::Any => SummaryInvariant::Any,
        Claimed::Among => SummaryInvariant::Among((VALUES.lo..=VALUES.hi).collect()),
        Claimed::Rising => SummaryInvariant::Rising,
    };
    let cells = ExactCells::uniform(k);
    let wanted = Abstract {
        cells: &cells,
        keep,
        claims: &|_, _| claim(),
    };
    match model {
        Model::Tso => tso::reduce_abstract(program, &wanted),
        Model::Pso => pso::reduce_abstract(program, &wanted),
        Model::Sc | Model::Rma | Model::Rc11 => panic!("{model} has no buffers"),
    }
}

/// The program with another store before each store, so that buffers fill.
pub(crate) fn stuttering(program: &Program) -> Program {
    let mut longer = program.clone();
    for template in &mut longer.templates {
        let mut builder = CfgBuilder::new();
        for _ in template.cfg.locs() {
            builder.loc();
        }
        for (i, edge) in template.cfg.edges.iter().enumerate() {
            let mut from = edge.from;
            if let Step::Store { dst, .. } = &edge.step {
                let first = Step::Store {
                    dst: dst.clone(),
                    value: Expr::Const(i as i64 * 7 / 3 % 3),
                };
                let between = builder.loc();
                builder.edge(from, first, between, edge.span);
                from = between;
            }
            builder.edge(from, edge.step.clone(), edge.to, edge.span);
        }
        template.cfg = builder.finish_whole(template.cfg.entry, template.cfg.exit);
    }
    longer
}

/// Explores. That `*` was tried with all stored values only is no loss here.
fn run(program: &Program, model: Model, finals: bool) -> Option<Exploration> {
    let mut options = Options::new(model);
    options.workers = 1;
    options.any = VALUES;
    options.collect_finals = finals;
    options.max_states = Some(100_000);
    let found = explore(program, &options).expect("the program fits the model");
    let complete = |b: Bound| b == Bound::Buffer || b == Bound::Choice;
    found.bounds.iter().all(complete).then_some(found)
}

/// How the two accounts compare on one program.
#[allow(clippy::struct_excessive_bools)] // each is an observation of its own
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Seen {
    /// The machine has a violation.
    pub(crate) violated: bool,
    /// The abstraction has ends that the machine does not have.
    pub(crate) wider: bool,
    /// A claim was wrong.
    pub(crate) broken: bool,
    /// It was too large to be compared.
    pub(crate) large: bool,
}

/// Compares; `change` is applied to every reduced program.
pub(crate) fn covers(
    program: &Program,
    model: Model,
    way: Way,
    change: Change<'_>,
) -> Result<Seen, Disagreement> {
    let mut seen = Seen::default();
    let exact = most_buffered(program, None).is_some_and(|need| need <= way.0);
    for target in targets(program) {
        let alone = only(program, target);
        let finals = target == Target::Finals;
        let mut reduced = reduce(&alone, model, way);
        change(&alone, &mut reduced);
        let both = (
            run(&alone, model, finals),
            run(&reduced.program, Model::Sc, finals),
        );
        let (Some(machine), Some(found)) = both else {
            seen.large = true;
            continue;
        };
        let name = format!("{target:?} under {model}, {way:?}");
        let violated = matches!(machine.verdict, Verdict::Violated(_));
        seen.violated |= violated;
        // A wrong claim is reported, and so loses nothing.
        if matches!(&found.verdict, Verdict::Violated(v) if matches!(v.broken, Broken::Assert(AssertKind::Summary(_))))
        {
            seen.broken = true;
            continue;
        }
        let shown = matches!(found.verdict, Verdict::Violated(_));
        if violated && !shown {
            return Err(format!("{name}: the reduced program misses it"));
        }
        if exact && shown && !violated {
            return Err(format!("{name}: only the reduced program has it"));
        }
        if finals {
            let ends = original_finals(&alone, &found.finals);
            if let Some(lost) = machine.finals.iter().find(|end| !ends.contains(end)) {
                return Err(format!("{name}: the reduced program has no end {lost:?}"));
            }
            seen.wider |= ends != machine.finals;
            if exact && ends != machine.finals {
                return Err(format!("{name}: the reduced program has other ends"));
            }
        }
    }
    Ok(seen)
}
