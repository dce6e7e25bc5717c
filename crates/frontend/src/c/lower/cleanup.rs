//! What a thread does when it *ends*: the handlers of `pthread_cleanup_push` that `pthread_exit` finds,
//! the last one first, then the destructors of thread-specific values.
//!
//! Pushes and pops are pairs in one block, and functions are inlined: which handlers there are at
//! a call of `pthread_exit` is known while lowering. Thread-specific values are C code
//! (`headers/__palisade_keys.h`), whose function [`END`] calls the destructors.

use palisade_program::Span;

use super::call::Argument;
use super::code::{Code, Lower};
use super::expr::unsupported;
use super::layout::FIRST_FUNCTION;
use super::value::Val;
use crate::c::ast::{Expr, Function};
use crate::c::types::Type;

/// The function that a thread calls in the end, where the program makes keys.
const END: &str = "__palisade_thread_end";
const MAKES_KEYS: &str = "__palisade_key_create";

/// A handler that was pushed.
#[derive(Clone)]
pub(super) struct Handler<'a> {
    function: &'a Function,
    argument: Val,
}

impl super::Context<'_> {
    fn makes_keys(&self) -> bool {
        self.names_used.mentioned.contains(MAKES_KEYS)
    }

    /// Whether a variable is for keys, and the program makes none.
    pub(super) fn is_idle(&self, name: &str) -> bool {
        name.starts_with("__palisade_key") && !self.makes_keys()
    }
}

impl<'a> Code<'_, 'a> {
    /// `pthread_cleanup_push(handler, argument)`.
    pub(super) fn push_cleanup(
        &mut self,
        handler: &Expr,
        argument: &Expr,
        span: Span,
    ) -> Lower<Val> {
        let handler = self.value(handler)?;
        let number = handler
            .as_constant()
            .and_then(|c| usize::try_from(c - i128::from(FIRST_FUNCTION)).ok());
        let Some(function) = number.and_then(|n| self.cx.function_list.get(n).copied()) else {
            return unsupported(
                span,
                "a handler that is not known here",
                "name the function in the call",
            );
        };
        let argument = self.value(argument)?;
        let argument = self.convert(argument, &Type::pointer(Type::Void), span)?;
        let argument = if argument.as_constant().is_some() {
            argument
        } else {
            let local = self.hidden(span);
            self.assign(local, argument.e.clone(), span);
            Val {
                e: self.read(local),
                ..argument
            }
        };
        self.cleanups.push(Handler { function, argument });
        Ok(Val::void())
    }

    /// `pthread_cleanup_pop(execute)`.
    pub(super) fn pop_cleanup(&mut self, execute: &Expr, span: Span) -> Lower<Val> {
        let Some(handler) = self.cleanups.pop() else {
            return unsupported(span, "this call of pthread_cleanup_pop", "push before it");
        };
        let (yes, no) = (self.graph.loc(), self.graph.loc());
        let (can, cannot) = self.branch(execute, yes, no)?;
        let before = self.known.clone();
        if can {
            self.at(yes);
            self.run_handler(handler, span)?;
            if cannot {
                self.known = super::code::meet(before, &self.known);
            }
            if self.live {
                self.go(no, span);
            }
        }
        self.here = no;
        self.live |= cannot;
        Ok(Val::void())
    }

    fn run_handler(&mut self, handler: Handler<'a>, span: Span) -> Lower<()> {
        let argument = Argument::Value(handler.argument);
        self.inline_values(handler.function, vec![argument], span)?;
        Ok(())
    }

    /// `pthread_exit` runs the handlers.
    pub(super) fn run_cleanups(&mut self, span: Span) -> Lower<()> {
        // Behind the call nothing is reached, but what is there pops them again.
        let all = self.cleanups.clone();
        while let Some(handler) = self.cleanups.pop() {
            self.run_handler(handler, span)?;
        }
        self.cleanups = all;
        self.end_specific(span)
    }

    /// The destructors of thread-specific values.
    pub(super) fn end_specific(&mut self, span: Span) -> Lower<()> {
        let end = self.cx.functions.get(END).copied();
        if let (Some(end), true) = (end, self.cx.makes_keys()) {
            self.inline_values(end, Vec::new(), span)?;
        }
        Ok(())
    }
}
