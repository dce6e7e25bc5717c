//! `palisade man`: the manual page, made from the arguments: the command, then
//! every subcommand.

use anyhow::Context as _;
use clap::CommandFactory;
use palisade_report::{Document, Outcome};

use crate::CommandResult;
use crate::args::Arguments;
use crate::context::Context;

pub(super) fn run(context: &Context) -> CommandResult {
    let mut page = Vec::new();
    let mut command = Arguments::command();
    command.build();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .context("cannot make the manual page")?;
    for subcommand in command.get_subcommands().filter(|sub| !is_help(sub)) {
        let man = clap_mangen::Man::new(subcommand.clone());
        let mut options = Vec::new();
        man.render_options_section(&mut options)
            .context("cannot make the manual page")?;
        let title = format!(
            ".SH \"PALISADE {}\"\n",
            subcommand.get_name().to_uppercase()
        );
        page.extend(title.into_bytes());
        page.extend(
            subcommand
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default()
                .into_bytes(),
        );
        page.push(b'\n');
        page.extend(options);
    }
    let page = String::from_utf8_lossy(&page);
    context.print(&page, &Document::new(context.command));
    Ok(Outcome::Done)
}

fn is_help(command: &clap::Command) -> bool {
    command.get_name() == "help"
}
