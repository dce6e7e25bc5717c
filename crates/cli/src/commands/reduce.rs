//! `palisade reduce`: prints the reduction of a program, a program
//! that behaves under SC as the given one under TSO or PSO as long as no store
//! buffer needs more than its cells; where one does, an assertion fails. With
//! abstract buffers it has all runs of the given program, and more. Comments say
//! what the new variables stand for.

use std::fmt::Write;

use anyhow::{Result, bail};
use palisade_frontend::{pal, sequential};
use palisade_memory::reduced::{Full, Part, Reduced, ReducedTemplate};
use palisade_memory::summary::{Abstract, ExactCells};
use palisade_memory::value_sets::Wanted;
use palisade_memory::{pso, rma, tso};
use palisade_program::{Cell, Model, Program, Source, Template};
use palisade_report::{Document, Outcome};
use palisade_verify::{Buffers, Keep, cell_values, stored_values};

use crate::CommandResult;
use crate::args::{ReduceArgs, SetsArg, ToArg};
use crate::context::Context;
use crate::input;

pub(super) fn run(args: &ReduceArgs, context: &Context) -> CommandResult {
    let program = input::load(context, &args.file)?;
    let model = args.model.into();
    input::refuse_processes(context, &program, model)?;
    args.buffers.check(&program, model)?;
    let heading = Document {
        input: Some(program.source.name().to_owned()),
        model: Some(model.to_string()),
        ..context.document()
    };
    context.prepare_last_words(heading.clone());
    let reduced = match model {
        Model::Rma => remote(&program, &args.buffers.how, args.sets),
        Model::Sc | Model::Tso | Model::Pso | Model::Rc11 => {
            reduce(&program, model, &args.buffers.how, args.keep.into())
        }
    }?;
    let buffers = args.buffers.to_string();
    let text = match args.to {
        ToArg::Pal => text(&program, &reduced, model, &buffers)?,
        ToArg::C => in_c(&program, &reduced, args.copies, (model, &buffers))?,
    };
    let document = Document {
        text: Some(text.clone()),
        ..heading
    };
    context.print(&text, &document);
    Ok(Outcome::Done)
}

fn reduce(program: &Program, model: Model, buffers: &Buffers, keep: Keep) -> Result<Reduced> {
    let (is_tso, is_pso) = (model == Model::Tso, model == Model::Pso);
    if !is_tso && !is_pso {
        bail!("there is no reduction for {model}; use tso, pso or rma");
    }
    match buffers {
        Buffers::Auto => {
            bail!("`reduce` needs a number of cells: --buffers bounded:K or abstract:K")
        }
        Buffers::Bounded(sizes) => {
            let size = |template, cell| sizes.of_thread(program, template, cell);
            Ok(if is_tso {
                tso::reduce_each(program, &|t| size(t, Cell(0)), Full::Fails)
            } else {
                pso::reduce_each(program, &size, Full::Fails)
            })
        }
        Buffers::Abstract(cells) => {
            let known = stored_values(program);
            let wanted = Abstract {
                cells: &ExactCells::uniform(*cells),
                keep,
                claims: &|template, cell| known(template, cell),
            };
            Ok(if is_tso {
                tso::reduce_abstract(program, &wanted)
            } else {
                pso::reduce_abstract(program, &wanted)
            })
        }
    }
}

/// Pending remote operations in slots.
fn remote(program: &Program, buffers: &Buffers, sets: SetsArg) -> Result<Reduced> {
    match buffers {
        Buffers::Auto => {
            bail!("`reduce` needs a number of slots: --buffers bounded:K or abstract:K")
        }
        Buffers::Bounded(sizes) => Ok(rma::reduce(program, sizes.default, Full::Fails)),
        Buffers::Abstract(slots) => {
            let few = cell_values(program);
            let values = |cell| few(cell).filter(|_| sets != SetsArg::Summary);
            let wanted = Wanted {
                values: &values,
                copies: 2,
                exact: 0,
                sharing: sets.into(),
            };
            Ok(rma::reduce_sets(program, *slots, &wanted))
        }
    }
}

/// The reduced program as C.
fn in_c(
    original: &Program,
    reduced: &Reduced,
    copies: Option<u32>,
    (model, buffers): (Model, &str),
) -> Result<String> {
    if original.has_unbounded_threads() && copies.is_none() {
        bail!("--to c: how many threads? --copies N says how many copies of [*] there are");
    }
    let code = sequential::print(&reduced.program, copies.unwrap_or(1));
    let code = code.map_err(|e| anyhow::anyhow!("--to c: C cannot say this: {e}"))?;
    let name = original.source.name();
    let account = account(reduced, model);
    Ok(format!(
        "// {name} under {model}, buffers {buffers}, as sequential C.\n{account}\n\
         // Integers are mathematical: look for signed overflow as well. -D RANDOM_RUNS=1000 makes random runs.\n\n\
         {code}"
    ))
}

