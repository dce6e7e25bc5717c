//! Reports: results as people and scripts read them. This is the last stage of
//! the pipeline; it decides nothing. Engines' results come in as the plain data
//! the verdicts and traces of `palisade-program`, so that this crate knows no engine.
//!
//! | file | term |
//! |---|---|
//! | `style` | colours, or none |
//! | [`verdict`] | verdicts in words, outcomes and their exit codes |
//! | `document` | the JSON document, schema 1 |
//! | [`saved`] | a run in the document, and back |
//! | [`witness`] | verdicts about C programs for validators |
//! | [`columns`] | a trace in the terminal, one column per thread |
//! | [`usage`] | processor time and memory of this process |
//! | `wrap` | breaking text to a width |
//! | [`finals`] | final states with names |
//! | [`graph`] | a drawable graph, and the one of a thread's control flow |
//! | [`listing`] | the program as text, location by location |
//! | [`litmus`] | results of litmus tests in herd's form |
//! | [`suite`] | results of `palisade test`: table, JUnit, SARIF |
//! | [`execution`] | a run's reads and writes with po, rf, co, fr |
//! | [`html`] | a result as one page for a browser |
//! | [`dot`] | a graph in Graphviz's language |
//! | `layout` | a graph's nodes and edges placed in layers |
//! | [`svg`] | a placed graph as a picture |

pub mod columns;
mod document;
pub mod dot;
pub mod execution;
pub mod finals;
pub mod graph;
pub mod html;
mod layout;
pub mod listing;
pub mod litmus;
pub mod saved;
mod style;
pub mod suite;
pub mod svg;
pub mod usage;
pub mod verdict;
pub mod witness;
mod wrap;

pub use document::{Complaint, Document, Severity, Stats, trace_value};
pub use style::{Ink, Style};
pub use verdict::Outcome;
