//! The programs of `examples/`: they parse without warning and are formatted.
#![allow(missing_docs)]

use std::fs;
use std::path::Path;

use palisade_frontend::pal;
use palisade_program::Source;

#[test]
fn examples_parse_without_warning_and_are_formatted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("examples/ exists") {
        let path = entry.expect("readable folder").path();
        if path.extension().is_none_or(|e| e != "pal") {
            continue;
        }
        count += 1;
        let name = path.display().to_string();
        let text = fs::read_to_string(&path).expect("readable file");
        let parsed = pal::parse(Source::new(name.as_str(), text.as_str()));
        let parsed = parsed.unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(parsed.warnings, [], "{name}");
        assert_eq!(pal::format(&text).expect("it parses"), text, "{name}");
    }
    assert!(count >= 20, "only {count} examples");
}
