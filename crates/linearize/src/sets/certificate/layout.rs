//! Whether the words of memory are what [`Object`] says they are, looked at once more: views have no words for anything else.

use palisade_program::heap::{Operation, Place, Specification, Tag, Type};
use palisade_program::{FieldId, LocalId, SharedId, StructId};

use super::super::object::{Object, Word};

/// Bits and locks of a node, or of the shared variables, at most: views keep them in bytes.
const BITS: u8 = 8;

/// Whether the program is one that views tell all of.
pub(super) fn agrees(object: &Object<'_>) -> bool {
    let program = object.program;
    // A view knows nothing of the calls before.
    if !program.kept.is_empty() {
        return false;
    }
    let [only] = program.structs.as_slice() else {
        return false;
    };
    let field = |index: usize| {
        let (of, field) = (LocalId::from(0), FieldId::from(index));
        object.word(Place::Field { of, field })
    };
    let mut words: Vec<Word> = Vec::new();
    for (index, declared) in only.fields.iter().enumerate() {
        let word = field(index);
        let marked = declared.tag == Some(Tag::Mark);
        let right = match word {
            Word::Link => {
                declared.ty == Type::Pointer(StructId::from(0)) && marked == object.mark.is_some()
            }
            Word::Key => declared.ty == Type::Data,
            Word::Bit(bit) => declared.ty == Type::Bool && bit < BITS && Some(bit) != object.mark,
            Word::Lock(lock) => declared.ty == Type::Lock && lock < BITS,
            Word::Number => declared.ty == Type::Int,
            Word::Unused => false,
        };
        // Numbers are forgotten; of everything else there is one, or each has its own place.
        if !right || word != Word::Number && words.contains(&word) {
            return false;
        }
        words.push(word);
    }
    let mut shared: Vec<Word> = Vec::new();
    for (index, declared) in program.shared.iter().enumerate() {
        let word = object.word(Place::Shared(SharedId::from(index)));
        let right = match word {
            Word::Link => declared.ty == Type::Pointer(StructId::from(0)) && declared.tag.is_none(),
            Word::Key => false,
            Word::Bit(bit) => declared.ty == Type::Bool && bit < BITS,
            Word::Lock(lock) => declared.ty == Type::Lock && lock < BITS,
            Word::Number => declared.ty == Type::Int,
            // No step of a call touches it: that is looked at step by step.
            Word::Unused => matches!(declared.ty, Type::Pointer(_)),
        };
        let forgotten = matches!(word, Word::Number | Word::Unused);
        if !right || !forgotten && shared.contains(&word) {
            return false;
        }
        shared.push(word);
    }
    let methods = program.methods.iter().enumerate().all(|(index, method)| {
        let operation = matches!(
            method.operation,
            Operation::Add | Operation::Remove | Operation::Contains
        );
        let part = object.parts.get(index);
        part.is_some_and(|p| p.body == &method.body && p.operation == Some(method.operation))
            && operation
            && method.parameters == 1
            && method
                .body
                .locals
                .first()
                .is_some_and(|l| l.ty == Type::Data)
            && method.returns == Some(Type::Bool)
            && u16::try_from(method.body.locations.len()).is_ok()
    });
    program.specification == Specification::Set
        && program.nevers.is_empty()
        && methods
        && u8::try_from(object.parts.len()).is_ok()
        && object.mark.is_none_or(|bit| bit < BITS)
        && words.contains(&Word::Link)
        && words.contains(&Word::Key)
        && shared.contains(&Word::Link)
}
