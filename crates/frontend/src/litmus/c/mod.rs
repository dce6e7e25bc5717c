//! C litmus tests.
use super::Threads;
use super::condition::Question;
use super::init::Item;
use super::lexer::Token;
use super::memory::Layout;
use crate::diagnostic::Diagnostic;

pub(super) fn build(
    _tokens: &[Token],
    _items: &[Item],
    _question: &Question,
    _layout: &mut Layout,
) -> Result<Threads, Vec<Diagnostic>> {
    Err(vec![])
}
