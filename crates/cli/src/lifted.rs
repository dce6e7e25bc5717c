//! *Lifted predicates and cubes* as files ([Dan et al., SAS 2013, sections 4.2, 4.3]): they speak
//! of the program whose buffers are variables, by the names that `palisade reduce` prints. A
//! cube is written as a predicate that is a conjunction.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Result, bail};
use palisade_abstraction::extrapolate::Literals;
use palisade_abstraction::hints;
use palisade_abstraction::space::{SlotKind, Space};
use palisade_frontend::pal;
use palisade_logic::{Atom, Formula, Var};
use palisade_program::{Count, Instance, Program, Source};

use crate::input;

/// A program whose buffers are variables, as it is printed and read again.
pub(crate) struct Vocabulary<'p> {
    printed: Program,
    threads: &'p [Instance],
}

impl<'p> Vocabulary<'p> {
    /// For a reduced program with these threads.
    pub(crate) fn new(reduced: &Program, threads: &'p [Instance]) -> Result<Self> {
        let mut reduced = reduced.clone();
        reduced.hints.clear();
        let Ok(parsed) = pal::parse(Source::new("reduced", pal::print(&reduced))) else {
            bail!("the reduced program is too large to be read again; try fewer cells");
        };
        let printed = parsed.program;
        let locals =
            |p: &Program| -> Vec<usize> { p.templates.iter().map(|t| t.locals.len()).collect() };
        let same =
            printed.cell_count() == reduced.cell_count() && locals(&printed) == locals(&reduced);
        if !same {
            bail!("the variables of the reduced program cannot be named");
        }
        Ok(Self { printed, threads })
    }

    fn space<'s>(&self, program: &'s Program) -> Space<'s> {
        Space::new(program, self.threads.to_vec(), false)
    }

    /// The formulas of a file of predicates.
    fn read(&self, path: &Path) -> Result<Vec<Formula>> {
        self.formulas(&input::read(path)?)
    }

    fn formulas(&self, source: &Source) -> Result<Vec<Formula>> {
        let program = pal::with_predicates(&self.printed, source)
            .map_err(|diagnostics| anyhow::anyhow!("{}", diagnostics.render(false)))?;
        Ok(hints::formulas(&self.space(&program))?)
    }

    /// The atoms of a file of predicates.
    pub(crate) fn read_atoms(&self, path: &Path) -> Result<BTreeSet<Atom>> {
        let formulas = self.read(path)?;
        Ok(formulas.iter().flat_map(Formula::atoms).collect())
    }

    /// The cubes of a file: each predicate is a conjunction of literals.
    pub(crate) fn read_cubes(&self, path: &Path) -> Result<BTreeSet<Literals>> {
        let cube = |formula: &Formula| {
            let literal = |part: &Formula| match part {
                Formula::Literal(literal) => Some(literal.clone()),
                Formula::True | Formula::False => None,
                Formula::And(_) | Formula::Or(_) | Formula::Iff(_) => None,
            };
            let literals = formula.conjuncts().iter().map(literal);
            literals.collect::<Option<Literals>>().ok_or_else(|| {
                let shown = formula.display(&|v| self.name(v, false)).to_string();
                anyhow::anyhow!(
                    "{}: {shown} is no conjunction of comparisons",
                    path.display()
                )
            })
        };
        self.read(path)?.iter().map(cube).collect()
    }

    /// The name of a variable in a predicate; of which copy only if there are several.
    fn name(&self, var: Var, several: bool) -> String {
        let space = self.space(&self.printed);
        let Some(slot) = space.slots.get(var.0 as usize) else {
            return format!("any{}", var.0);
        };
        match slot.kind {
            SlotKind::Cell(_) => slot.name.clone(),
            SlotKind::Local(thread, local) => {
                let instance = self.threads[thread];
                let template = self.printed.template(instance.template);
                let copy = match template.count {
                    Count::Fixed(_) | Count::Any if several => format!("#{}", instance.copy + 1),
                    Count::Once | Count::Fixed(_) | Count::Any => String::new(),
                };
                format!("{}{copy}.{}", template.name, template.local(local).name)
            }
        }
    }

    /// A formula as a `predicate` that is read again as the same; none if there is none.
    fn declaration(&self, formula: &Formula) -> Option<String> {
        let space = self.space(&self.printed);
        let owner = |v: &Var| match space.slots.get(v.0 as usize)?.kind {
            SlotKind::Local(thread, _) => Some(thread),
            SlotKind::Cell(_) => None,
        };
        let vars = formula.free_vars();
        let owners: BTreeSet<usize> = vars.iter().filter_map(owner).collect();
        let shown = formula
            .display(&|v| self.name(v, owners.len() > 1))
            .to_string();
        let text = format!("predicate {};", shown.replace(" = ", " == "));
        let again = self.formulas(&Source::new("predicates", text.as_str()));
        again.ok()?.contains(formula).then_some(text)
    }

    /// The predicates as a file.
    pub(crate) fn write_atoms(&self, atoms: &BTreeSet<Atom>) -> String {
        self.write(atoms.iter().map(|atom| Formula::from(atom.clone())))
    }

    /// The cubes as a file.
    pub(crate) fn write_cubes(&self, cubes: &BTreeSet<Literals>) -> String {
        let cube = |cube: &Literals| Formula::all(cube.iter().cloned().map(Formula::from));
        self.write(cubes.iter().map(cube))
    }

    /// Copies of a template say the same: each is written once.
    fn write(&self, formulas: impl Iterator<Item = Formula>) -> String {
        let mut text = String::new();
        let mut seen = BTreeSet::new();
        for formula in formulas {
            let line = self.declaration(&formula).unwrap_or_else(|| {
                let shown = formula.display(&|v| self.name(v, true)).to_string();
                format!("// cannot be written down: {shown}")
            });
            if seen.insert(line.clone()) {
                // Writing to a string does not fail.
                let _ = writeln!(text, "{line}");
            }
        }
        text
    }
}
