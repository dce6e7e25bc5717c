//! Lowered programs, location by location.
#![allow(missing_docs)]

use crate::common;

use palisade_frontend::pal;
use palisade_program::Source;

fn lowered(text: &str) -> String {
    match pal::parse(Source::new("t.pal", text)) {
        Ok(parsed) => common::dump(&parsed.program),
        Err(errors) => panic!("{errors}"),
    }
}

macro_rules! lowers {
    ($($name:ident: $text:expr;)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(lowered($text));
        }
    )*};
}

lowers! {
    loads_from_left_to_right: "
        shared x, y, z;
        thread t { local r; r = x + y; z = r + x; r = x; x = y; }";
    short_circuit_is_kept: "
        shared x, y;
        thread t {
            local a, b;
            if (x == 1 && y == 2 || a > b) skip;
            a = x == 1 && y == 2;
            b = a && b;
            while (!(x == 1 || y == 2)) { }
            a = b ? x : y;
            assert(x == 1 || y == 1);
        }";
    jumps_and_labels: "
        shared x;
        thread t {
            start: x = 1;
            if (x == 2) goto out;
            here: goto start;
            out: ;
            while (1) { if (x == 3) break; if (x == 4) continue; x = 5; }
            end:
        }
        never t@out || t@end;";
    choices: "
        shared x;
        thread t {
            local r;
            choose { assume(x == 1); } or { x = 2; } or { while (x == 3) { } } or { }
            if (*) x = 3;
            r = *;
            r = choose(1, x, 3);
            x = choose(0..2);
            assume(*);
        }";
    atomic_operations: "
        shared x, m, a[2];
        thread t[2] {
            local r;
            r = cas(x, r, r + 1);
            r = xchg(a[self], 2);
            if (fetch_add(x, 1) == 0) skip;
            lock(m); unlock(m);
            atomic { r = x; if (r == 1) { lock(m); } else { atomic { x = 2; } } }
            cas(x, 0, 1);
        }";
    checks_of_index_and_domain: "
        const N = 3;
        shared a[N], x in 0..2 = 1;
        thread t[N] {
            local i, c in 0..1 = 0;
            a[self] = 1;
            a[i] = 1;
            a[i % N] = a[x];
            x = i;
            x = i % 2;
            x = *;
            c = x;
            for (i = 0; i < N; i++) a[i] = 0;
            assert(0 <= i && i <= 2);
            a[i] = 2;
        }";
    local_arrays: "
        shared x;
        thread t {
            local a[3] = {1, 2, 3}, i;
            a[1] = x;
            a[i] = a[0] + a[i + 1];
        }
        never t.a[2] > 0;";
    functions_are_inlined: "
        shared x;
        fn twice(a) { local b = a; inside: b += a; return b; }
        fn wait(v) { while (x != v) { } }
        thread t { local r; wait(1); r = twice(r) + twice(twice(2)); }
        never t@inside;";
    locals_in_scopes: "
        shared x = *, y = -3;
        thread t {
            local top = 5;
            while (x == 1) { local i = 2; x = i + top; }
            { local i = x; x = i; }
            int late = 7;
            x = late;
        }";
    updates: "
        shared x, a[2];
        thread t { local r; x++; --x; x += r; a[r] -= x; r++; }";
    processes: "
        process p[2] { shared X = 1; shared Y = {0, 5}; put(Y, p[1 - self], X); flush(p[1 - self]); X = Y; flush(all); }
        process q { shared A[2] = {1, 2}, Z; local i; Z = get(A[1], q); put(Y, p[i], Z); flush(q); }
        finally (p[0].X + Y[1] + q.Z + A[0] == 3);";
    properties: "
        shared a[2], x in 0..1;
        thread t[2] { local r; crit: r = a[self]; x = 1; }
        thread u[*] { local s; s = x; }
        thread v { local w; w = x; }
        never t#1@crit && t#2@crit && a[t#1.self] == x;
        never t[0].r == 1 || t@crit || u#3.s == v.w;
        finally (x == 1);
        predicate a[x] < v.w;
        predicate t#1.r == t#2.r;";
}

#[test]
fn the_order_of_declarations_does_not_matter() {
    let first = lowered("shared x; thread t { x = f(1); } fn f(a) { return a; }");
    let second = lowered("fn f(a) { return a; } thread t { x = f(1); } shared x;");
    assert_eq!(first, second);
}
