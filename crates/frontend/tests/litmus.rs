//! Litmus tests from end to end: parsed here, explored by the concrete machine,
//! judged here. `tests/litmus` holds the tests, `expected.tsv` what each must
//! answer under each model, and why models differ.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use palisade_frontend::litmus::observe::Slot;
use palisade_frontend::litmus::{LitmusTest, Outcome, parse};
use palisade_machine::{Options, explore};
use palisade_program::{Model, Source, Verdict};
use proptest::prelude::*;

const MODELS: [Model; 3] = [Model::Sc, Model::Tso, Model::Pso];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/litmus")
}

fn test(name: &str, text: &str) -> LitmusTest {
    parse(Source::new(name, text)).unwrap_or_else(|errors| panic!("{errors}"))
}

fn explored(test: &LitmusTest, model: Model) -> Result<Outcome, Verdict> {
    let options = Options {
        collect_finals: true,
        max_states: Some(20_000),
        workers: 1,
        ..Options::new(model)
    };
    let found = explore(&test.program, &options).expect("litmus tests are explorable");
    match found.verdict {
        Verdict::Holds => Ok(test.judge(&found.finals, |state, slot| match slot {
            Slot::Local {
                template, local, ..
            } => state.locals[template.index()][local.index()],
            Slot::Cell { var, index } => state.cells[test.program.cell(*var, *index).index()],
        })),
        other => Err(other),
    }
}

fn outcome(test: &LitmusTest, model: Model) -> Outcome {
    explored(test, model).unwrap_or_else(|verdict| panic!("{}: {verdict:?}", test.name))
}

fn states(text: &str, model: Model) -> Vec<String> {
    let outcome = outcome(&test("t.litmus", text), model);
    let line = |state: &Vec<(String, String)>| {
        let parts: Vec<String> = state.iter().map(|(k, v)| format!("{k}={v}")).collect();
        parts.join(" ")
    };
    outcome.states.iter().map(line).collect()
}

