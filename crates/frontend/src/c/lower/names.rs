//! What reports call the things of a C program: functions, and what lies at which address.

use palisade_program::{GlobalId, Names};

use super::Context;
use super::layout::Cells;

/// Addresses that get a name at most.
const MAX_ADDRESSES: usize = 1 << 14;

impl Context<'_> {
    pub(super) fn reported_names(&self) -> Names {
        let mut names = Names::default();
        let functions = self.function_list.iter();
        names.functions = functions.map(|f| (f.name.clone(), f.extent)).collect();
        let name = |var: GlobalId| self.globals[var.index()].name.clone();
        for object in &self.objects {
            for (leaf, cells) in object.leaves.iter().zip(&object.cells) {
                let Cells::Shared(var) = cells else {
                    continue;
                };
                if leaf.ty.is_pointer() {
                    names.pointers.insert(name(*var));
                }
                let Some(base) = object.base else {
                    continue;
                };
                for k in 0..leaf.count() {
                    if names.addresses.len() >= MAX_ADDRESSES {
                        break;
                    }
                    let cell = match self.globals[var.index()].len {
                        Some(_) => format!("{}[{k}]", name(*var)),
                        None => name(*var),
                    };
                    let address = base + leaf.cell(k) as i64;
                    names.addresses.entry(address).or_insert(cell);
                }
            }
            // A struct is called by its own name, not by that of its first member.
            if let (Some(base), [_, _, ..]) = (object.base, object.leaves.as_slice())
                && object.leaves[0].dims.is_empty()
            {
                names.addresses.insert(base, object.name.clone());
            }
        }
        for plan in &self.plans {
            let parts = ["started", "ended", "argument", "result"];
            let flags = parts.map(|part| format!("{}.{part}", plan.name));
            names.made_up.extend(flags);
        }
        names.made_up.extend(self.openmp.made_up());
        if let Some(onesided) = &self.onesided {
            names.made_up.extend(onesided.made_up());
        }
        names
    }
}
