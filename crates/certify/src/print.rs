//! The certificate as text. Lines, in this order:
//!
//! ```text
//! palisade certificate 1
//! fingerprint 0f3a...
//! kind inductive                  or stops, or views; reachable 90: so many states at most, `shifted`:
//!                                 up to a shift of counters, `gaps`: and to how wide gaps are; under RC11 histories 2 carried 3: so many
//!                                 messages and SC events are exact, `bare`: old ones carry nothing,
//!                                 `shifted`: counters, `prompt`: loads happen as soon as they can
//! model pso
//! threads 2                       copies of each [*] template; views: those that are seen
//! unbuffered left 3 7             stores that need no buffer: a template, its edges
//! projects left.seen              variables of which nothing is known
//! present left 4 5                views: a flag that is 1 only if some copy is at one of these locations
//! interference_free left 4 5      accesses of a template where it does not stop: locations
//! summary newest 2                abstract buffers: which stores are exact, and how many
//! cells left 3                    the same of one thread's buffer; under PSO `left(x)`
//! invariant left(x) among 0 1     the summary invariant of a thread's others to a cell,
//! invariant left(y) rising        if anything
//! slots left 2 1                  RMA: so many instances of a thread's operation are exact
//! explicit turn, left.r           the explicit variables, if any
//! atom p0: x < y
//! at left@3 right@5 with turn=1, left.r=* buffers left(x+ x x | y): p0 & !p1 | p2
//! end
//! ```
//!
//! `at` gives the location of every thread, in their order; `with` the values
//! of all explicit variables (`*` is any); `buffers` the shapes that are not
//! empty: first the cells of stores that are not known exactly, with `+`, then the
//! others, oldest first, `|` being a store-store fence; under RMA the pending
//! operations, `issued 2 0` or `read 2 0`, by number and slot, and `more 2` where there
//! are instances beyond the slots, as many of which `summary` allows; remote atomic
//! operations are `atomic 1 0 3` or `applied 1 0 0`, by number, slot, and which operands
//! have values. After the colon
//! stand the cubes: literals joined by `&`, cubes by `|`; `true` is the empty
//! cube, `false` no cube at all. `#` begins a comment. [`crate::parse()`] reads it.

use crate::buffer::{Buffer, Item};
use crate::buffer_summary::{BufferSummary, Keep, SummaryInvariant};
use crate::certificate::{Certificate, Control, Counters, Cube, Kind, Reachable, Summary};
use crate::names::StateNames;
use crate::state::StateVar;
use crate::token::quoted;
use crate::views::{flagged, subject};
use palisade_program::{Program, TemplateId};
use std::fmt::Write;

/// The text of `certificate`, which is one for `program`.
pub fn print(program: &Program, certificate: &Certificate) -> String {
    let subject = subject(program, certificate.kind);
    // Flags for locations that do not exist have no names.
    let flagged = flagged(&subject, certificate);
    let program = flagged.as_deref().unwrap_or(&subject);
    let instances = program.instances(certificate.threads);
    let names = StateNames::of(program, &instances);
    let mut out = String::new();
    write_header(&mut out, program, certificate, &names)
        .expect("writing to a string does not fail");
    for entry in &certificate.entries {
        out.push_str("at ");
        write_control(&mut out, &names, &certificate.explicit, &entry.control)
            .expect("writing to a string does not fail");
        out.push_str(": ");
        write_cubes(&mut out, &entry.cubes);
        out.push('\n');
    }
    out.push_str("end\n");
    out
}

fn write_header(
    out: &mut String,
    program: &Program,
    certificate: &Certificate,
    names: &StateNames,
) -> std::fmt::Result {
    let kind = match certificate.kind {
        Kind::Inductive => "inductive".to_owned(),
        Kind::Stops => "stops".to_owned(),
        Kind::Views => "views".to_owned(),
        Kind::Reachable(Reachable { most, counters }) => {
            let word = Counters::NAMED.iter().find(|(known, _)| *known == counters);
            let word = word.map_or("", |(_, word)| word);
            format!("reachable {most} {word}").trim_end().to_owned()
        }
        Kind::Histories(Summary {
            messages,
            carried,
            events,
            shifted,
            prompt,
            many,
        }) => {
            let carried = if carried { "carried" } else { "bare" };
            let shifted = if shifted { " shifted" } else { "" };
            let prompt = if prompt { " prompt" } else { "" };
            let many = if many { " many" } else { "" };
            format!("histories {messages} {carried} {events}{shifted}{prompt}{many}")
        }
    };
    writeln!(out, "palisade certificate 1")?;
    writeln!(out, "fingerprint {}", certificate.fingerprint)?;
    writeln!(out, "kind {kind}")?;
    writeln!(out, "model {}", certificate.model)?;
    writeln!(out, "threads {}", certificate.threads)?;
    let direct = certificate
        .unbuffered
        .iter()
        .map(|(t, edge)| (*t, edge.index()));
    write_by_template(out, "unbuffered", program, direct)?;
    let interference_free = certificate
        .interference_free
        .iter()
        .map(|(t, loc)| (*t, loc.index()));
    write_by_template(out, "interference_free", program, interference_free)?;
    if !certificate.forgotten.is_empty() {
        let names = certificate.forgotten.iter();
        let names: Vec<String> = names.map(|v| quoted(&program.global(*v).name)).collect();
        writeln!(out, "projects {}", names.join(" "))?;
    }
    for presence in &certificate.present {
        let name = &program.template(presence.template).name;
        write!(out, "present {}", quoted(name))?;
        for loc in &presence.locs {
            write!(out, " {}", loc.index())?;
        }
        writeln!(out)?;
    }
    if let Some(beyond) = &certificate.beyond {
        write_beyond(out, beyond, names)?;
    }
    if !certificate.explicit.is_empty() {
        let explicit = certificate.explicit.iter();
        let explicit: Vec<String> = explicit.map(|v| quoted(&names.state_var(*v))).collect();
        writeln!(out, "explicit {}", explicit.join(", "))?;
    }
    for (i, atom) in certificate.atoms.iter().enumerate() {
        writeln!(out, "atom p{i}: {}", atom.display(names))?;
    }
    Ok(())
}

