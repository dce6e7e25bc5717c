//! Shared by the tests: a program as plain text, location by location.

use std::fmt::Write;

use palisade_program::{Cfg, Program, Step, TemplateId};

/// Everything that lowering decides, readable.
pub(crate) fn dump(program: &Program) -> String {
    let mut out = String::new();
    for g in &program.globals {
        let home = g.home.map(|h| (h.template.0, h.per_copy));
        writeln!(
            out,
            "shared {} len {:?} init {:?} domain {:?} {:?} home {home:?}",
            g.name, g.len, g.init, g.domain, g.role
        )
        .unwrap();
    }
    for id in program.template_ids() {
        let t = program.template(id);
        writeln!(out, "thread {} {:?}", t.name, t.count).unwrap();
        for l in &t.locals {
            writeln!(
                out,
                "  local {} init {:?} domain {:?} {:?} {:?}",
                l.name, l.init, l.domain, l.role, l.origin
            )
            .unwrap();
        }
        for l in &t.labels {
            writeln!(out, "  label {} at {}", l.name, l.loc.0).unwrap();
        }
        graph(&mut out, program, id, &t.cfg, "  ");
    }
    for p in &program.properties {
        writeln!(out, "{}", program.show_property(p)).unwrap();
    }
    for h in &program.hints {
        let text = program.show_prop_expr(&h.threads, &h.expr);
        writeln!(out, "predicate {text}").unwrap();
    }
    out
}

fn graph(out: &mut String, program: &Program, id: TemplateId, cfg: &Cfg, indent: &str) {
    writeln!(out, "{indent}entry {} exit {}", cfg.entry.0, cfg.exit.0).unwrap();
    for e in &cfg.edges {
        let text = match &e.step {
            Step::Atomic(a) => format!("{:?}:", a.kind),
            Step::Assert { kind, .. } => {
                format!("{} [{kind:?}]", program.show_step(id, &e.step))
            }
            step => program.show_step(id, step),
        };
        writeln!(out, "{indent}{} -> {}  {text}", e.from.0, e.to.0).unwrap();
        if let Step::Atomic(a) = &e.step {
            graph(out, program, id, &a.body, &format!("{indent}    "));
        }
    }
}