#[test]
fn every_test_answers_as_expected() {
    let table = fs::read_to_string(folder().join("expected.tsv")).expect("the table");
    let mut listed = BTreeSet::new();
    let mut wrong = Vec::new();
    for line in table.lines().filter(|l| !l.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [file, expected @ ..] = columns.as_slice() else {
            panic!("a line without a file");
        };
        assert_eq!(expected.len(), MODELS.len(), "{file}");
        listed.insert((*file).to_owned());
        let text = fs::read_to_string(folder().join(file)).expect(file);
        let test = test(file, &text);
        for (model, expected) in MODELS.into_iter().zip(expected) {
            let outcome = outcome(&test, model);
            let got = format!(
                "{} {} {}",
                outcome.answer.word(),
                outcome.observation.word(),
                outcome.states.len()
            );
            if got != *expected {
                wrong.push(format!("{file} under {model}: {got}, expected {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let present = fs::read_dir(folder()).expect("the folder");
    for entry in present {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy().into_owned();
        let known = !name.ends_with(".litmus") || listed.contains(&name);
        assert!(known, "{name} has no line in expected.tsv");
    }
}

#[test]
fn states_are_in_herds_order_and_form() {
    let text = "X86 T\n{ }\n P0 | P1 ;\n MOV [y],$1 | MOV EBX,[y] ;\n MOV [x],$-1 | MOV EAX,[x] ;\n\
                exists (x=-1 /\\ 1:EBX=0 /\\ 1:EAX=-1)\n";
    let expected = [
        "1:EAX=-1 1:EBX=0 [x]=-1",
        "1:EAX=-1 1:EBX=1 [x]=-1",
        "1:EAX=0 1:EBX=0 [x]=-1",
        "1:EAX=0 1:EBX=1 [x]=-1",
    ];
    assert_eq!(states(text, Model::Tso), expected);
    let test = test("t.litmus", text);
    assert_eq!(test.question(), "exists ([x]=-1 /\\ 1:EBX=0 /\\ 1:EAX=-1)");
}

#[test]
fn implication_binds_tighter_than_conjunction() {
    // As in herd's grammar: 0:EAX=1 /\ (0:EBX=1 => 0:ECX=1).
    let text = "X86 T\n{ }\n P0 ;\n MOV EAX,$0 ;\nforall 0:EAX=1 /\\ 0:EBX=1 => 0:ECX=1\n";
    assert_eq!(outcome(&test("t", text), Model::Sc).answer.word(), "No");
    let text = "X86 T\n{ }\n P0 ;\n MOV EAX,$0 ;\nforall (0:EAX=1 /\\ 0:EBX=1) => 0:ECX=1\n";
    assert_eq!(outcome(&test("t", text), Model::Sc).answer.word(), "Ok");
}

#[test]
fn pointers_to_nowhere_give_no_answer() {
    let text = "X86 T\n{ 0:EBX=x; }\n P0 ;\n MOV EBX,[y] ;\n MOV EAX,[EBX] ;\nexists 0:EAX=0\n";
    let verdict = explored(&test("t", text), Model::Tso).expect_err("y holds no address");
    let Verdict::Violated(violation) = verdict else {
        panic!("{verdict:?}");
    };
    assert!(
        violation.message.contains("no location"),
        "{}",
        violation.message
    );
}

#[test]
fn a_loop_that_stores_for_ever_gives_no_answer() {
    let text = "X86 T\n{ }\n P0 ;\n L: INC [x] ;\n JMP L ;\nexists x=0\n";
    let verdict = explored(&test("t", text), Model::Tso).expect_err("endless");
    assert!(matches!(verdict, Verdict::Unknown(_)), "{verdict:?}");
}

/// `text` is refused; the first error is at `place` and says `message`.
fn refused(text: &str, place: &str, message: &str) {
    let Err(errors) = parse(Source::new("t.litmus", text)) else {
        panic!("accepted:\n{text}");
    };
    let first = &errors.items[0];
    let found = errors.source.position(first.span.start).to_string();
    assert!(first.message.contains(message), "{errors}");
    assert_eq!(found, place, "{errors}");
}

#[test]
fn malformed_tests_give_located_errors() {
    let code =
        |cell: &str| format!("X86_64 T\n{{ int x; int8_t b; }}\n P0 ;\n {cell} ;\nexists x=0\n");
    refused("", "1:1", "empty");
    refused("ARM T\n{}\n", "1:1", "unknown architecture `ARM`");
    refused("X86\n{}\n", "1:1", "no name");
    refused("X86 T\n P0 ;\n", "3:1", "no initial state");
    refused("X86 T\n{ x=1;\n P0;\n", "2:1", "not closed");
    refused("X86 T\n{ float x; }\n P0;\n", "2:3", "unknown type `float`");
    refused("X86 T\n{ x=1; x=2; }\n P0;\n", "2:8", "declared twice");
    refused(
        "X86 T\n{ int t[2]={1}; }\n P0;\n",
        "2:3",
        "1 values for 2 cells",
    );
    refused("X86 T\n{ 1:EAX=1; }\n P0;\n NOP;\n", "2:3", "no P1");
    refused("X86 T\n{ }\n NOP;\n", "3:2", "expected a processor");
    refused("X86 T\n{ }\n P0 | P0 ;\n", "3:7", "two columns");
    refused("X86 T\n{ }\n P0 | P1 ;\n NOP ;\n", "4:2", "1 cells");
    refused(
        "X86 T\n{ }\n P0;\n NOP;\nexists (0:EAX=1\n",
        "6:1",
        "expected `)`",
    );
    refused(
        "X86 T\n{ }\n P0;\n NOP;\nexists 0:EAX\n",
        "6:1",
        "expected `=`",
    );
    refused(
        "X86 T\n{ }\n P0;\n NOP;\nexists 0:EXX=1\n",
        "5:8",
        "unknown register `EXX`",
    );
    refused("X86 T\n{ }\n P0;\n NOP;\nexists 3:EAX=1\n", "5:8", "no P3");
    refused(
        "X86 T\n{ }\n P0;\n NOP;\nexists x=1 y\n",
        "5:12",
        "the end of the condition",
    );
    refused(
        "X86 T\n{ }\n P0;\n NOP;\nexists x[1]=1\n",
        "5:8",
        "not an array",
    );
    refused(
        "X86 T\n{ }\n P0;\n NOP (* \n",
        "4:6",
        "unterminated comment",
    );
    refused(
        &code("movv $1,(x)"),
        "4:2",
        "unsupported instruction `movv`",
    );
    refused(&code("movl $1"), "4:10", "expected an operand");
    refused(&code("movl $1,(x),(x)"), "4:13", "end of the instruction");
    refused(&code("movl $1,$2"), "4:10", "cannot be a destination");
    refused(&code("movl (x),(b)"), "4:2", "both operands are in memory");
    refused(
        &code("movl %rax,(x)"),
        "4:7",
        "64 bits in an operation of 32",
    );
    refused(
        &code("movq %rax,(x)"),
        "4:12",
        "does not lie within one cell",
    );
    refused(&code("movb $256,(b)"), "4:7", "does not fit 8 bits");
    refused(&code("movl %xmm0,%eax"), "4:8", "register `xmm0`");
    refused(&code("lock movl $1,(x)"), "4:2", "illegal lock prefix");
    refused(&code("lock incl %eax"), "4:2", "illegal lock prefix");
    refused(&code("jmp L"), "4:2", "unknown label `L`");
    refused(&code("L: nop ; L: nop"), "4:11", "defined twice");
    refused(&code("movl %gs:4(%rax),%eax"), "4:7", "segment registers");
    refused(&code("movl (%rbx),%eax"), "4:7", "names no location");
    refused(&code("movl (%rax,%rbx,3),%eax"), "4:7", "scale");
    refused(
        &code("movl $1,(x) ; movw $1,(q) ; @"),
        "4:30",
        "unexpected character",
    );
}

#[test]
fn mixed_sizes_between_threads_are_refused() {
    let text = "X86_64 T\n{ int x; }\n P0 | P1 ;\n movb $1,(x) | movl (x),%eax ;\nexists x=1\n";
    refused(text, "4:10", "mixed-size accesses to `x`");
    // Narrow loads and locked narrow writes are exact.
    let text = "X86_64 T\n{ int x; }\n P0 | P1 ;\n lock incb (x) | movl $256,(x) ;\n\
                 movb 1(x),%al | ;\nforall true\n";
    assert!(parse(Source::new("t", text)).is_ok());
}

#[test]
fn malformed_c_gives_located_errors() {
    let code = |body: &str| format!("C T\n{{ }}\nP0(int *x, int *y) {{\n {body}\n}}\nexists x=0\n");
    refused("C T\n{ }\nexists x=0\n", "3:1", "expected a thread");
    refused("C T\n{ }\nint main() { }\n", "3:1", "`int` is no thread");
    refused("C T\n{ }\nP0(int x) { }\n", "3:4", "must be a pointer");
    refused("C T\n{ int64_t x; }\nP0(int *x) { }\n", "3:4", "64 bits");
    refused(&code("*x = 1"), "5:1", "expected `;`");
    refused(&code("r0 = 1;"), "4:2", "`r0` is not declared");
    refused(
        &code("rcu_read_lock();"),
        "4:2",
        "unsupported function `rcu_read_lock`",
    );
    refused(&code("int r0 = smp_mb();"), "4:11", "gives no value");
    refused(&code("WRITE_ONCE(x, 1);"), "4:13", "needs a location");
    refused(&code("int r0 = *r0;"), "4:12", "not a pointer");
    refused(&code("int r0; { long r0; }"), "4:17", "another type");
    refused(&code("*z = 1;"), "4:3", "`z` is not declared");
    refused(
        &code("int r0 = atomic_add_return(1, 2);"),
        "4:11",
        "wrong arguments",
    );
    refused(&code("f(x);"), "4:2", "call of `f`");
    let twice = "C T\n{ }\nP0() { }\nP0() { }\nexists x=0\n";
    refused(twice, "4:1", "P0 is defined twice");
    let prototype = "C T\n{ }\nP0();\nP1(int *x) { *x = 1; }\nexists x=0\n";
    refused(prototype, "3:5", "the body of P0");
    refused(&code("exit(0);"), "4:2", "unsupported function `exit`");
    let same = "C T\n{ }\nP0(int *x, int *x) { }\nexists x=0\n";
    refused(same, "3:12", "two parameters are called `x`");
    let create = "pthread_create(0, 0, P0, 0);";
    refused(&code(create), "3:1", "a litmus test that starts threads");
    refused(&code("/* open"), "4:2", "unterminated comment");
}

/// What one thread of C leaves: the values of its registers and of `x`.
fn alone(init: &str, params: &str, body: &str, shown: &str) -> String {
    let text = format!("C T\n{{ {init} }}\nP0({params}) {{\n {body}\n}}\nlocations [{shown}]\n");
    let states = MODELS.map(|model| states(&text, model));
    assert!(
        states.iter().all(|s| *s == states[0] && s.len() == 1),
        "{states:?}"
    );
    states[0][0].clone()
}

#[test]
fn each_function_of_c_does_what_it_says() {
    let int = |body: &str| alone("x=5;", "int *x", &format!("long r0 = 9; {body}"), "0:r0; x");
    for (body, expected) in [
        ("r0 = READ_ONCE(*x);", "0:r0=5 [x]=5"),
        ("r0 = smp_load_acquire(x);", "0:r0=5 [x]=5"),
        ("r0 = atomic_read(x);", "0:r0=5 [x]=5"),
        ("r0 = atomic_read_acquire(x);", "0:r0=5 [x]=5"),
        ("r0 = atomic_load(x);", "0:r0=5 [x]=5"),
        (
            "r0 = atomic_load_explicit(x, memory_order_consume);",
            "0:r0=5 [x]=5",
        ),
        ("WRITE_ONCE(*x, 7);", "0:r0=9 [x]=7"),
        ("smp_store_mb(*x, 7);", "0:r0=9 [x]=7"),
        ("smp_store_release(x, 7);", "0:r0=9 [x]=7"),
        ("atomic_set(x, 7);", "0:r0=9 [x]=7"),
        ("atomic_set_release(x, 7);", "0:r0=9 [x]=7"),
        ("atomic_store(x, 7);", "0:r0=9 [x]=7"),
        ("atomic_init(x, 7);", "0:r0=9 [x]=7"),
        ("r0 = xchg(x, 7);", "0:r0=5 [x]=7"),
        ("r0 = atomic_xchg_acquire(x, 7);", "0:r0=5 [x]=7"),
        (
            "r0 = atomic_exchange_explicit(x, 7, memory_order_acq_rel);",
            "0:r0=5 [x]=7",
        ),
        ("r0 = cmpxchg(x, 5, 7);", "0:r0=5 [x]=7"),
        ("r0 = cmpxchg_release(x, 4, 7);", "0:r0=5 [x]=5"),
        ("r0 = atomic_cmpxchg(x, 4, 7);", "0:r0=5 [x]=5"),
        ("r0 = atomic_add_unless(x, 2, 5);", "0:r0=0 [x]=5"),
        ("r0 = atomic_add_unless(x, 2, 4);", "0:r0=1 [x]=7"),
        ("atomic_add(2, x);", "0:r0=9 [x]=7"),
        ("atomic_inc(x);", "0:r0=9 [x]=6"),
        ("atomic_dec(x);", "0:r0=9 [x]=4"),
        ("r0 = atomic_sub_return(7, x);", "0:r0=-2 [x]=-2"),
        ("r0 = atomic_add_return_relaxed(7, x);", "0:r0=12 [x]=12"),
        ("r0 = atomic_fetch_xor(4, x);", "0:r0=5 [x]=1"),
        ("r0 = atomic_fetch_or(x, 2);", "0:r0=5 [x]=7"),
        (
            "r0 = atomic_fetch_and_explicit(x, 4, memory_order_relaxed);",
            "0:r0=5 [x]=4",
        ),
        ("r0 = atomic_sub_and_test(5, x);", "0:r0=1 [x]=0"),
        ("r0 = atomic_inc_and_test(x);", "0:r0=0 [x]=6"),
        ("r0 = atomic_add_negative(-6, x);", "0:r0=1 [x]=-1"),
        (
            "smp_mb(); smp_wmb(); smp_rmb(); barrier(); smp_mb__after_atomic();",
            "0:r0=9 [x]=5",
        ),
        ("r0 = spin_trylock(x);", "0:r0=0 [x]=5"),
        ("spin_unlock(x); r0 = spin_trylock(x);", "0:r0=1 [x]=1"),
        (
            "int e = 4; r0 = atomic_compare_exchange_strong(x, &e, 7); *x = e;",
            "0:r0=0 [x]=5",
        ),
        (
            "int e = 5; r0 = atomic_compare_exchange_strong(x, &e, 7);",
            "0:r0=1 [x]=7",
        ),
    ] {
        assert_eq!(int(body), expected, "{body}");
    }
    let long = |body: &str| alone("int64_t x=5;", "atomic64_t *x", body, "0:r0; x");
    let huge = "0:r0=4294967301 [x]=4294967301";
    assert_eq!(long("long r0 = atomic64_add_return(4294967296, x);"), huge);
    assert_eq!(
        long("int r0 = atomic64_add_unless(x, 1, 4);"),
        "0:r0=1 [x]=6"
    );
    let lock = "spin_lock(x); long r0 = *x; spin_unlock(x);";
    assert_eq!(alone("", "spinlock_t *x", lock, "0:r0; x"), "0:r0=1 [x]=0");
}

#[test]
fn threads_in_c_are_c() {
    let array = |body: &str| {
        alone(
            "int t[3]={1,2,3}; 0:r0=7;",
            "int *t, int *x",
            body,
            "0:r0; x",
        )
    };
    for (body, expected) in [
        // Registers start as the initial state says, and are one in all scopes.
        ("int r0;", "0:r0=7 [x]=0"),
        (
            "int r0 = 1; if (r0) { int r0; *x = r0; r0 = 2; }",
            "0:r0=2 [x]=1",
        ),
        (
            "int r0 = 1, i = 0; while (i < 2) { int r0 = i; i++; }",
            "0:r0=1 [x]=0",
        ),
        (
            "int r0 = 0; for (int i = 0; i < 3; i++) r0 += t[i];",
            "0:r0=6 [x]=0",
        ),
        (
            "int r0 = 0; do { r0++; if (r0 == 3) break; } while (1);",
            "0:r0=3 [x]=0",
        ),
        (
            "int r0; switch (t[1]) { case 1: r0 = 1; break; case 2: r0 = 20; }",
            "0:r0=20 [x]=0",
        ),
        ("int r0 = t[2] / 2 * 10 + t[2] % 2;", "0:r0=11 [x]=0"),
        ("int r0 = (int8_t)(t[2] + 253) << t[0];", "0:r0=0 [x]=0"),
        (
            "int r0 = (unsigned char)-1 > (int8_t)-1 ? sizeof(int) : 0;",
            "0:r0=4 [x]=0",
        ),
        (
            "int *p = t + 1; int r0 = p[1]; x = p; *x = 9; r0 += t[1];",
            "0:r0=12 [x]=0",
        ),
        (
            "int r0 = *(int *)(intptr_t)(x == t ? x : t);",
            "0:r0=1 [x]=0",
        ),
        (
            "int *p = NULL; int r0 = p == NULL && x != NULL;",
            "0:r0=1 [x]=0",
        ),
        ("int r0 = 1; return; r0 = 2;", "0:r0=1 [x]=0"),
    ] {
        assert_eq!(array(body), expected, "{body}");
    }
    let truth = alone(
        "bool x=2; 0:r0=3;",
        "bool *x",
        "bool r0; r0 = r0 == *x;",
        "0:r0; x",
    );
    assert_eq!(truth, "0:r0=1 [x]=1");
    let members = "struct { int a; long b; } s = { 1 }; s.b = s.a + *x; *x = s.b;";
    assert_eq!(
        alone("x=3;", "int *x", members, "0:s.b; x"),
        "0:s.b=4 [x]=4"
    );
}

#[test]
fn threads_in_c_are_weak() {
    let answers = |text: &str| {
        let test = test("t", text);
        MODELS.map(|model| outcome(&test, model).observation.word())
    };
    // Message passing, read into a struct: stores are reordered under PSO alone.
    let passing = |write: &str| {
        format!(
            "C T\n{{ }}\nP0(int *x, int *y) {{ int i; for (i = 0; i < 2; i++) {{ {write} }} }}\n\
             P1(int *x, int *y) {{ struct {{ int flag, data; }} s;\n\
             s.flag = READ_ONCE(*y); s.data = READ_ONCE(*x); }}\n\
             exists (1:s.flag=1 /\\ 1:s.data=0)\n"
        )
    };
    let weak = passing("*(i ? y : x) = 1;");
    assert_eq!(answers(&weak), ["Never", "Never", "Sometimes"]);
    let release = passing("if (i) smp_store_release(y, 1); else *x = 1;");
    assert_eq!(answers(&release), ["Never"; 3]);
    // Store buffering, through casts: 0 is read as -1.
    let buffering = |between: &str| {
        format!(
            "C T\n{{ }}\nP0(int *x, int *y) {{ *x = 1; {between} int r0 = (int8_t)(*y + 255); }}\n\
             P1(int *x, int *y) {{ *y = 1; {between} int r0 = (int8_t)(*x + 255); }}\n\
             exists (0:r0=-1 /\\ 1:r0=-1)\n"
        )
    };
    let weak = ["Never", "Sometimes", "Sometimes"];
    assert_eq!(answers(&buffering("")), weak);
    assert_eq!(
        answers(&buffering("atomic_thread_fence(memory_order_acq_rel);")),
        weak
    );
    assert_eq!(
        answers(&buffering("atomic_thread_fence(memory_order_seq_cst);")),
        ["Never"; 3]
    );
    assert_eq!(answers(&buffering("smp_mb();")), ["Never"; 3]);
    assert_eq!(answers(&buffering("xchg(x, 1);")), ["Never"; 3]);
}

#[test]
fn what_c_leaves_open_is_open() {
    // The other thread sets x first: where y is read first, r0 is never 2.
    let order = "C T\n{ }\nP0(int *x, int *y) { int r0 = *x + 2 * *y; }\n\
                 P1(int *x, int *y) { *x = 1; smp_wmb(); *y = 1; }\nexists 0:r0=1\n";
    let reversed = order.replace("*x + 2 * *y", "2 * *y + *x");
    for text in [order, &reversed] {
        for model in MODELS {
            let words = ["0:r0=0", "0:r0=1", "0:r0=2", "0:r0=3"];
            assert_eq!(states(text, model), words, "{text}");
        }
    }
    let weak = "C T\n{ }\nP0(int *x) { int e = 0; int r0 = atomic_compare_exchange_weak(x, &e, 1); }\n\
                locations [0:r0; x]\n";
    assert_eq!(states(weak, Model::Sc), ["0:r0=0 [x]=0", "0:r0=1 [x]=1"]);
    // Numbers that become pointers to functions are none of locations.
    let far = "C T\n{ }\nP0(int *x) { int r0 = *(int *)1000000000; }\nexists 0:r0=0\n";
    let verdict = explored(&test("t", far), Model::Sc).expect_err("no location");
    assert!(matches!(verdict, Verdict::Unknown(_)), "{verdict:?}");
    let null = "C T\n{ }\nP0(int **p) { int *q = *p; int r0 = *q; }\nexists 0:r0=0\n";
    let verdict = explored(&test("t", null), Model::Sc).expect_err("null");
    assert!(matches!(verdict, Verdict::Violated(_)), "{verdict:?}");
}

#[test]
fn deep_nesting_is_refused_without_overflow() {
    let deep = "(".repeat(100_000);
    refused(
        &format!("X86 T\n{{ }}\n P0;\n NOP;\nexists {deep}"),
        "5:208",
        "nested too deeply",
    );
    let minus = "-".repeat(100_000).replace("--", "- ");
    let code = format!("C T\n{{ }}\nP0(int *x) {{ *x = {minus}1; }}\nexists x=0\n");
    assert!(parse(Source::new("t", code)).is_err());
    let braces = "{".repeat(100_000);
    assert!(parse(Source::new("t", format!("C T\n{{ }}\nP0() {braces}"))).is_err());
    let tildes = "~".repeat(100_001);
    let text = format!("X86 T\n{{ }}\n P0;\n NOP;\nexists {tildes} x=0\n");
    assert_eq!(outcome(&test("t", &text), Model::Sc).answer.word(), "No");
}

fn corpus() -> &'static [String] {
    static CORPUS: OnceLock<Vec<String>> = OnceLock::new();
    CORPUS.get_or_init(read_corpus)
}

fn read_corpus() -> Vec<String> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "litmus"))
        .collect();
    files.sort();
    files
        .iter()
        .map(|path| fs::read_to_string(path).expect("a test"))
        .collect()
}

/// Cuts, doubles or overwrites pieces of a text.
fn mutated(text: &str, edits: &[(u16, u8, u8)]) -> String {
    const PIECES: [&str; 16] = [
        "(", ")", "[", "]", "{", "}", ";", "|", "$", "%", "-1", "0x", "lock ", "/\\", "\"", "é",
    ];
    let mut chars: Vec<char> = text.chars().collect();
    for &(at, what, length) in edits {
        if chars.is_empty() {
            break;
        }
        let at = usize::from(at) % chars.len();
        let end = (at + usize::from(length % 16)).min(chars.len());
        match what % 3 {
            0 => drop(chars.drain(at..end)),
            1 => {
                let copy: Vec<char> = chars[at..end].to_vec();
                chars.splice(at..at, copy);
            }
            _ => {
                let piece = PIECES[usize::from(what / 3) % PIECES.len()];
                chars.splice(at..at, piece.chars());
            }
        }
    }
    chars.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(soak(2000)))]

    /// Whatever is done to a test, it is parsed or refused with errors that can
    /// be shown.
    #[test]
    fn mutated_tests_do_not_panic(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec(any::<(u16, u8, u8)>(), 1..6),
    ) {
        let corpus = corpus();
        let text = mutated(&corpus[which.index(corpus.len())], &edits);
        if let Err(errors) = parse(Source::new("t.litmus", text)) {
            prop_assert!(!errors.items.is_empty());
            prop_assert!(!errors.to_string().is_empty());
        }
    }

    #[test]
    fn random_text_does_not_panic(text in "(X86|X86_64|C) T\n\\{\\PC{0,40}\\}\\PC{0,200}") {
        if let Err(errors) = parse(Source::new("t.litmus", text)) {
            prop_assert!(!errors.items.is_empty());
        }
    }
}

/// The number of cases: more when a soak run asks for it.
fn soak(usual: u32) -> u32 {
    let asked = std::env::var("PALISADE_SOAK")
        .ok()
        .and_then(|n| n.parse().ok());
    asked.unwrap_or(usual)
}
