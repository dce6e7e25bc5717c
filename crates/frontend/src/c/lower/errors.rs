//! *Errors*: a statement that cannot be lowered is left out, and what follows is looked
//! at all the same, so that a file's errors are told together. No program comes out
//! then; names whose declaration failed are not complained about again.

use std::collections::HashSet;

use super::code::{Code, Lower};
use crate::c::{MAX_ERRORS, note_error};
use crate::diagnostic::Diagnostic;

/// The errors of a pass.
#[derive(Default)]
pub(super) struct Errors {
    pub(super) all: Vec<Diagnostic>,
    /// Names whose declaration failed.
    broken: HashSet<String>,
}

impl Errors {
    /// Notes an error; gives it back where it is the last one to be told.
    pub(super) fn note(&mut self, error: Diagnostic) -> Lower<()> {
        let unknown = error
            .message
            .strip_prefix('`')
            .and_then(|m| m.split_once('`'));
        let follows = unknown.is_some_and(|(name, rest)| {
            rest.starts_with(" is not declared") && self.broken.contains(name)
        });
        if follows {
            return Ok(());
        }
        if self.all.len() + 1 >= MAX_ERRORS {
            return Err(error);
        }
        note_error(&mut self.all, error);
        Ok(())
    }

    /// Notes that a declaration failed.
    pub(super) fn of_declaration(&mut self, name: &str, error: Diagnostic) -> Lower<()> {
        self.broken.insert(name.to_owned());
        self.note(error)
    }
}

/// Where a statement stands: calls, and what is open in the last of them.
pub(super) struct Mark {
    frames: usize,
    scopes: usize,
    breaks: usize,
    continues: usize,
    switches: usize,
    loop_depth: usize,
}

impl Code<'_, '_> {
    pub(super) fn mark(&mut self) -> Mark {
        let (frames, loop_depth) = (self.frames.len(), self.loop_depth);
        let frame = self.frame();
        Mark {
            frames,
            scopes: frame.scopes.len(),
            breaks: frame.breaks.len(),
            continues: frame.continues.len(),
            switches: frame.switches.len(),
            loop_depth,
        }
    }

    /// Goes on behind a statement with an error.
    pub(super) fn recover(&mut self, mark: &Mark, error: Diagnostic) -> Lower<()> {
        self.cx.errors.note(error)?;
        self.frames.truncate(mark.frames);
        self.loop_depth = mark.loop_depth;
        self.want = None;
        self.arranged = super::order::Arranged::default();
        self.cx.pending_type = None;
        self.known.clear();
        self.live = true;
        let frame = self.frame();
        frame.scopes.truncate(mark.scopes);
        frame.breaks.truncate(mark.breaks);
        frame.continues.truncate(mark.continues);
        frame.switches.truncate(mark.switches);
        Ok(())
    }
}
