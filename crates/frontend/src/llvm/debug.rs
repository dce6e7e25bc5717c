//! *Debug information*: the places of the source that instructions come from, and the names and
//! types of variables. Nothing is decided by it but what reports say.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::ir::Module;

/// A place: file, line and column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// A named part of a type: where it starts, its name and its type.
pub(super) type Member = (u64, String, u32);

/// The debug information of one module.
pub(super) struct Debug<'a> {
    module: &'a Module,
    files: RefCell<BTreeMap<u32, String>>,
}

/// A field of a metadata node: the text behind `name: `.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = text;
    loop {
        let at = rest.find(name)?;
        let before = rest[..at].chars().next_back();
        let behind = &rest[at + name.len()..];
        if matches!(before, Some('(' | ' ')) && behind.starts_with(": ") {
            let value = &behind[2..];
            if let Some(quoted) = value.strip_prefix('"') {
                return Some(&quoted[..quoted.find('"')?]);
            }
            let end = value.find([',', ')']).unwrap_or(value.len());
            return Some(&value[..end]);
        }
        rest = behind;
    }
}

fn number(text: &str, name: &str) -> Option<u32> {
    field(text, name)?.parse().ok()
}

fn link(text: &str, name: &str) -> Option<u32> {
    field(text, name)?.strip_prefix('!')?.parse().ok()
}

/// Functions by which pointers become `Arc`s, or `Arc`s pointers.
const RAW: [&str; 6] = [
    "from_raw",
    "from_raw_in",
    "into_raw",
    "into_raw_with_allocator",
    "decrement_strong_count",
    "increment_strong_count",
];

/// Whether a module uses one of them, inlined or not.
pub(super) fn has_raw_counts(module: &Module) -> bool {
    module.metadata.values().any(|text| {
        text.contains("!DISubprogram(")
            && field(text, "name").is_some_and(|name| RAW.contains(&name))
            && field(text, "linkageName").is_some_and(|name| name.contains("5alloc4sync"))
    })
}

impl<'a> Debug<'a> {
    pub(super) const fn new(module: &'a Module) -> Self {
        Self {
            module,
            files: RefCell::new(BTreeMap::new()),
        }
    }

    fn node(&self, id: u32) -> Option<&'a str> {
        self.module.metadata.get(&id).map(String::as_str)
    }

    /// The file that a scope stands in.
    fn file(&self, scope: u32) -> Option<String> {
        if let Some(known) = self.files.borrow().get(&scope) {
            return Some(known.clone());
        }
        let file = link(self.node(scope)?, "file")?;
        let text = self.node(file)?;
        let name = field(text, "filename")?.to_owned();
        self.files.borrow_mut().insert(scope, name.clone());
        Some(name)
    }

    /// The places of a location, from the inside of inlined functions outwards.
    pub(super) fn places(&self, location: u32) -> Vec<Place> {
        let mut places = Vec::new();
        let mut next = Some(location);
        while let Some(text) = next.and_then(|id| self.node(id)) {
            if let (Some(line), Some(scope)) = (number(text, "line"), link(text, "scope"))
                && let Some(file) = self.file(scope)
            {
                places.push(Place {
                    file,
                    line,
                    column: number(text, "column").unwrap_or(0),
                });
            }
            next = link(text, "inlinedAt");
        }
        places
    }

    /// Name and type of a variable, and the file and line where it is declared.
    pub(super) fn variable(&self, id: u32) -> Option<(String, u32, Place)> {
        let text = self.node(id)?;
        let scope = link(text, "file").and_then(|f| self.node(f));
        let place = Place {
            file: field(scope?, "filename")?.to_owned(),
            line: number(text, "line").unwrap_or(0),
            column: 0,
        };
        Some((field(text, "name")?.to_owned(), link(text, "type")?, place))
    }

    /// The type of a variable of the module.
    pub(super) fn static_type(&self, id: u32) -> Option<u32> {
        let variable = link(self.node(id)?, "var")?;
        link(self.node(variable)?, "type")
    }

    /// Where a variable of the module is declared.
    pub(super) fn static_place(&self, id: u32) -> Option<Place> {
        let variable = self.node(link(self.node(id)?, "var")?)?;
        let file = self.node(link(variable, "file")?)?;
        Some(Place {
            file: field(file, "filename")?.to_owned(),
            line: number(variable, "line")?,
            column: 0,
        })
    }

    /// What a pointer points to; for structs of one pointer (`Box`, `Arc`, `NonNull`) what
    /// that points to.
    pub(super) fn pointee(&self, id: u32) -> Option<u32> {
        let mut at = id;
        for _ in 0..8 {
            let text = self.node(at)?;
            if text.contains("DW_TAG_pointer_type") {
                return link(text, "baseType");
            }
            let members = self.members(at);
            let sized: Vec<&Member> = members.iter().filter(|m| self.size(m.2) > 0).collect();
            let [only] = sized.as_slice() else {
                return None;
            };
            at = only.2;
        }
        None
    }

    /// Size in bytes.
    pub(super) fn size(&self, id: u32) -> u64 {
        let text = self.node(id).unwrap_or("");
        u64::from(number(text, "size").unwrap_or(0)) / 8
    }

    /// The parts of a struct.
    pub(super) fn members(&self, id: u32) -> Vec<Member> {
        let Some(text) = self.node(id) else {
            return Vec::new();
        };
        let Some(list) = link(text, "elements").and_then(|l| self.node(l)) else {
            return Vec::new();
        };
        let ids = list.split('!').filter_map(|part| {
            let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u32>().ok()
        });
        ids.filter_map(|id| {
            let text = self.node(id)?;
            if !text.contains("DW_TAG_member") {
                return None;
            }
            let offset = u64::from(number(text, "offset").unwrap_or(0)) / 8;
            Some((
                offset,
                field(text, "name")?.to_owned(),
                link(text, "baseType")?,
            ))
        })
        .collect()
    }

    /// The element type of an array.
    fn element(&self, id: u32) -> Option<u32> {
        let text = self.node(id)?;
        text.contains("DW_TAG_array_type")
            .then(|| link(text, "baseType"))?
    }

    /// The name of the part of a type at an offset, such as `.head.0`; wrappers of one
    /// field (cells, atomics) are left out.
    pub(super) fn part_name(&self, ty: u32, offset: u64) -> String {
        let mut name = String::new();
        let (mut at, mut offset) = (ty, offset);
        for _ in 0..12 {
            if let Some(element) = self.element(at) {
                let size = self.size(element).max(1);
                let index = offset / size;
                name.push('[');
                name.push_str(&index.to_string());
                name.push(']');
                offset %= size;
                at = element;
                continue;
            }
            let members = self.members(at);
            let inside = |m: &&Member| m.0 <= offset && offset < m.0 + self.size(m.2);
            let Some((start, field, next)) = members.iter().find(inside) else {
                break;
            };
            let sized = members.iter().filter(|m| self.size(m.2) > 0).count();
            if sized > 1 {
                name.push('.');
                name.push_str(field.trim_start_matches("__"));
            }
            offset -= start;
            at = *next;
        }
        name
    }
}
