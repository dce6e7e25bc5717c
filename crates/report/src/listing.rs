//! A *listing*: the Program as engines see it, as text. Variables, then every
//! thread's steps from location to location with their source lines, then the
//! properties.

use std::fmt::Write;

use palisade_program::{Count, Domain, Global, Init, Local, Origin, Program, TemplateId};

use crate::graph::location_name;

/// The whole program as text.
pub fn render(program: &Program) -> String {
    let mut text = String::new();
    for global in &program.globals {
        push_line(&mut text, &show_global(program, global));
    }
    for template in program.template_ids() {
        text.push('\n');
        push_template(&mut text, program, template);
    }
    if !program.properties.is_empty() {
        text.push('\n');
    }
    for property in &program.properties {
        push_line(&mut text, &program.show_property(property));
    }
    for hint in &program.hints {
        let hint = program.show_prop_expr(&hint.threads, &hint.expr);
        push_line(&mut text, &format!("predicate {hint}"));
    }
    text
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn show_global(program: &Program, global: &Global) -> String {
    let length = global.len.map_or(String::new(), |n| format!("[{n}]"));
    let home = global.home.map_or(String::new(), |home| {
        format!(" of {}", program.template(home.template).name)
    });
    let domain = show_domain(global.domain);
    let init = show_inits(&global.init);
    format!("shared {}{length}{domain} = {init}{home}", global.name)
}

fn show_local(local: &Local) -> String {
    let word = match local.origin {
        Origin::User => "local",
        Origin::Temporary => "temporary",
    };
    let domain = show_domain(local.domain);
    format!("{word} {}{domain} = {}", local.name, show_init(local.init))
}

fn show_domain(domain: Option<Domain>) -> String {
    domain.map_or(String::new(), |d| format!(" in {}..{}", d.lo, d.hi))
}

/// One value if all cells start alike.
fn show_inits(inits: &[Init]) -> String {
    match inits {
        [] => "{}".to_owned(),
        [first, rest @ ..] if rest.iter().all(|init| init == first) => show_init(*first),
        all => {
            let values: Vec<_> = all.iter().copied().map(show_init).collect();
            format!("{{{}}}", values.join(", "))
        }
    }
}

fn show_init(init: Init) -> String {
    match init {
        Init::Value(value) => value.to_string(),
        Init::Any => "*".to_owned(),
    }
}

fn push_template(text: &mut String, program: &Program, template: TemplateId) {
    let code = program.template(template);
    let word = if code.is_process { "process" } else { "thread" };
    let count = match code.count {
        Count::Once => String::new(),
        Count::Fixed(n) => format!("[{n}]"),
        Count::Any => "[*]".to_owned(),
    };
    push_line(text, &format!("{word} {}{count}", code.name));
    for local in &code.locals {
        push_line(text, &format!("  {}", show_local(local)));
    }
    let cfg = &code.cfg;
    let entry = location_name(program, template, cfg.entry);
    let exit = location_name(program, template, cfg.exit);
    push_line(text, &format!("  starts at {entry}, ends at {exit}"));
    for loc in cfg.locs() {
        for (_, edge) in cfg.outgoing(loc) {
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "  {} -> {}: {}  (line {})",
                location_name(program, template, loc),
                location_name(program, template, edge.to),
                program.show_step(template, &edge.step),
                program.source.position(edge.span.start).line
            );
        }
    }
}
