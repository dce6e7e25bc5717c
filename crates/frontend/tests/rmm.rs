//! The `.rmm` front end: what programs mean, by exploring them.
#![allow(missing_docs)]

use std::fmt::Write;
use std::path::Path;

use palisade_frontend::{load, pal, rmm};
use palisade_machine::{Options, explore};
use palisade_program::{Model, Program, Source, Verdict};

fn parse(text: &str) -> Program {
    match rmm::parse(Source::new("t.rmm", text)) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("{errors}\nin\n{text}"),
    }
}

/// The verdicts under SC, TSO and PSO, by their first letters.
fn verdicts(text: &str) -> String {
    let program = parse(text);
    let verdict = |model| {
        let result = explore(&program, &Options::new(model)).expect("can be explored");
        match result.verdict {
            Verdict::Holds => 'h',
            Verdict::Violated(_) => 'v',
            Verdict::Unknown(_) => 'u',
        }
    };
    [Model::Sc, Model::Tso, Model::Pso]
        .map(verdict)
        .iter()
        .collect()
}

fn check(text: &str, expected: &str) {
    assert_eq!(verdicts(text), expected, "{text}");
}

/// Whether the label `BAD` of the only process, with this declaration and code, can
/// be reached.
fn check_one(declarations: &str, code: &str, expected: bool) {
    let text = format!("forbidden BAD {declarations} text {code}");
    check(&text, if expected { "vvv" } else { "hhh" });
}

/// Store buffering: both processes write their flag, then something, then read the
/// other's.
fn store_buffering(write: &str, read: &str) -> String {
    let process = format!(
        "process data f = 0 : [0:1] registers $r = 0 : [0:1] $s = 0 : [0:1]
         text {write}; {read}; END: nop\n"
    );
    format!("forbidden END END {process} {process}")
}

#[test]
fn fences_of_all_kinds_order_a_write_and_a_read() {
    let plain = "write: f[my] := 1";
    let read = "read: f[0] = 0";
    check(&store_buffering(plain, read), "hvv");
    for write in [
        "write: f[my] := 1; fence",
        "locked write: f[my] := 1",
        "syncwr: f[my] := 1",
        "cas(f[my], 0, 1)",
        "locked { write: f[my] := 1 }",
        "locked { read: f[my] = 0; write: f[my] := 1 or assume: $r = 5; read: f[my] = 0 }",
        "write: f[my] := 1; locked { read: f[0] = 0; write: f[my] := 1 }",
    ] {
        check(&store_buffering(write, read), "hhh");
    }
    check(&store_buffering(plain, "syncrd: f[0] = 0"), "hhh");
    check(
        &store_buffering(plain, "syncrd: $r := f[0]; assume: $r = 0"),
        "hhh",
    );
}

#[test]
fn weaker_steps_do_not() {
    let read = "read: f[0] = 0";
    for write in [
        "write: f[my] := 1; ssfence",
        "write: f[my] := 1; llfence",
        "write: f[my] := 1; nop",
        "slocked write: f[my] := 1",
        "write: f[my] := 1; locked { read: f[my] = 1 }",
    ] {
        check(&store_buffering(write, read), "hvv");
    }
    let plain = "write: f[my] := 1";
    check(&store_buffering(plain, "locked { read: f[0] = 0 }"), "hvv");
    let two =
        "locked { assume: $r = 0; read: $r := f[0] or $s := 1; read: f[0] = 0 }; assume: $r = 0";
    check(&store_buffering(plain, two), "hvv");
}

