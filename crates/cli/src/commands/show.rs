//! `palisade show`: the program as the engines see it: a listing, or a picture
//! of the threads' control flow.

use palisade_report::{Document, Outcome, dot, graph, listing, svg};

use crate::CommandResult;
use crate::args::{GraphFormat, ShowArgs};
use crate::context::Context;
use crate::input;

pub(super) fn run(args: &ShowArgs, context: &Context) -> CommandResult {
    let program = match input::load(context, &args.file)? {
        Ok(program) => program,
        Err(outcome) => return Ok(outcome),
    };
    let text = match args.cfg {
        None => listing::render(&program),
        Some(GraphFormat::Dot) => dot::render(&graph::control_flows(&program)),
        Some(GraphFormat::Svg) => svg::render(&graph::control_flows(&program)),
    };
    let document = Document {
        input: Some(program.source.name().to_owned()),
        text: Some(text.clone()),
        ..context.document()
    };
    context.print(&text, &document);
    Ok(Outcome::Done)
}
