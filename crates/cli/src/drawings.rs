//! *Drawings*: the structures of a shape analysis as files in a folder, by the
//! location they were found at, and those that caused a message.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use palisade_shape::analysis::Analysis;
use palisade_shape::draw;
use palisade_shape::print;
use palisade_shape::structure::Structure;

use crate::args::DrawingFormat;

/// Draws everything into `folder`; tells how many files were written.
pub(crate) fn write(analysis: &Analysis, format: DrawingFormat, folder: &Path) -> Result<usize> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut names = BTreeSet::new();
    let mut count = 0;
    for (title, structures) in groups(analysis) {
        let name = file_name(&title, &mut names);
        for (name, text) in files(analysis, format, &title, &name, structures) {
            let path = folder.join(name);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            count += 1;
        }
    }
    Ok(count)
}

/// What stands together: a title and its structures.
pub(crate) fn groups(analysis: &Analysis) -> Vec<(String, &[Structure])> {
    let fixpoint = &analysis.fixpoint;
    let locations = analysis.model.locations.iter().zip(&fixpoint.locations);
    let at_locations = locations.map(|(label, at)| (label.clone(), at.set.structures()));
    let messages = fixpoint.messages.iter().zip(1..);
    let of_messages = messages.map(|(message, number)| {
        let title = format!("message-{number}");
        (title, std::slice::from_ref(&message.structure))
    });
    at_locations.chain(of_messages).collect()
}

/// File names with their texts.
fn files(
    analysis: &Analysis,
    format: DrawingFormat,
    title: &str,
    name: &str,
    structures: &[Structure],
) -> Vec<(String, String)> {
    let vocabulary = &analysis.model.vocabulary;
    match format {
        DrawingFormat::Html => {
            let page = draw::page(vocabulary, title, structures);
            vec![(format!("{name}.html"), page)]
        }
        DrawingFormat::Dot => {
            let graphs = structures.iter().zip(1..);
            let graphs = graphs.map(|(s, i)| draw::dot(vocabulary, &format!("{title} {i}"), s));
            vec![(format!("{name}.dot"), graphs.collect())]
        }
        DrawingFormat::Tvs => {
            let texts = structures.iter().map(|s| print::tvs(vocabulary, s));
            vec![(format!("{name}.tvs"), texts.collect())]
        }
        DrawingFormat::Svg => {
            let pictures = structures.iter().zip(1..);
            pictures
                .map(|(s, i)| (format!("{name}-{i}.svg"), draw::svg(vocabulary, s)))
                .collect()
        }
    }
}

/// A title as a file's name, different from those already taken.
fn file_name(title: &str, taken: &mut BTreeSet<String>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '-');
    let plain: String = title
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    let mut name = plain.clone();
    let mut number = 1;
    // Some file systems do not tell capitals apart.
    while !taken.insert(name.to_lowercase()) {
        number += 1;
        name = format!("{plain}_{number}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_differ() {
        let mut taken = BTreeSet::new();
        let mut name = |title| file_name(title, &mut taken);
        assert_eq!(name("L1"), "L1");
        assert_eq!(name("l1"), "l1_2");
        assert_eq!(name("../a[b]"), "___a_b_");
        assert_eq!(name("message-1"), "message-1");
    }
}
