//! The *printer*: any Program as `.pal` text that can be read again, also one that
//! a reduction made. Code is written in the style of `goto`s, since a graph need
//! not have the shape of loops and branches. The Program that is read back behaves
//! like the one that was printed; where possible it has the same graph. (A check
//! that an index or a value is in range is added where the text alone does not
//! show it; names that the language cannot write are changed.)

mod code;
mod names;

use std::fmt::Write;

use palisade_program::print::expr;
use palisade_program::{
    Count, Domain, Global, GlobalId, Init, Pick, Program, PropAtom, PropExpr, PropertyKind, Role,
    Step, TemplateId, ThreadVar,
};

use code::Code;
use names::Names;

/// A Program as `.pal` text.
pub fn print(program: &Program) -> String {
    let mut names = Names::of(program);
    let mut out = String::new();
    for id in program.global_ids() {
        if program.global(id).home.is_none() {
            declare_global(&mut out, program.global(id), &names.globals[id.index()]);
        }
    }
    out.push('\n');
    // Code first: it may give labels to locations.
    for id in program.template_ids() {
        let text = unit(program, id, &mut names);
        out.push_str(&text);
        out.push('\n');
    }
    for property in &program.properties {
        let cond = prop_expr(program, &names, &property.threads, &property.cond);
        let _ = match property.kind {
            PropertyKind::Never => writeln!(out, "never {cond};"),
            PropertyKind::Finally => writeln!(out, "finally ({cond});"),
        };
    }
    for property in &program.reaches {
        let cond = prop_expr(program, &names, &property.threads, &property.cond);
        let _ = writeln!(out, "reach {cond};");
    }
    for hint in &program.hints {
        let text = prop_expr(program, &names, &hint.threads, &hint.expr);
        let _ = writeln!(out, "predicate {text};");
    }
    // A program beyond the parser's limits is still worth reading.
    super::format(&out).unwrap_or(out)
}

fn declare_global(out: &mut String, global: &Global, name: &str) {
    let home = global.home;
    let per_copy = home.is_some_and(|h| h.per_copy);
    let control = if global.role == Role::Control {
        "control "
    } else {
        ""
    };
    let len = match global.len {
        Some(len) if !per_copy => format!("[{len}]"),
        Some(_) | None => String::new(),
    };
    let first = global.init.first().copied().unwrap_or(Init::Value(0));
    let init = if global.init.iter().all(|i| *i == first) {
        initial(first)
    } else {
        let all: Vec<String> = global.init.iter().map(|i| initial(*i)).collect();
        format!("{{{}}}", all.join(", "))
    };
    let domain = range(global.domain);
    let _ = writeln!(out, "shared {control}{name}{len}{domain} = {init};");
}

fn initial(init: Init) -> String {
    match init {
        Init::Value(value) => value.to_string(),
        Init::Any => "*".to_owned(),
    }
}

fn range(domain: Option<Domain>) -> String {
    domain.map_or_else(String::new, |d| format!(" in {}..{}", d.lo, d.hi))
}

/// Whether the program needs processes: some variable has a home, or some step is
/// remote. (A reduction to SC leaves none.)
fn needs_processes(program: &Program) -> bool {
    let remote = |step: &Step| {
        matches!(step, Step::Put { .. } | Step::Get { .. } | Step::Flush(_))
            || matches!(step, Step::RemoteAtomic(_))
    };
    program.globals.iter().any(|g| g.home.is_some())
        || program
            .templates
            .iter()
            .any(|t| t.cfg.edges.iter().any(|e| remote(&e.step)))
}

fn unit(program: &Program, id: TemplateId, names: &mut Names) -> String {
    let template = program.template(id);
    let word = if template.is_process && needs_processes(program) {
        "process"
    } else {
        "thread"
    };
    let copies = match template.count {
        Count::Once => String::new(),
        Count::Fixed(n) => format!("[{n}]"),
        Count::Any => "[*]".to_owned(),
    };
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{word} {}{copies} {{",
        names.templates[id.index()].name
    );
    for global in program.global_ids() {
        let home = program.global(global).home;
        if home.is_some_and(|h| h.template == id) {
            declare_global(
                &mut out,
                program.global(global),
                &names.globals[global.index()],
            );
        }
    }
    for (local, name) in template
        .locals
        .iter()
        .zip(&names.templates[id.index()].locals)
    {
        let control = if local.role == Role::Control {
            "control "
        } else {
            ""
        };
        let domain = range(local.domain);
        let init = initial(local.init);
        let _ = writeln!(out, "local {control}{name}{domain} = {init};");
    }
    let mut code = Code {
        program,
        names,
        template: id,
        out,
        origin: 0,
    };
    code.thread(&template.cfg);
    code.out.push_str("}\n");
    code.out
}

fn thread_var(names: &Names, thread: ThreadVar) -> String {
    let name = &names.templates[thread.template.index()].name;
    match thread.pick {
        Pick::Only => name.clone(),
        Pick::Copy(copy) => format!("{name}[{copy}]"),
        Pick::Any(n) => format!("{name}#{n}"),
    }
}

fn prop_expr(program: &Program, names: &Names, threads: &[ThreadVar], e: &PropExpr) -> String {
    let global = |var: &GlobalId| names.globals[var.index()].clone();
    expr(e, &|atom| match atom {
        PropAtom::Global(var, None) => global(var),
        PropAtom::Global(var, Some(i)) => format!("{}[{i}]", global(var)),
        PropAtom::Local(t, local) => {
            let thread = threads[t.index()];
            let locals = &names.templates[thread.template.index()].locals;
            format!("{}.{}", thread_var(names, thread), locals[local.index()])
        }
        PropAtom::SelfOf(t) => format!("{}.self", thread_var(names, threads[t.index()])),
        PropAtom::At(t, loc) => {
            let thread = threads[t.index()];
            let labels = &names.templates[thread.template.index()].labels[loc.index()];
            debug_assert!(program.template(thread.template).cfg.loc_count() > loc.index());
            let label = labels.first().map_or("nowhere", String::as_str);
            format!("{}@{label}", thread_var(names, thread))
        }
    })
}