/// Locked blocks that write nothing: all reads at one moment, own buffered writes
/// first, without waiting for the buffers.
#[test]
fn locked_reads_happen_at_one_moment_and_do_not_wait() {
    let plain = "write: f[my] := 1";
    for read in [
        "locked { read: f[my] = 1; read: f[0] = 0 }",
        "locked { read: $r := f[0]; read: $s := f[my]; assume: $r = 0 && $s = 1 }; assume: $r = 0",
        "locked { read: f[my] = 0; read: f[0] = 0 or read: f[my] = 1; read: f[0] = 0 }",
        "locked { locked { read: f[my] = 1 }; { read: f[0] = 0; nop } }",
    ] {
        check(&store_buffering(plain, read), "hvv");
        check(&store_buffering("write: f[my] := 1; fence", read), "hhh");
    }
    // The own buffered write hides what is in memory.
    let stale = "locked { read: f[my] = 0; read: f[0] = 0 }";
    check(&store_buffering(plain, stale), "hhh");
    let moment = |reads: &str| {
        format!(
            "forbidden END * data x = 0 y = 0
             process text {reads}; END: nop
             process text write: x := 1; write: y := 1"
        )
    };
    check(&moment("read: x = 0; read: y = 1"), "vvv");
    check(&moment("locked { read: x = 0; read: y = 1 }"), "hhv");
    check(&moment("locked { read: y = 1; read: x = 0 }"), "hhv");
    check(
        &moment("locked { read: x = 0; read: x = 1 or nop; read: y = 1; read: x = 0 }"),
        "hhv",
    );
}

#[test]
fn store_fences_order_writes_under_pso() {
    let passing = |between: &str| {
        format!(
            "forbidden * END data x = 0 y = 0
             process text {between}; write: y := 1
             process text read: y = 1; read: x = 0; END: nop"
        )
    };
    check(&passing("write: x := 1"), "hhv");
    check(&passing("write: x := 1; llfence"), "hhv");
    check(&passing("write: x := 1; ssfence"), "hhh");
    check(&passing("slocked write: x := 1"), "hhh");
    check(&passing("write: x := 1; fence"), "hhh");
    check(&passing("locked write: x := 1"), "hhh");
}

#[test]
fn a_step_that_leaves_a_domain_blocks() {
    let one = "data x = 0 : [0:2] process registers $r = 0 : [0:1] $w = 0";
    check_one(one, "write: x := 2; BAD: nop", true);
    check_one(one, "write: x := 3; BAD: nop", false);
    check_one(one, "write: x := -1; BAD: nop", false);
    check_one(one, "$w := 3; write: x := $w; BAD: nop", false);
    check_one(one, "$w := 2; write: x := $w; BAD: nop", true);
    check_one(one, "$r := 1; $r := $r + 1; BAD: nop", false);
    check_one(one, "$r := $r + 1; BAD: nop", true);
    check_one(one, "write: x := 2; read: $r := x; BAD: nop", false);
    check_one(
        one,
        "write: x := 1; read: $r := x; assume: $r = 1; BAD: nop",
        true,
    );
    check_one(one, "write: x := 2; read: $w := x; BAD: nop", true);
    check_one(one, "locked write: x := 5; BAD: nop", false);
    check_one(one, "cas(x, 0, 3); BAD: nop", false);
    check_one(one, "cas(x, 0, 2); read: x = 2; BAD: nop", true);
    check_one(one, "cas(x, 1, 2); BAD: nop", false);
    check_one(
        one,
        "locked { read: $r := x; write: x := 7 or write: x := 1 }; read: x = 1; BAD: nop",
        true,
    );
    check_one(
        one,
        "locked { write: x := 2; read: $r := x or write: x := 1 }; read: x = 2; BAD: nop",
        false,
    );
}

#[test]
fn a_star_is_any_value_of_the_domain() {
    let any = "data x = * : [2:4] process registers $r = * : [1:2] $z = *";
    check_one(any, "read: x = 4; BAD: nop", true);
    check_one(any, "read: x = 5; BAD: nop", false);
    check_one(any, "assume: $r = 1; BAD: nop", true);
    check_one(any, "assume: $r = 0; BAD: nop", false);
    check_one(any, "write: x := $r; read: x = 2; BAD: nop", true);
    check_one(any, "write: x := $r; read: x = 1; BAD: nop", false);
}

