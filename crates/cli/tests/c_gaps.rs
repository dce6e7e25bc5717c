//! What programs of other tools use: their names, functions without a body, headers of the
//! system.

use crate::c_support;

use palisade_frontend::c::Options;
use palisade_program::{Assumption, Model};

fn found(text: &str) -> String {
    c_support::verdict(text, Model::Sc)
}

#[test]
fn names_of_other_tools() {
    let text = |body: &str| {
        format!(
            "int nondet_int(void); _Bool nondet_bool(void); void __ESBMC_assume(_Bool);
void __ESBMC_assert(_Bool, const char *); int x;
void *t(void *a) {{ __ESBMC_atomic_begin(); x = 1; x = 2; __ESBMC_atomic_end(); return 0; }}
int main(void) {{ pthread_t a; pthread_create(&a, 0, t, 0); {body} return 0; }}"
        )
    };
    assert_eq!(found(&text("__ESBMC_assert(x != 1, \"atomic\");")), "holds");
    let wrong = found(&text("__ESBMC_assert(x != 2, \"ends\");"));
    assert!(wrong.starts_with("violated"), "{wrong}");
    let chosen = text("_Bool b = nondet_bool(); __ESBMC_assume(b); __ESBMC_assert(b, \"b\");");
    assert_eq!(found(&chosen), "holds");
    let chosen = found(&text("__ESBMC_assert(nondet_int() != 3, \"any\");"));
    assert!(chosen.starts_with("violated"), "{chosen}");
    // A function of that name with a body is just that.
    let own = "int nondet_int(void) { return 4; } int main(void) { check(nondet_int() == 4); }";
    assert_eq!(found(own), "holds");
}

#[test]
fn functions_without_a_body() {
    let wrong = found("int get(int); int main(void) { check(get(1) != 3); }");
    assert!(wrong.starts_with("violated"), "{wrong}");
    let wrong = found("int main(void) { check(never_declared(1) != 3); }");
    assert!(wrong.starts_with("violated"), "{wrong}");
    let text = "unsigned char get(void); void log_it(int); int main(void) { log_it(1); check(get() < 256); }";
    assert_eq!(found(text), "holds");
    let program = c_support::read(text, &Options::default()).expect("a program");
    assert!(
        program
            .assumptions
            .contains(&Assumption::UndefinedFunctions)
    );
    for text in [
        "int fill(int *); int x; int main(void) { fill(&x); check(x == 0); }",
        "int *find(int); int main(void) { find(1); }",
        "int pthread_unheard_of(int); int main(void) { pthread_unheard_of(1); }",
        "int x; int main(void) { never_declared(&x); }",
    ] {
        let refused = found(text);
        assert!(refused.contains("has no body here"), "{text}: {refused}");
    }
}

#[test]
fn headers() {
    let text = "#include <immintrin.h>
#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <ctype.h>
alignas(64) atomic_uint_fast64_t a; atomic_int_least8_t b;
int main(void) { struct timeval t; t.tv_sec = ESRCH; a = 1; _mm_pause(); _mm_mfence(); check(a == 1 && t.tv_sec == 3); }";
    assert_eq!(found(text), "holds");
}
