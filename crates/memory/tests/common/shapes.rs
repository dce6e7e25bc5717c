//! Small programs in which the models differ, each with what is known of it from
//! the literature: the answers under SC, TSO and PSO, written `v` for violated
//! (the weak outcome is possible) and `h` for holds.

use palisade_program::Program;

use super::parse;

/// A shape: threads, the outcome in question, the answers.
pub(crate) struct Shape {
    /// What the literature calls it, or what it is about.
    pub(crate) name: &'static str,
    threads: &'static [&'static str],
    /// A `finally`, `never`, or nothing where the threads assert.
    property: &'static str,
    /// Answers under SC, TSO, PSO.
    pub(crate) expected: &'static str,
}

impl Shape {
    /// Its program: threads `t0`, `t1` ... over `x`, `y`, `z` and `a[2]`.
    pub(crate) fn program(&self) -> Program {
        let mut text = "shared x = 0; shared y = 0; shared z = 0; shared a[2] = 0;\n".to_owned();
        for (i, body) in self.threads.iter().enumerate() {
            let thread = format!("thread t{i} {{ local r = 0; local s = 0; {body} }}\n");
            text.push_str(&thread);
        }
        parse(&(text + self.property))
    }
}

const fn shape(
    name: &'static str,
    threads: &'static [&'static str],
    property: &'static str,
    expected: &'static str,
) -> Shape {
    Shape {
        name,
        threads,
        property,
        expected,
    }
}

