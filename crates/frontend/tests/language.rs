//! Every snippet of docs/language.md is a program without warnings, in the style of
//! the house; a snippet marked `error` is refused.
#![allow(missing_docs)]

use std::fs;
use std::path::Path;

use palisade_frontend::pal;
use palisade_program::Source;

#[test]
fn snippets_of_the_reference_are_programs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/language.md");
    let text = fs::read_to_string(path).expect("docs/language.md exists");
    let mut lines = text.lines().enumerate();
    let mut count = 0;
    while let Some((number, line)) = lines.next() {
        let Some(mark) = line.strip_prefix("```pal") else {
            continue;
        };
        let snippet: String = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| *line != "```")
            .flat_map(|line| [line, "\n"])
            .collect();
        count += 1;
        let name = format!("docs/language.md, snippet at line {}", number + 2);
        let parsed = pal::parse(Source::new(name.as_str(), snippet.as_str()));
        if mark.trim() == "error" {
            assert!(parsed.is_err(), "{name} should be refused");
            continue;
        }
        let parsed = parsed.unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(parsed.warnings, [], "{name}");
        assert_eq!(pal::format(&snippet).expect("it parses"), snippet, "{name}");
    }
    assert!(count >= 20, "only {count} snippets");
}