#[test]
fn other_processes_are_counted_without_the_own_one() {
    // Process p reads `v[i]` and sees the owner's number plus ten.
    for (pid, i, owner) in [
        (0, 0, 1),
        (0, 1, 2),
        (1, 0, 0),
        (1, 1, 2),
        (2, 0, 0),
        (2, 1, 1),
    ] {
        let mut text = format!("forbidden {}", ["BAD * *", "* BAD *", "* * BAD"][pid]);
        for p in 0..3 {
            let code = format!("read: v[{i}] = {}; BAD: nop", owner + 10);
            let code = if p == pid { code } else { "nop".to_owned() };
            write!(text, " process data v = {} text {code}", p + 10).expect("fits");
        }
        check(&text, "vvv");
        check(
            &text.replace(&format!("= {}; BAD", owner + 10), "= 99; BAD"),
            "hhh",
        );
    }
}

#[test]
fn copies_of_a_process_have_variables_of_their_own() {
    // Each of three copies writes its own variable; one that sees both others
    // unwritten and its own written went first, so no two can.
    let text = "forbidden ALONE ALONE * ; ALONE * ALONE ; * ALONE ALONE
        process(3) data v = 0 : [0:1]
        text locked write: v[my] := 1; read: v[0] = 0; read: v[1] = 0; read: v[my] = 1; ALONE: nop";
    check(text, "hhh");
    check(&text.replace("locked ", ""), "hvv");
    check(&text.replace("read: v[1] = 0; ", ""), "vvv");
    // With another process before and after them, and other domains.
    let text = "forbidden * A A *
        process data v = 7 : [0:7] text nop
        process(2) data v = 0 : [0:1]
        text locked write: v[my] := 1; read: v[0] = 7; read: v[1] = 0; read: v[2] = 9; A: nop
        process data v = 9 text nop";
    check(text, "hhh");
    check(&text.replace("locked ", ""), "hvv");
    check(&text.replace("v[1] = 0", "v[1] = 1"), "vvv");
}

#[test]
fn pointers_are_numbers_of_global_variables() {
    let table = "data a = 5 b = 6 c = 7 process data a = 9 registers $p = * : [0:9] $r = 0";
    check_one(table, "read: [0] = 5; BAD: nop", true);
    check_one(table, "read: [1 + 1] = 7; BAD: nop", true);
    check_one(
        table,
        "assume: $p = 1; read: $r := [$p]; assume: $r = 6; BAD: nop",
        true,
    );
    check_one(
        table,
        "assume: $p = 1; read: $r := [$p]; assume: $r != 6; BAD: nop",
        false,
    );
    check_one(table, "assume: $p = 3; read: $r := [$p]; BAD: nop", false);
    check_one(
        table,
        "$p := 2; write: [$p - 1] := 8; read: b = 8; BAD: nop",
        true,
    );
    check_one(
        table,
        "$p := 2; cas([$p], 7, 8); read: c = 8; BAD: nop",
        true,
    );
    check_one(table, "$p := 2; cas([$p], 6, 8); BAD: nop", false);
    check_one(
        table,
        "$p := 0; locked { write: [$p] := 1; read: a = 1 }; BAD: nop",
        true,
    );
}

#[test]
fn control_statements() {
    let registers = "process registers $r = 0 $s = 0";
    check_one(
        registers,
        "if $r = 0 then $s := 1; if $s = 1 then BAD: nop",
        true,
    );
    check_one(registers, "if $r = 0 then $s := 1 else BAD: nop", false);
    check_one(
        registers,
        "if $r != 0 then nop else { $s := 2; BAD: nop }",
        true,
    );
    check_one(
        registers,
        "while $r < 5 do $r := $r + 2; if $r = 6 then BAD: nop",
        true,
    );
    check_one(
        registers,
        "while $r < 5 do $r := $r + 2; if $r != 6 then BAD: nop",
        false,
    );
    check_one(registers, "while true do nop; BAD: nop", false);
    check_one(
        registers,
        "either { $r := 1 or $r := 2 or $r := 3 }; if $r = 3 then BAD: nop",
        true,
    );
    check_one(registers, "goto L; BAD: nop; L: nop", false);
    check_one(
        registers,
        "L: if $r = 3 then goto M; $r := $r + 1; goto L; M: nop; BAD: nop",
        true,
    );
    check_one(
        registers,
        "either { assume: $r = 1; BAD: nop or nop }",
        false,
    );
    check_one(
        registers,
        "if [$r = 1 || $s = 0] && not $r = 2 then BAD: nop",
        true,
    );
    check_one(
        registers,
        "if not [$r = 0 && $s >= 0 || false] then BAD: nop",
        false,
    );
    check_one(registers, "$r := 1 - 2 - 3; if $r = -4 then BAD: nop", true);
    check_one(
        registers,
        "$r := -(1 - 2) - -3; if $r = 4 then BAD: nop",
        true,
    );
    check_one(
        registers,
        "if $r = 0 then if $s = 1 then nop else BAD: nop",
        true,
    );
}