/// All shapes.
pub(crate) const SHAPES: &[Shape] = &[
    // Store buffering.
    shape(
        "SB",
        &["x = 1; r = y;", "y = 1; r = x;"],
        "finally (t0.r == 1 || t1.r == 1);",
        "hvv",
    ),
    shape(
        "SB, one fence",
        &["x = 1; fence; r = y;", "y = 1; r = x;"],
        "finally (t0.r == 1 || t1.r == 1);",
        "hvv",
    ),
    shape(
        "SB, two fences",
        &["x = 1; fence; r = y;", "y = 1; fence; r = x;"],
        "finally (t0.r == 1 || t1.r == 1);",
        "hhh",
    ),
    shape(
        "SB, a store-store fence does not wait",
        &["x = 1; fence(ss); r = y;", "y = 1; fence(ss); r = x;"],
        "finally (t0.r == 1 || t1.r == 1);",
        "hvv",
    ),
    shape(
        "SB, an atomic operation elsewhere drains",
        &[
            "x = 1; s = xchg(z, 1); r = y;",
            "y = 1; s = xchg(z, 1); r = x;",
        ],
        "finally (t0.r == 1 || t1.r == 1);",
        "hhh",
    ),
    shape(
        "SB, a candidate fence does nothing",
        &["x = 1; fence?; r = y;", "y = 1; fence?; r = x;"],
        "finally (t0.r == 1 || t1.r == 1);",
        "hvv",
    ),
    // Message passing.
    shape(
        "MP",
        &["x = 1; y = 1;", "r = y; s = x;"],
        "finally (t1.r == 0 || t1.s == 1);",
        "hhv",
    ),
    shape(
        "MP, store-store fence",
        &["x = 1; fence(ss); y = 1;", "r = y; s = x;"],
        "finally (t1.r == 0 || t1.s == 1);",
        "hhh",
    ),
    shape(
        "MP, full fence",
        &["x = 1; fence; y = 1;", "r = y; s = x;"],
        "finally (t1.r == 0 || t1.s == 1);",
        "hhh",
    ),
    shape(
        "MP, store-store fence before both",
        &["fence(ss); x = 1; y = 1;", "r = y; s = x;"],
        "finally (t1.r == 0 || t1.s == 1);",
        "hhv",
    ),
    shape(
        "MP, the flag set twice around the fence",
        &["y = 1; x = 1; fence(ss); y = 2;", "r = y; s = x;"],
        "finally (t1.r != 2 || t1.s == 1);",
        "hhh",
    ),
    shape(
        "MP over three variables, two store-store fences",
        &[
            "x = 1; fence(ss); y = 1; fence(ss); z = 1;",
            "r = z; s = x;",
        ],
        "finally (t1.r == 0 || t1.s == 1);",
        "hhh",
    ),
    shape(
        "MP over three variables, the second fence is missing",
        &["x = 1; fence(ss); y = 1; z = 1;", "r = z; s = y;"],
        "finally (t1.r == 0 || t1.s == 1);",
        "hhv",
    ),
    shape(
        "the fence orders all earlier stores, not the last one only",
        &["x = 1; y = 1; fence(ss); z = 1;", "r = z; s = x + y;"],
        "finally (t1.r == 0 || t1.s == 2);",
        "hhh",
    ),
    shape(
        "a second message after the first has left",
        &[
            "x = 1; fence(ss); y = 1; x = 2; fence(ss); y = 2;",
            "r = y; s = x;",
        ],
        "finally (t1.r != 2 || t1.s == 2);",
        "hhh",
    ),
    shape(
        "the same with the second fence missing",
        &["x = 1; fence(ss); y = 1; x = 2; y = 2;", "r = y; s = x;"],
        "finally (t1.r != 2 || t1.s == 2);",
        "hhv",
    ),
    // Without fences after it, `y = 1` and `z = 1` are free, also where the store
    // before the fence was seen to leave between them: `x` ends as 1, so it left
    // after the other's 5, and `y = 1` was issued before that.
    shape(
        "a fence is done with once the stores before it have left",
        &[
            "x = 1; fence(ss); y = 1; r = a[0]; s = a[1]; assume(s == 1); z = 1;",
            "atomic { x = 5; a[0] = 1; } atomic { assume(x == 1); a[1] = 1; } r = z; s = y;",
        ],
        "finally (t0.r == 1 || t1.r == 0 || t1.s == 1);",
        "hhv",
    ),
    shape(
        "MP, an atomic flag drains the data",
        &["x = 1; atomic { y = 1; }", "r = y; s = x;"],
        "finally (t1.r == 0 || t1.s == 1);",
        "hhh",
    ),
    shape(
        "a full fence drains every buffer",
        &["x = 1; y = 1; fence; z = 1;", "r = z; s = x + y;"],
        "finally (t1.r == 0 || t1.s == 2);",
        "hhh",
    ),
    shape(
        "an atomic operation drains every buffer",
        &["x = 1; y = 1; s = xchg(z, 1);", "r = z; s = x + y;"],
        "finally (t1.r == 0 || t1.s == 2);",
        "hhh",
    ),
    // Two stores each, in opposite orders.
    shape(
        "2+2W",
        &["x = 1; y = 2;", "y = 1; x = 2;"],
        "finally (x != 1 || y != 1);",
        "hhv",
    ),
    shape(
        "2+2W, store-store fences",
        &["x = 1; fence(ss); y = 2;", "y = 1; fence(ss); x = 2;"],
        "finally (x != 1 || y != 1);",
        "hhh",
    ),
    shape(
        "R",
        &["x = 1; y = 1;", "y = 2; r = x;"],
        "finally (y != 2 || t1.r == 1);",
        "hvv",
    ),
    shape(
        "S",
        &["x = 2; y = 1;", "r = y; x = 1;"],
        "finally (x != 2 || t1.r == 0);",
        "hhv",
    ),
    // Coherence: one variable behaves.
    shape(
        "CoRR: two stores are seen in order",
        &["x = 1; x = 2;", "r = x; s = x;"],
        "finally (t1.r != 2 || t1.s == 2);",
        "hhh",
    ),
    shape(
        "CoWW: the last store wins",
        &["x = 1; x = 2;", "r = x;"],
        "finally (x == 2);",
        "hhh",
    ),
    shape(
        "CoWW of three",
        &["x = 1; x = 2; x = 3;", "r = x; s = x;"],
        "finally (x == 3 && (t1.r <= t1.s));",
        "hhh",
    ),
    // Forwarding: own stores are seen at once, others' are not.
    shape(
        "own stores are seen early",
        &["x = 1; r = x; s = y;", "y = 1; r = y; s = x;"],
        "finally (t0.r != 1 || t0.s != 0 || t1.r != 1 || t1.s != 0);",
        "hvv",
    ),
    shape(
        "the newest own store is read",
        &["x = 1; y = 1; x = 2; r = x; assert(r == 2); s = y; assert(s == 1);"],
        "",
        "hhh",
    ),
    shape(
        "an own store is read past a newer one to another variable",
        &["x = 1; y = 2; r = x; assert(r == 1);"],
        "",
        "hhh",
    ),
    shape(
        "a later store of another thread hides the own one in memory only",
        &["x = 1; r = x; s = x;", "x = 2;"],
        "never t0.r == 2 && t0.s == 1;",
        "hhh",
    ),
    // Ends: `finally` waits for the buffers.
    shape(
        "a thread ends when it has drained",
        &["x = 1; y = 1; x = 2;"],
        "finally (x == 2 && y == 1);",
        "hhh",
    ),
    shape(
        "stores after the last step of another thread",
        &["x = 1;", "r = x; x = 2;"],
        "finally (x == 2 || t1.r == 0);",
        "hhh",
    ),
    // A place at the very end of a thread is where it ends, drained or not.
    shape(
        "at the end of a thread, its store in memory",
        &["x = 1; done:"],
        "never t0@done && x == 1;",
        "vvv",
    ),
    shape(
        "at the end of a thread, its store on the way",
        &["x = 1; done:"],
        "never t0@done && x == 0;",
        "hvv",
    ),
    shape(
        "a store in memory before the thread has ended",
        &["x = 1; done:"],
        "never !t0@done && x == 1;",
        "hhh",
    ),
    shape(
        "an ended thread is at its end",
        &["x = 1; done:", "r = x; done:"],
        "finally (t0@done && t1@done);",
        "hhh",
    ),
    shape(
        "an ended thread is not elsewhere",
        &["x = 1; done:", "r = x; done:"],
        "finally (!t0@done);",
        "vvv",
    ),
    // Arrays.
    shape(
        "SB on the elements of an array, computed index",
        &["a[r] = 1; r = a[1 - r];", "s = 1; a[s] = 1; r = a[1 - s];"],
        "finally (t0.r == 1 || t1.r == 1);",
        "hvv",
    ),
    shape(
        "MP on the elements of an array, computed index",
        &["a[r] = 1; a[r + 1] = 1;", "r = a[1]; s = a[r - r];"],
        "finally (t1.r == 0 || t1.s == 1);",
        "hhv",
    ),
    shape(
        "own elements are told apart",
        &[
            "r = choose(0..1); a[r] = 1; a[1 - r] = 2; s = a[r]; assert(s == 1); s = a[1 - r]; assert(s == 2);",
        ],
        "",
        "hhh",
    ),
    // Atomic blocks.
    shape(
        "two counters, atomically",
        &["r = fetch_add(x, 1); y = 1;", "r = fetch_add(x, 1); s = y;"],
        "finally (x == 2 && t0.r != t1.r);",
        "hhh",
    ),
    shape(
        "an atomic block does not overtake an own store",
        &["x = 1; atomic { x = 2; }", "r = x;"],
        "finally (x == 2);",
        "hhh",
    ),
    shape(
        "a block that waits for a buffered store of another thread",
        &["x = 1; y = 1;", "atomic { assume(y == 1); r = x; }"],
        "finally (t1.r == 1);",
        "hhv",
    ),
    // Blocks that only read.
    shape(
        "SB with reading blocks: they do not wait",
        &[
            "x = 1; atomic(read) { r = y; s = z; }",
            "y = 1; atomic(read) { r = x; s = z; }",
        ],
        "finally (t0.r == 1 || t1.r == 1);",
        "hvv",
    ),
    shape(
        "a reading block sees the newest own store",
        &["x = 1; x = 2; atomic(read) { r = x; s = y; } assert(r == 2);"],
        "",
        "hhh",
    ),
    shape(
        "a reading block reads at one moment",
        &["atomic(read) { r = x; s = x; }", "x = 1; x = 2;"],
        "finally (t0.r == t0.s);",
        "hhh",
    ),
    shape(
        "two loads do not",
        &["r = x; s = x;", "x = 1; x = 2;"],
        "finally (t0.r == t0.s);",
        "vvv",
    ),
    shape(
        "MP into a reading block",
        &["x = 1; y = 1;", "atomic(read) { r = y; s = x; }"],
        "finally (t1.r == 0 || t1.s == 1);",
        "hhv",
    ),
    shape(
        "own stores and others' in a reading block, computed index",
        &[
            "a[r] = 1; atomic(read) { r = a[0]; s = a[1 - s]; assume(r == 1); }",
            "s = 1; a[s] = 1; atomic(read) { s = a[1]; r = a[1 - s]; }",
        ],
        "finally (t0.s == 1 || t1.r == 1);",
        "hvv",
    ),
    shape(
        "stores by a loop",
        &[
            "while (r < 2) { r = r + 1; x = r; y = r; }",
            "r = y; s = x;",
        ],
        "finally (t1.s >= t1.r);",
        "hhv",
    ),
    // [Dan et al., SAS 2013], Figures 3 and 4: the code is lost in the scan; as section 2.2
    // tells it, thread 0 sets X to 1 and thread 1 sets Y to 1, each from the
    // other's variable and each before it sees the other's store. Loads are
    // steps of their own here, so SC has the outcome as well; with own stores
    // before them the outcome takes a buffer.
    shape(
        "[Dan et al., SAS 2013], Figure 3",
        &["x = y + 1; fence;", "y = x + 1; fence;"],
        "finally (x != y);",
        "vvv",
    ),
    shape(
        "[Dan et al., SAS 2013], Figure 3, after a store that the other should have seen",
        &[
            "x = 2; r = y; x = r + 1; fence;",
            "y = 2; r = x; y = r + 1; fence;",
        ],
        "finally (x != 1 || y != 1);",
        "hvv",
    ),
    // [Dan et al., SAS 2013], Figure 8.
    shape(
        "intra-thread coherence ([Dan et al., SAS 2013], Figure 8)",
        &["x = 0; x = 1; r = x; fence; assert(x == r);"],
        "",
        "hhh",
    ),
];
