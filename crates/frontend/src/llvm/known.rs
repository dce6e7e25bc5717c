//! Functions that are *known* by their names.

/// What a function without code is.
pub(super) enum Known {
    /// It panics, with these words unless its arguments have better ones.
    Panic(&'static str),
    Nothing,
    Allocate,
    AllocateZeroed,
    Free,
    Reallocate,
    /// A variable of the thread that has to be destroyed when it ends.
    Destroyed,
}

/// What a function of this name is, if it has no code that is looked at.
pub(super) fn known(name: &str) -> Option<Known> {
    let path = name
        .split('<')
        .next()
        .unwrap_or(name)
        .trim_end_matches("::");
    let last = path.rsplit("::").next().unwrap_or(path);
    Some(match last {
        "__rust_alloc" => Known::Allocate,
        "__rust_alloc_zeroed" => Known::AllocateZeroed,
        "__rust_dealloc" => Known::Free,
        "__rust_realloc" => Known::Reallocate,
        "__rust_no_alloc_shim_is_unstable" | "__rust_no_alloc_shim_is_unstable_v2" => {
            Known::Nothing
        }
        "register" if path.starts_with("std::sys::thread_local::destructors") => Known::Destroyed,
        "_print" | "_eprint" if path.starts_with("std::io") => Known::Nothing,
        "yield_now" | "sleep" | "sleep_ms" if path.starts_with("std::thread") => Known::Nothing,
        "assert_failed" | "assert_failed_inner" | "assert_matches_failed" => {
            Known::Panic("assertion failed")
        }
        "panic_bounds_check" => Known::Panic("index out of bounds"),
        "panic_null_pointer_dereference" => Known::Panic("null pointer dereference"),
        "panic_misaligned_pointer_dereference" => Known::Panic("misaligned pointer dereference"),
        "panic_const_add_overflow" => Known::Panic("attempt to add with overflow"),
        "panic_const_sub_overflow" => Known::Panic("attempt to subtract with overflow"),
        "panic_const_mul_overflow" => Known::Panic("attempt to multiply with overflow"),
        "panic_const_div_overflow" => Known::Panic("attempt to divide with overflow"),
        "panic_const_rem_overflow" => {
            Known::Panic("attempt to calculate the remainder with overflow")
        }
        "panic_const_neg_overflow" => Known::Panic("attempt to negate with overflow"),
        "panic_const_shl_overflow" => Known::Panic("attempt to shift left with overflow"),
        "panic_const_shr_overflow" => Known::Panic("attempt to shift right with overflow"),
        "panic_const_div_by_zero" => Known::Panic("attempt to divide by zero"),
        "panic_const_rem_by_zero" => {
            Known::Panic("attempt to calculate the remainder with a divisor of zero")
        }
        "panic_already_borrowed" => Known::Panic("already borrowed"),
        "panic_already_mutably_borrowed" => Known::Panic("already mutably borrowed"),
        "unwrap_failed" if path.starts_with("core::option") => {
            Known::Panic("called `Option::unwrap()` on a `None` value")
        }
        "unwrap_failed" | "expect_failed" => {
            Known::Panic("`unwrap` or `expect` of a value that is not there")
        }
        "handle_alloc_error" | "handle_error" | "capacity_overflow" => {
            Known::Panic("allocation fails")
        }
        "slice_index_fail"
        | "slice_start_index_len_fail"
        | "slice_end_index_len_fail"
        | "slice_index_order_fail" => Known::Panic("slice index out of range"),
        "abort" if path.starts_with("std::process") || path.starts_with("core::intrinsics") => {
            Known::Panic("the process aborts")
        }
        "panic_fmt"
        | "panic_display"
        | "panic_str_2015"
        | "begin_panic"
        | "begin_panic_handler"
        | "panic"
        | "panic_nounwind"
        | "panic_nounwind_fmt"
        | "panic_cannot_unwind"
        | "panic_explicit"
        | "unreachable_display"
        | "panic_in_cleanup"
        | "rust_panic_with_hook" => Known::Panic("the thread panics"),
        _ if path.starts_with("core::panicking") => Known::Panic("the thread panics"),
        _ if last.starts_with("len_mismatch_fail") => Known::Panic("lengths differ"),
        _ => return None,
    })
}