#[test]
fn a_loop_at_the_start_of_an_alternative_does_not_come_back_to_the_choice() {
    let registers = "process registers $r = 0";
    let code = "either { while $r = 0 do $r := 1 or assume: $r = 1; BAD: nop }";
    check_one(registers, code, false);
    let code = "either { { while $r = 0 do $r := 1 } or assume: $r = 1; BAD: nop }";
    check_one(registers, code, false);
    // Nor does a label there.
    let code = "either { L: $r := $r + 1; if $r < 2 then goto L or assume: $r = 1; BAD: nop }";
    check_one(registers, code, false);
}

#[test]
fn a_label_is_a_control_state_of_its_own() {
    // The second label is before the same step, but not the same state.
    let text = "forbidden A * ; * A data x = 0 process text B: { A: nop } process text A: nop";
    check(
        &text.replace("; * A", "; * *").replace("A * ", "B *"),
        "vvv",
    );
    let text = "forbidden OUT SEEN data x = 0
        process text goto IN; OUT: { IN: write: x := 1 }
        process text read: x = 1; SEEN: nop";
    check(text, "hhh");
    let text = "forbidden L * data x = 0 process text either { L: nop or M: nop } process text nop";
    check(text, "vvv");
}

#[test]
fn locked_blocks_are_all_or_nothing() {
    // Two counters that only a torn block can make unequal.
    let text = |block: &str| {
        format!(
            "forbidden * BAD data x = 0 : [0:2] y = 0 : [0:2]
             process text locked {{ write: x := 1; write: y := 1 }}; locked {{ write: x := 2; write: y := 2 }}
             process registers $a = 0 $b = 0
             text {block}; if $a != $b then BAD: nop"
        )
    };
    let torn = "read: $a := x; read: $b := y";
    check(&text(torn), "vvv");
    check(&text(&format!("locked {{ {torn} }}")), "hhh");
    check(&text(&format!("locked {{ {{ {torn} }} }}")), "hhh");
    check(
        &text(&format!("locked {{ locked {{ {torn} or {torn} }} }}")),
        "hhh",
    );
    // The alternative that cannot run to its end leaves nothing behind.
    let one = "data x = 0 process registers $r = 0";
    check_one(
        one,
        "locked { write: x := 1; read: x = 2 or nop }; read: x = 1; BAD: nop",
        false,
    );
    check_one(
        one,
        "locked { write: x := 1; read: x = 2 or nop }; read: x = 0; BAD: nop",
        true,
    );
    check_one(
        one,
        "locked { $r := 1; assume: $r = 2 or nop }; assume: $r = 0; BAD: nop",
        true,
    );
}

#[test]
fn macros_stand_for_processes_statements_expressions_and_numbers() {
    let text = "
        macro TWO() 2 endmacro
        macro ONE 1 endmacro
        macro set(v, e) write: v := e; fence endmacro
        macro inc(e) (e + ONE) endmacro
        macro wait(v) read: v[ZERO] = ZERO endmacro
        macro ZERO 0 endmacro
        macro dekker(name, f)
          process registers $r = ZERO text
          set(f[my], inc(inc($r))); wait(f); name: nop
        endmacro
        macro with_data(name)
          process data g = 0 registers $r = ZERO text set(g[my], TWO()); wait(g); name: nop
        endmacro
        forbidden CS CS
        with_data(CS) with_data(CS)";
    check(text, "hhh");
    check(&text.replace("; fence", ""), "hvv");
    check(
        &text
            .replace("forbidden", "macro P process endmacro forbidden")
            .replace("process data", "P data"),
        "hhh",
    );
    // Arguments may use the macro that they are given to.
    check_one(
        "process registers $r = 0",
        "macro inc(e) e + 1 endmacro $r := inc(inc(inc($r))); assume: $r = 3; BAD: nop",
        true,
    );
}