/// A line for each template, with numbers.
fn write_by_template(
    out: &mut String,
    what: &str,
    program: &Program,
    numbers: impl Iterator<Item = (TemplateId, usize)>,
) -> std::fmt::Result {
    let numbers: Vec<(TemplateId, usize)> = numbers.collect();
    for of_template in numbers.chunk_by(|a, b| a.0 == b.0) {
        let name = &program.template(of_template[0].0).name;
        write!(out, "{what} {}", quoted(name))?;
        for (_, number) in of_template {
            write!(out, " {number}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_beyond(out: &mut String, beyond: &BufferSummary, names: &StateNames) -> std::fmt::Result {
    let keep = match beyond.keep {
        Keep::Newest => "newest",
        Keep::Oldest => "oldest",
    };
    writeln!(out, "summary {keep} {}", beyond.cells)?;
    for (thread, cell, cells) in &beyond.sizes {
        write!(out, "cells {}", quoted(names.thread(*thread)))?;
        if let Some(cell) = cell {
            write!(out, "({})", quoted(names.cell(*cell)))?;
        }
        writeln!(out, " {cells}")?;
    }
    for (thread, cell, claim) in &beyond.claims {
        let (thread, cell) = (quoted(names.thread(*thread)), quoted(names.cell(*cell)));
        write!(out, "invariant {thread}({cell})")?;
        match claim {
            SummaryInvariant::Any => out.push_str(" any"),
            SummaryInvariant::Rising => out.push_str(" rising"),
            SummaryInvariant::Among(values) => {
                out.push_str(" among");
                for value in values {
                    write!(out, " {value}")?;
                }
            }
        }
        out.push('\n');
    }
    for (thread, operation, slots) in &beyond.slots {
        let thread = quoted(names.thread(*thread));
        writeln!(out, "slots {thread} {operation} {slots}")?;
    }
    Ok(())
}

/// A control as it stands between `at` and the colon.
pub(crate) fn write_control(
    out: &mut String,
    names: &StateNames,
    explicit: &[StateVar],
    control: &Control,
) -> std::fmt::Result {
    for (thread, loc) in control.locs.iter().enumerate() {
        let between = if thread == 0 { "" } else { " " };
        let name = quoted(names.thread(thread as u32));
        write!(out, "{between}{name}@{}", loc.0)?;
    }
    for (i, (var, value)) in explicit.iter().zip(&control.values).enumerate() {
        let between = if i == 0 { " with " } else { ", " };
        write!(out, "{between}{}=", quoted(&names.state_var(*var)))?;
        match value {
            Some(value) => write!(out, "{value}")?,
            None => out.push('*'),
        }
    }
    let mut between = " buffers ";
    for (thread, buffer) in control.buffers.iter().enumerate() {
        if !buffer.is_empty() {
            out.push_str(between);
            write_buffer(out, names, thread as u32, buffer)?;
            between = " ";
        }
    }
    Ok(())
}

fn write_buffer(
    out: &mut String,
    names: &StateNames,
    thread: u32,
    buffer: &Buffer,
) -> std::fmt::Result {
    write!(out, "{}(", quoted(names.thread(thread)))?;
    let many = buffer.many.iter();
    let many = many.map(|cell| format!("{}+", quoted(names.cell(*cell))));
    let items = buffer.items.iter().map(|item| match item {
        Item::Store(cell) => quoted(names.cell(*cell)),
        Item::Fence => "|".to_owned(),
    });
    let pending = buffer.pending.iter().map(|p| {
        let phase = if p.read { "read" } else { "issued" };
        format!("{phase} {} {}", p.operation, p.slot)
    });
    let sets = buffer.sets.iter().map(|o| format!("more {o}"));
    let atomics = buffer.atomics.iter().map(|p| {
        let phase = if p.applied { "applied" } else { "atomic" };
        format!("{phase} {} {} {}", p.operation, p.slot, p.got)
    });
    let remote = pending.chain(sets).chain(atomics);
    let all: Vec<String> = many.chain(items).chain(remote).collect();
    write!(out, "{})", all.join(" "))?;
    Ok(())
}

fn write_cubes(out: &mut String, cubes: &[Cube]) {
    if cubes.is_empty() {
        out.push_str("false");
    }
    for (i, cube) in cubes.iter().enumerate() {
        if i > 0 {
            out.push_str(" | ");
        }
        if cube.0.is_empty() {
            out.push_str("true");
        }
        for (j, (atom, positive)) in cube.0.iter().enumerate() {
            let between = if j == 0 { "" } else { " & " };
            let sign = if *positive { "" } else { "!" };
            // Writing to a string does not fail.
            let _ = write!(out, "{between}{sign}p{atom}");
        }
    }
}
