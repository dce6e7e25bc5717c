//! *Selection of properties*: only the assertions that are asked about, the others being
//! assumptions ([`palisade_program::Asked`]). A run of this program meets nothing else on
//! its way, and is a run of the original; a proof says nothing, since runs end at the
//! assumptions.

use std::rc::Rc;

use palisade_certify::Certificate;
use palisade_machine::Witness;
use palisade_program::Program;

use super::{Kind, Reduction};
use crate::answer::Gap;

/// A program with only those assertions that are asked about.
pub struct Select {
    program: Rc<Program>,
}

impl Select {
    /// `None` if all assertions are asked about.
    pub fn of(original: &Program) -> Option<Self> {
        let program = Rc::new(original.narrowed()?);
        Some(Self { program })
    }
}

impl Reduction for Select {
    fn describe(&self) -> String {
        "assume what is not asked about".to_owned()
    }

    fn kind(&self) -> Kind {
        Kind::Under
    }

    fn program(&self) -> &Rc<Program> {
        &self.program
    }

    fn run_back(&self, run: Witness) -> Result<Witness, Gap> {
        Ok(run)
    }

    fn proof_back(&self, certificate: Certificate) -> Certificate {
        certificate
    }
}
