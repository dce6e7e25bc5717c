//! *Predicate files*: `predicate ...;` declarations that are added to those of a program. They
//! are read together with the program's text, since they speak of its variables and threads;
//! errors are shown in the file that they stand in.

use palisade_program::{Program, Source, Span};

use super::parse;
use crate::diagnostic::{Diagnostic, Diagnostics};

/// The program with the predicates of `extra` added.
pub fn with_predicates(program: &Program, extra: &Source) -> Result<Program, Diagnostics> {
    let text = program.source.text();
    let whole = Source::new(program.source.name(), format!("{text}\n{}", extra.text()));
    let shift = text.len() as u32 + 1;
    let parsed = match parse(whole) {
        Ok(parsed) => parsed.program,
        Err(diagnostics) => {
            let items = diagnostics.items.into_iter();
            let items: Vec<Diagnostic> = items.filter_map(|item| moved(item, shift)).collect();
            if items.is_empty() {
                let what = "predicates can only be added to .pal programs";
                let item = Diagnostic::error(Span::default(), what);
                return Err(Diagnostics::new(program.source.clone(), vec![item]));
            }
            return Err(Diagnostics::new(extra.clone(), items));
        }
    };
    let same = parsed.globals == program.globals
        && parsed.templates == program.templates
        && parsed.reaches == program.reaches
        && parsed.properties == program.properties;
    if !same {
        let item = Diagnostic::error(stranger(&parsed, shift), "this is no predicate")
            .help("only `predicate ...;` and `const` may stand in a file of predicates");
        return Err(Diagnostics::new(extra.clone(), vec![item]));
    }
    Ok(parsed)
}

/// Where the second part declares something else than predicates.
fn stranger(parsed: &Program, shift: u32) -> Span {
    let globals = parsed.globals.iter().map(|g| g.span);
    let templates = parsed.templates.iter().map(|t| t.span);
    let properties = parsed.properties.iter().chain(&parsed.reaches);
    let properties = properties.map(|p| p.span);
    let all = globals.chain(templates).chain(properties);
    let here = all.filter_map(|span| moved_span(span, shift));
    here.min_by_key(|span| span.start).unwrap_or_default()
}

/// A diagnostic of the whole text in terms of its second part.
fn moved(mut item: Diagnostic, shift: u32) -> Option<Diagnostic> {
    item.span = moved_span(item.span, shift)?;
    Some(item)
}

/// A place in the second part, if it is one.
fn moved_span(span: Span, shift: u32) -> Option<Span> {
    Some(Span {
        start: span.start.checked_sub(shift)?,
        end: span.end.checked_sub(shift)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Program {
        let text = "shared x = 0;\nthread t { x = 1; }\npredicate x == 0;\n";
        let parsed = parse(Source::new("p.pal", text));
        parsed.expect("right").program
    }

    #[test]
    fn predicates_are_added() {
        let extra = Source::new(
            "p.predicates",
            "// two\npredicate x == 1;\npredicate x > 2;\n",
        );
        let added = with_predicates(&program(), &extra);
        assert_eq!(added.expect("right").hints.len(), 3);
    }

    #[test]
    fn errors_are_those_of_the_file() {
        let extra = Source::new("p.predicates", "predicate x == 1;\npredicate y == 1;\n");
        let added = with_predicates(&program(), &extra);
        let diagnostics = added.expect_err("there is no y");
        let place = diagnostics.source.position(diagnostics.items[0].span.start);
        assert_eq!(diagnostics.source.name(), "p.predicates");
        assert_eq!(place.line, 2);
    }

    #[test]
    fn nothing_but_predicates() {
        let extra = Source::new("p.predicates", "predicate x > 1;\nnever x == 1;\n");
        let added = with_predicates(&program(), &extra);
        let diagnostics = added.expect_err("no properties here");
        let place = diagnostics.source.position(diagnostics.items[0].span.start);
        assert_eq!(place.line, 2);
    }
}