#[test]
fn spans_point_at_one_piece_of_text() {
    let text = "forbidden * data x = 0
        macro K 4 endmacro
        macro set(e) write: x := e endmacro
        process text set(1); write: x := K; set(K)";
    let program = parse(text);
    let spans = program.templates[0].cfg.edges.iter().map(|e| e.span);
    let pieces: Vec<&str> = spans.map(|span| program.source.slice(span)).collect();
    assert_eq!(pieces, ["write: x := e", "write: x := K", "write: x := e"]);
}

#[test]
fn forbidden_combinations() {
    let one = "process text A: nop; B: nop process text A: nop; B: read: x = 1; C: nop";
    let run = |forbidden: &str, expected: &str| {
        check(&format!("forbidden {forbidden} data x = 0 {one}"), expected);
    };
    run("A A", "vvv");
    run("B B", "vvv");
    run("* C", "hhh");
    run("A C ; B C", "hhh");
    run("A C ; B B", "vvv");
    run("* *", "vvv");
}

#[test]
fn predicates_become_hints() {
    let text = "forbidden CS CS
        predicates x < y ; $r <= x + 1 ; f[my] = 0 || not f[0] != 1 ; $other = 1
        data x = 0 y = 0
        process data f = 0 registers $r = 0 $other = 0 text CS: nop
        process data f = 0 registers $r = 0 text CS: nop";
    let program = parse(text);
    let shown = program.hints.iter();
    let shown: Vec<String> = shown
        .map(|h| program.show_prop_expr(&h.threads, &h.expr))
        .collect();
    assert_eq!(
        shown,
        [
            "x < y",
            "P0.$r <= x + 1",
            "P1.$r <= x + 1",
            "f[0] == 0 || f[1] == 1",
            "f[1] == 0 || f[0] == 1",
            "P0.$other == 1",
        ]
    );
}

#[test]
fn waiting_is_no_deadlock() {
    let deadlocks = |text: &str| {
        let program = palisade_program::Program {
            deadlock: true,
            ..parse(text)
        };
        let result = explore(&program, &Options::new(Model::Tso)).expect("can be explored");
        matches!(result.verdict, Verdict::Violated(_))
    };
    let text = "forbidden BAD * data x = 0 y = 0 : [0:5]
        process registers $r = 0 : [3:5] text read: x = 1; read: $r := y; END: nop; goto END; BAD: nop
        process text write: x := 1; write: y := 4";
    let text = text.replace("$r = 0", "$r = 3");
    assert!(!deadlocks(&text));
    assert!(deadlocks(&text.replace("read: x = 1", "assume: $r = 5")));
    assert!(!deadlocks(&text.replace(
        "read: x = 1",
        "either { read: x = 1 or read: x = 7 }"
    )));
}

#[test]
fn the_extension_chooses_the_language() {
    let text = "forbidden A process text A: nop";
    assert!(load(Path::new("t.rmm"), text).is_ok());
    assert!(load(Path::new("t.pal"), text).is_err());
}

#[test]
fn programs_can_be_printed_as_pal() {
    for text in [
        include_str!("../../../examples/rmm/peterson.rmm"),
        include_str!("../../../examples/rmm/array_lock.rmm"),
        include_str!("../../../examples/rmm/barrier.rmm"),
        include_str!("../../../examples/rmm/message.rmm"),
    ] {
        let program = parse(text);
        let printed = pal::print(&program);
        let again = pal::parse(Source::new("t.pal", printed.as_str()));
        let again = again.unwrap_or_else(|errors| panic!("{errors}\n{printed}"));
        for model in [Model::Sc, Model::Tso, Model::Pso] {
            let holds = |program: &Program| {
                let result = explore(program, &Options::new(model)).expect("can be explored");
                result.verdict == Verdict::Holds
            };
            assert_eq!(holds(&program), holds(&again.program), "{model}\n{printed}");
        }
    }
}
