//! LLVM's text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palisade_frontend::rust;
use palisade_program::Orders;

fuzz_target!(|text: &str| {
    let _ = rust::read_llvm(text, Orders::Mapped);
});
