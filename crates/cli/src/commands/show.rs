//! `palisade show`: the program as the engines see it: a listing, or a picture
//! of the threads' control flow, on request with the steps of a saved run.

use palisade_report::{Document, Outcome, dot, graph, listing, svg};

use super::replay;
use crate::CommandResult;
use crate::args::{GraphFormat, ShowArgs};
use crate::context::Context;
use crate::input;

pub(super) fn run(args: &ShowArgs, context: &Context) -> CommandResult {
    let (program, saved) = match &args.trace {
        Some(trace) => {
            let (program, saved) = replay::checked(&args.file, trace, context)?;
            (program, Some(saved))
        }
        None => (input::load(context, &args.file)?, None),
    };
    let graphs = || match &saved {
        Some(saved) => graph::with_actions(&program, &saved.threads, saved.actions.iter()),
        None => graph::control_flows(&program),
    };
    let text = match args.cfg {
        None => listing::render(&program),
        Some(GraphFormat::Dot) => dot::render(&graphs()),
        Some(GraphFormat::Svg) => svg::render(&graphs()),
    };
    let document = Document {
        input: Some(program.source.name().to_owned()),
        text: Some(text.clone()),
        ..context.document()
    };
    context.print(&text, &document);
    Ok(Outcome::Done)
}