/// What becomes of stores for which there is no cell.
fn account(reduced: &Reduced, model: Model) -> String {
    if reduced.sets.is_some() {
        return "// Remote operations without a slot are in sets: $moreT_O says whether such\n\
                // operations of thread T are pending, $hasV_T_O whether one may write its V-th value.\n\
                // Where values are not listed, $setT_O stands for a set: a store adds to it, a load\n\
                // gives some element, and it is empty while $moreT_O is 0. As a plain variable,\n\
                // which it is when this text is read again, it has fewer runs. With one set for\n\
                // each variable, all operations that read it share one, empty while $usedT_O is 0,\n\
                // by the first of them; each has its own $more. With sets the\n\
                // program has every run of the original, and may have more."
            .to_owned();
    }
    if model == Model::Rma {
        return "// A remote operation without a free slot fails an assertion; where none fails,\n\
                // what is proved holds for any number of pending operations."
            .to_owned();
    }
    let Some((_, keep)) = &reduced.beyond else {
        return "// A store into a full buffer fails an assertion; where none fails, what is\n\
                // proved holds for buffers of every size."
            .to_owned();
    };
    let kept = match keep {
        Keep::Newest => "newest",
        Keep::Oldest => "oldest",
    };
    format!(
        "// The {kept} stores are in cells, all others in a set that knows the last value for\n\
         // each variable. It has every run of the original, and may have more: what is\n\
         // proved holds for buffers of every size, a violation may be none."
    )
}

/// The reduced program with comments about its origin.
fn text(original: &Program, reduced: &Reduced, model: Model, buffers: &str) -> Result<String> {
    let code = pal::print(&reduced.program);
    // The printer chooses the names; what it printed says which.
    let Ok(printed) = pal::parse(Source::new("reduced", code.as_str())) else {
        bail!("the reduced program is too large to be read again; try fewer cells");
    };
    let mut text = String::new();
    let name = original.source.name();
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "// {name} under {model}, buffers {buffers}, as a program to be run under sc.\n\
         {}",
        account(reduced, model)
    );
    let templates = printed.program.templates.iter().zip(&reduced.templates);
    for (template, parts) in templates {
        describe(&mut text, original, template, parts);
    }
    let _ = write!(text, "\n{code}");
    Ok(text)
}

/// What the new variables of a thread mean.
fn describe(text: &mut String, original: &Program, template: &Template, parts: &ReducedTemplate) {
    let cell = |cell: Cell| original.cell_name(cell);
    let operation = |number: u32| {
        let operation = &parts.operations[number as usize];
        let kind = if operation.put { "put" } else { "get" };
        let span = original.template_named(&template.name).map_or_else(
            || template.span,
            |t| original.template(t).cfg.edge(operation.edge).span,
        );
        let line = original.source.position(span.start).line;
        let (to, from) = (cell(operation.target), cell(operation.source));
        format!("{kind} of line {line}, {to} = {from}")
    };
    let atomic = |number: u32| {
        let on = cell(parts.atomics[number as usize].cell);
        format!("atomic operation {number} on {on}")
    };
    let locals = template.locals.iter().zip(&parts.locals);
    let named: Vec<(&str, String)> = locals
        .filter_map(|(local, part)| {
            let meaning = match *part {
                Part::Own => return None,
                Part::Count(None) => "number of buffered stores".to_owned(),
                Part::Count(Some(x)) => format!("number of buffered stores to {}", cell(x)),
                Part::Target(i) => {
                    let buffered = parts.buffered.iter().enumerate();
                    let targets: Vec<String> =
                        buffered.map(|(n, x)| format!("{n} {}", cell(*x))).collect();
                    format!("where {} goes: {}", ordinal(i), targets.join(", "))
                }
                Part::Value(None, i) => format!("value of {}", ordinal(i)),
                Part::Value(Some(x), i) => format!("value of {} to {}", ordinal(i), cell(x)),
                Part::Epoch(x, i) => {
                    format!("store-store fences before {} to {}", ordinal(i), cell(x))
                }
                Part::CurrentEpoch => "store-store fences that still matter".to_owned(),
                Part::More(x) => format!("1: stores to {} are in the set", cell(x)),
                Part::Last(x) => format!("value of the last store to {} in the set", cell(x)),
                Part::Low(x) => format!("no store to {} in the set is below it", cell(x)),
                Part::AtomicPhase(o, _) => format!("{}: 0 free, 1 issued, 2 applied", atomic(o)),
                Part::AtomicGot(o, _, i) => format!("{}: operand {} was read", atomic(o), i + 1),
                Part::AtomicInput(o, _, i) => format!("{}: operand {}", atomic(o), i + 1),
                Part::AtomicOld(o, _) => format!("{}: the value from before", atomic(o)),
                Part::Phase(o, _) => format!("{}: 0 free, 1 issued, 2 read", operation(o)),
                Part::Carried(o, _) => format!("{}: the value read", operation(o)),
                Part::Scratch => "a temporary".to_owned(),
            };
            Some((local.name.as_str(), meaning))
        })
        .collect();
    if named.is_empty() {
        return;
    }
    let _ = writeln!(text, "//\n// thread {}:", template.name);
    for (name, meaning) in named {
        let _ = writeln!(text, "//   {name}: {meaning}");
    }
}

/// A buffered store by its place; 0 is the oldest.
fn ordinal(place: u32) -> String {
    match place {
        0 => "the oldest buffered store".to_owned(),
        n => format!("buffered store {}", n + 1),
    }
}
