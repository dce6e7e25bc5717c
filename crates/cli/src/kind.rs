//! *Kinds of file*: which command a file is for, by its name and, for `.pal`, by what
//! stands in it.

use std::path::Path;

use palisade_frontend::{c, heap, pal};
use palisade_program::Source;

/// What a file holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Threads with properties: `.pal`, `.rmm`.
    Program,
    /// C, or a task about it.
    C,
    /// Rust.
    Rust,
    /// A data structure with methods: `.pal`.
    DataStructure,
    /// A data structure as functions of a C program, with a specification in its comments.
    Object,
    /// A litmus test.
    Litmus,
    /// A heap program in TVLA's languages.
    Shape,
    /// A Boolean program.
    Boolean,
}

impl Kind {
    /// What the file holds; `None` for files that are no input.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "pal" => {
                let text = std::fs::read_to_string(path).unwrap_or_default();
                Some(Self::of_pal(&text))
            }
            "rmm" => Some(Self::Program),
            "c" => {
                let text = std::fs::read_to_string(path).unwrap_or_default();
                let is_object = c::has_specification(&text);
                Some(if is_object { Self::Object } else { Self::C })
            }
            "i" | "yml" | "yaml" => Some(Self::C),
            "rs" => Some(Self::Rust),
            "litmus" => Some(Self::Litmus),
            "tvp" | "tvm" => Some(Self::Shape),
            "bp" => Some(Self::Boolean),
            _ => None,
        }
    }

    /// Threads, unless it can be read only as a data structure.
    fn of_pal(text: &str) -> Self {
        let source = |name: &str| Source::new(name, text);
        match pal::parse(source("program")) {
            Err(_) if heap::parse(source("data structure")).is_ok() => Self::DataStructure,
            Ok(_) | Err(_) => Self::Program,
        }
    }

    /// The command that answers what one asks first about such a file.
    pub(crate) const fn command(self) -> &'static str {
        match self {
            Self::Program | Self::C | Self::Rust => "verify",
            Self::DataStructure | Self::Object => "linearize",
            Self::Litmus => "litmus",
            Self::Shape => "shape",
            Self::Boolean => "check",
        }
    }
}

/// Whether a file's program has processes with remote memory: of a C program, whether it
/// includes the header of MPI, OpenSHMEM or GASPI.
pub(crate) fn has_processes(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    match Kind::of(path) {
        Some(Kind::C) => text.lines().any(|line| {
            let line = line.trim_start();
            let headers = ["<mpi.h>", "<shmem.h>", "<GASPI.h>"];
            let is_one_sided = headers.iter().any(|header| line.contains(header));
            line.starts_with('#') && is_one_sided
        }),
        Some(Kind::Program) => palisade_frontend::load(path, &text)
            .is_ok_and(|parsed| parsed.program.templates.iter().any(|t| t.is_process)),
        Some(
            Kind::DataStructure
            | Kind::Object
            | Kind::Litmus
            | Kind::Shape
            | Kind::Boolean
            | Kind::Rust,
        )
        | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_its_command() {
        let command = |name: &str| Kind::of(Path::new(name)).map(Kind::command);
        assert_eq!(command("a.c"), Some("verify"));
        assert_eq!(command("a.rs"), Some("verify"));
        assert_eq!(command("a.litmus"), Some("litmus"));
        assert_eq!(command("a.tvm"), Some("shape"));
        assert_eq!(command("a.bp"), Some("check"));
        assert_eq!(command("a.txt"), None);
        assert_eq!(command("verify"), None);
        let program = "shared x; thread t { x = 1; }";
        assert_eq!(Kind::of_pal(program), Kind::Program);
        let structure = "spec stack; struct node { data value; node next; } \
            shared node top = null; \
            method push(data v) { node n = new node; n.value = v; top = n; commit; return; } \
            method pop() returns data { commit; return empty; }";
        assert_eq!(Kind::of_pal(structure), Kind::DataStructure);
    }
}
