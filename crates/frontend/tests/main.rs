//! All tests of this folder as one program: linking one for each file took most of the build.

mod c_addresses;
mod c_bit_fields;
mod c_bytes;
mod c_order;
mod c_packing;
mod c_points_to;
mod c_support;
mod c_unions;
mod common;
mod errors;
mod examples;
mod formatting;
mod heap;
mod heap_soft;
mod language;
mod litmus;
mod lowering;
mod rmm;
mod rmm_errors;
mod robust;
mod roundtrip;
mod rust_random;
mod rust_shared_random;
mod rust_threads_random;
mod stop;
