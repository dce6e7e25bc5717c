//! Messages and collective calls of MPI. Random programs whose ranks all do the same calls on three communicators
//! (of all ranks, a copy, and a split) end with one result: the values that a simulation of the calls, rank by
//! rank on arrays, computes have to be asserted, and one that is off by one has to be refuted. What the
//! simulation leaves out (statuses of waits, probes, nobody as a rank) is in tables.
//!
//! `PALISADE_SOAK=n` runs n programs. `PALISADE_MPI=FOLDER` writes them there, for `mpicc` and `mpiexec`.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const VALUES: usize = 4;

fn run(file: &Path, words: &[&str], ranks: usize) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(words)
        .args(["--model", "rma", "-n", &ranks.to_string()])
        .arg(file)
        .output()
        .expect("palisade runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    (output.status.code(), text)
}

fn decided(text: &str, words: &[&str], ranks: usize, code: i32) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("t.c");
    std::fs::write(&file, text).expect("written");
    let (found, output) = run(&file, words, ranks);
    assert_eq!(found, Some(code), "{text}\n{output}");
}

fn program(body: &str) -> String {
    format!(
        "#include <assert.h>\n#include <mpi.h>\nint main(int argc, char **argv) {{\n\
         MPI_Init(&argc, &argv);\nint rank, size;\nMPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
         MPI_Comm_size(MPI_COMM_WORLD, &size);\n{body}MPI_Finalize();\nreturn 0;\n}}\n"
    )
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n as u64) as usize
    }
}

/// What all ranks do, on the communicator with that number.
#[derive(Clone, Copy, Debug)]
enum Call {
    Update {
        to: usize,
        from: usize,
    },
    Broadcast {
        on: usize,
        last: bool,
        at: usize,
    },
    Sum {
        on: usize,
        from: usize,
        to: usize,
        all: bool,
    },
    Gather {
        on: usize,
        from: usize,
        all: bool,
    },
    Scatter {
        on: usize,
        to: usize,
    },
    Exchange {
        on: usize,
    },
    /// From rank 0 to the last one, which writes what the status says.
    Message {
        on: usize,
        from: usize,
        to: usize,
        any: bool,
    },
}

fn call(random: &mut Random) -> Call {
    let (on, from) = (random.below(3), random.below(VALUES));
    let to = (from + 1 + random.below(VALUES - 1)) % VALUES;
    let choice = random.below(2) == 0;
    match random.below(7) {
        0 => Call::Update { to, from },
        1 => Call::Broadcast {
            on,
            last: choice,
            at: to,
        },
        2 => Call::Sum {
            on,
            from,
            to,
            all: choice,
        },
        3 => Call::Gather {
            on,
            from,
            all: choice,
        },
        4 => Call::Scatter { on, to },
        5 => Call::Exchange { on },
        _ => Call::Message {
            on,
            from,
            to,
            any: choice,
        },
    }
}

/// `v` are values, `w` those that collective calls collect.
fn text_of(call: Call) -> String {
    let int = "MPI_INT";
    match call {
        Call::Update { to, from } => format!("v[{to}] = 3 * v[{from}] + 1;"),
        Call::Broadcast { on, last, at } => {
            let root = if last {
                format!("s{on} - 1")
            } else {
                "0".to_owned()
            };
            format!("MPI_Bcast(v + {at}, 1, {int}, {root}, c{on});")
        }
        Call::Sum { on, from, to, all } => {
            let arguments = format!("v + {from}, v + {to}, 1, {int}, MPI_SUM");
            if all {
                format!("MPI_Allreduce({arguments}, c{on});")
            } else {
                format!("MPI_Reduce({arguments}, 0, c{on});")
            }
        }
        Call::Gather { on, from, all } => {
            let arguments = format!("v + {from}, 1, {int}, w, 1, {int}");
            if all {
                format!("MPI_Allgather({arguments}, c{on});")
            } else {
                format!("MPI_Gather({arguments}, s{on} - 1, c{on});")
            }
        }
        Call::Scatter { on, to } => {
            format!("MPI_Scatter(w, 1, {int}, v + {to}, 1, {int}, 0, c{on});")
        }
        Call::Exchange { on } => format!("MPI_Alltoall(v, 1, {int}, w, 1, {int}, c{on});"),
        Call::Message { on, from, to, any } => {
            let source = if any { "MPI_ANY_SOURCE" } else { "0" };
            format!(
                "if (s{on} > 1 && r{on} == 0) MPI_Send(v + {from}, 1, {int}, s{on} - 1, {to}, c{on});\n\
                 if (s{on} > 1 && r{on} == s{on} - 1) {{\nMPI_Status st;\n\
                 MPI_Recv(v + {to}, 1, {int}, {source}, MPI_ANY_TAG, c{on}, &st);\n\
                 v[{from}] += 10 * st.MPI_TAG + st.MPI_SOURCE;\n}}"
            )
        }
    }
}

/// The members of a communicator that a rank is in, in order.
fn members(on: usize, rank: usize, ranks: usize) -> Vec<usize> {
    match on {
        0 | 1 => (0..ranks).collect(),
        // The split: by parity, backwards.
        _ => (0..ranks).rev().filter(|r| r % 2 == rank % 2).collect(),
    }
}

#[derive(Clone)]
struct Rank {
    v: [i64; VALUES],
    w: [i64; VALUES],
}

/// One call of all ranks: each looks at what the others had before.
fn simulated(call: Call, before: &[Rank]) -> Vec<Rank> {
    let mut after = before.to_vec();
    for (rank, state) in after.iter_mut().enumerate() {
        let group = |on: usize| members(on, rank, before.len());
        match call {
            Call::Update { to, from } => state.v[to] = 3 * state.v[from] + 1,
            Call::Broadcast { on, last, at } => {
                let group = group(on);
                let root = if last {
                    group[group.len() - 1]
                } else {
                    group[0]
                };
                state.v[at] = before[root].v[at];
            }
            Call::Sum { on, from, to, all } => {
                let group = group(on);
                if all || group[0] == rank {
                    state.v[to] = group.iter().map(|r| before[*r].v[from]).sum();
                }
            }
            Call::Gather { on, from, all } => {
                let group = group(on);
                if all || group[group.len() - 1] == rank {
                    for (k, r) in group.iter().enumerate() {
                        state.w[k] = before[*r].v[from];
                    }
                }
            }
            Call::Scatter { on, to } => {
                let group = group(on);
                let own = group.iter().position(|r| *r == rank).expect("a member");
                state.v[to] = before[group[0]].w[own];
            }
            Call::Exchange { on } => {
                let group = group(on);
                let own = group.iter().position(|r| *r == rank).expect("a member");
                for (k, r) in group.iter().enumerate() {
                    state.w[k] = before[*r].v[own];
                }
            }
            Call::Message { on, from, to, .. } => {
                let group = group(on);
                if group.len() > 1 && group[group.len() - 1] == rank {
                    state.v[to] = before[group[0]].v[from];
                    state.v[from] += 10 * to as i64;
                }
            }
        }
    }
    after
}

fn whole(calls: &[Call], end: &[Rank]) -> String {
    let mut body = String::from(
        "MPI_Comm c0 = MPI_COMM_WORLD, c1, c2;\nint r0 = rank, s0 = size, r1, s1, r2, s2;\n\
         MPI_Comm_dup(MPI_COMM_WORLD, &c1);\nMPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &c2);\n\
         MPI_Comm_rank(c1, &r1);\nMPI_Comm_size(c1, &s1);\nMPI_Comm_rank(c2, &r2);\nMPI_Comm_size(c2, &s2);\n\
         int v[4] = {0}, w[4] = {0};\nfor (int i = 0; i < 4; i++) {\nv[i] = 10 * rank + i;\nw[i] = i;\n}\n",
    );
    for call in calls {
        let _ = writeln!(body, "{}", text_of(*call));
    }
    for (rank, state) in end.iter().enumerate() {
        let all = state.v.iter().enumerate();
        let all: Vec<_> = all.map(|(k, x)| format!("v[{k}] == {x}")).collect();
        let _ = writeln!(body, "if (rank == {rank}) assert({});", all.join(" && "));
    }
    program(&body)
}

#[test]
fn collective_calls_compute_what_a_simulation_does() {
    let wanted = std::env::var("PALISADE_SOAK").ok();
    let count: u64 = wanted.and_then(|n| n.parse().ok()).unwrap_or(8);
    for seed in 0..count {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1);
        let ranks = 2 + random.below(2);
        let calls: Vec<Call> = (0..=random.below(4)).map(|_| call(&mut random)).collect();
        let start = |rank: i64| Rank {
            v: [0, 1, 2, 3].map(|k| 10 * rank + k),
            w: [0, 1, 2, 3],
        };
        let mut state: Vec<Rank> = (0..ranks as i64).map(start).collect();
        for call in &calls {
            state = simulated(*call, &state);
        }
        let text = whole(&calls, &state);
        if let Some(folder) = std::env::var_os("PALISADE_MPI") {
            let name = format!("p{seed}_{ranks}.c");
            std::fs::write(Path::new(&folder).join(name), &text).expect("written");
        }
        decided(&text, &["explore"], ranks, 0);
        state[random.below(ranks)].v[random.below(VALUES)] += 1;
        decided(&whole(&calls, &state), &["explore"], ranks, 1);
    }
}

/// Bodies, how many ranks, and whether they hold.
#[test]
fn messages_have_statuses_and_communicators() {
    let receive = "if (rank == 1) {\nint x[2] = {3, 4};\nMPI_Send(x, 2, MPI_INT, 0, 9, MPI_COMM_WORLD);\n} else {\n\
                   int x[2], n = 0, there = 0;\nMPI_Status st;\nMPI_Request rq = MPI_REQUEST_NULL;\n";
    let probe = "MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st);\nMPI_Get_count(&st, MPI_INT, &n);\n\
                 MPI_Recv(x, n, MPI_INT, st.MPI_SOURCE, st.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n\
                 assert(n == 2 && x[1] == 4";
    let wait = "MPI_Irecv(x, 2, MPI_INT, 1, 9, MPI_COMM_WORLD, &rq);\nMPI_Wait(&rq, &st);\n\
                assert(st.MPI_SOURCE == 1 && st.MPI_TAG == 9";
    let looks = "while (!there) MPI_Iprobe(1, 9, MPI_COMM_WORLD, &there, &st);\n\
                 MPI_Recv(x, 2, MPI_INT, 1, 9, MPI_COMM_WORLD, &st);\nassert(st.MPI_TAG == 9";
    for part in [probe, wait, looks] {
        for (and, code) in [("", 0), (" && x[0] == 4", 1)] {
            let text = program(&format!("{receive}{part}{and});\n}}\n"));
            decided(&text, &["verify", "--check", "deadlock"], 2, code);
        }
    }
    // A look that sees nothing does not wait, and a test of a receive does not either.
    let before = "if (rank == 1) {\nint x = 1;\nMPI_Barrier(MPI_COMM_WORLD);\nMPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);\n\
                  } else {\nint x, done = 0;\nMPI_Request rq;\nMPI_Irecv(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &rq);\n\
                  MPI_Test(&rq, &done, MPI_STATUS_IGNORE);\nassert(!done);\nMPI_Barrier(MPI_COMM_WORLD);\n\
                  MPI_Wait(&rq, MPI_STATUS_IGNORE);\nassert(x == 1);\n}\n";
    decided(&program(before), &["verify", "--check", "deadlock"], 2, 0);
    // Messages of a copy do not meet those of the original; barriers of two communicators neither.
    let copies = |first: &str, second: &str| {
        program(&format!(
            "MPI_Comm other;\nMPI_Comm_dup(MPI_COMM_WORLD, &other);\nint a = 1, b = 2, x, y;\nif (rank == 0) {{\n\
             MPI_Send(&a, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);\nMPI_Send(&b, 1, MPI_INT, 1, 0, other);\n}} else {{\n\
             MPI_Recv(&x, 1, MPI_INT, 0, 0, {first}, MPI_STATUS_IGNORE);\n\
             MPI_Recv(&y, 1, MPI_INT, 0, 0, {second}, MPI_STATUS_IGNORE);\nassert(x == 2 && y == 1);\n}}\n"
        ))
    };
    decided(&copies("other", "MPI_COMM_WORLD"), &["verify"], 2, 0);
    decided(&copies("MPI_COMM_WORLD", "other"), &["verify"], 2, 1);
    let crossed = "MPI_Comm other;\nMPI_Comm_dup(MPI_COMM_WORLD, &other);\n\
                   MPI_Barrier(rank ? MPI_COMM_WORLD : other);\nMPI_Barrier(rank ? other : MPI_COMM_WORLD);\n";
    decided(&program(crossed), &["verify", "--check", "deadlock"], 2, 1);
}

/// Nobody is a rank that nothing goes to; with and without a look at races.
#[test]
fn nobody_receives_nothing() {
    let put = "int *base, x = 7;\nMPI_Win win;\n\
               MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);\n\
               *base = 0;\nMPI_Win_fence(0, win);\nint right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;\n\
               MPI_Put(&x, 1, MPI_INT, right, 0, 1, MPI_INT, win);\nMPI_Win_fence(0, win);\n\
               assert(*base == (rank == 0 ? 0 : 7));\nMPI_Win_free(&win);\n";
    let wrong = put.replace("? 0 : 7", "? 7 : 0");
    for check in [&["verify"][..], &["verify", "--check", "races"]] {
        decided(&program(put), check, 2, 0);
        decided(&program(&wrong), check, 2, 1);
    }
    let outside = put.replace("MPI_PROC_NULL", "size");
    decided(&program(&outside), &["verify"], 2, 1);
}

/// Bodies for two ranks, with exit codes: of `verify`, and of `verify --check deadlock`.
#[test]
fn sends_receives_and_collective_calls_wait_as_mpi_says() {
    let rows = [
        // A send waits for a receive that is called, not for its end.
        (
            "int o = 1 - rank, a = rank + 5, b = 0;\nMPI_Request q;\nMPI_Irecv(&b, 1, MPI_INT, o, 0, MPI_COMM_WORLD, &q);\n\
          MPI_Send(&a, 1, MPI_INT, o, 0, MPI_COMM_WORLD);\nMPI_Wait(&q, MPI_STATUS_IGNORE);\nassert(b == o + 5);\n",
            0,
            0,
        ),
        (
            "int o = 1 - rank, a = 5, b = 0;\nMPI_Request q;\nMPI_Irecv(&b, 1, MPI_INT, o, 0, MPI_COMM_WORLD, &q);\n\
          MPI_Ssend(&a, 1, MPI_INT, o, 0, MPI_COMM_WORLD);\nMPI_Wait(&q, MPI_STATUS_IGNORE);\nassert(b == 6);\n",
            1,
            1,
        ),
        // The message of an open receive is not one that a probe sees.
        (
            "int a = 1, b, c;\nMPI_Request q;\nMPI_Status st;\nif (rank == 0) MPI_Send(&a, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);\n\
          else {\nMPI_Irecv(&b, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &q);\nMPI_Iprobe(0, 5, MPI_COMM_WORLD, &c, &st);\n\
          assert(c == 0);\nMPI_Wait(&q, &st);\n}\n",
            3,
            3,
        ),
        // Both parts of MPI_Sendrecv may have to end.
        (
            "int a = 1, b;\nif (rank == 0) MPI_Sendrecv(&a, 1, MPI_INT, 1, 0, &b, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n\
          else MPI_Send(&a, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);\n",
            0,
            1,
        ),
        // A collective call may wait for all.
        (
            "int a = 1, b = 0;\nif (rank == 0) {\nMPI_Bcast(&a, 1, MPI_INT, 0, MPI_COMM_WORLD);\n\
          MPI_Ssend(&a, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);\n} else {\n\
          MPI_Recv(&b, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\nMPI_Bcast(&a, 1, MPI_INT, 0, MPI_COMM_WORLD);\n}\n",
            0,
            1,
        ),
        // Collective calls are made in one order, with one root and one operation.
        (
            "int a = 1, b = 2;\nMPI_Bcast(rank ? &b : &a, 1, MPI_INT, rank, MPI_COMM_WORLD);\n\
          MPI_Bcast(rank ? &a : &b, 1, MPI_INT, 1 - rank, MPI_COMM_WORLD);\n",
            1,
            1,
        ),
        (
            "int a = 1;\nif (rank == 0) {\nMPI_Bcast(&a, 1, MPI_INT, 0, MPI_COMM_WORLD);\nMPI_Barrier(MPI_COMM_WORLD);\n} else {\n\
          MPI_Barrier(MPI_COMM_WORLD);\nMPI_Bcast(&a, 1, MPI_INT, 0, MPI_COMM_WORLD);\n}\n",
            1,
            1,
        ),
        (
            "int a = 3, b;\nMPI_Op op = MPI_SUM;\nif (rank == 0) MPI_Reduce(&a, &b, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);\n\
          else MPI_Reduce(&a, &b, 1, MPI_INT, MPI_PROD, 0, MPI_COMM_WORLD);\n",
            1,
            1,
        ),
        (
            "int a = 3, b;\nMPI_Reduce(&a, &b, 1, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);\nMPI_Bcast(&b, 1, MPI_INT, 1, MPI_COMM_WORLD);\n\
          MPI_Barrier(MPI_COMM_WORLD);\nassert(b == 6);\n",
            0,
            0,
        ),
        // A fence is no barrier of the ranks' communicator.
        (
            "static int g[2];\nMPI_Win w;\nMPI_Win_create(g, sizeof g, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &w);\n\
          if (rank == 0) {\nMPI_Win_fence(0, w);\nMPI_Barrier(MPI_COMM_WORLD);\n} else {\n\
          MPI_Barrier(MPI_COMM_WORLD);\nMPI_Win_fence(0, w);\n}\nassert(0);\n",
            0,
            1,
        ),
        // Forms of messages.
        (
            "int v[4] = {1, 2, 3, 4}, n;\nMPI_Status st;\nMPI_Datatype t;\nMPI_Type_contiguous(2, MPI_INT, &t);\nMPI_Type_commit(&t);\n\
          if (rank == 0) MPI_Send(v, 2, MPI_INT, 1, 0, MPI_COMM_WORLD);\nelse {\nint w[4] = {0, 0, 7, 7};\n\
          MPI_Recv(w, 4, MPI_INT, 0, 0, MPI_COMM_WORLD, &st);\nMPI_Get_count(&st, MPI_INT, &n);\nassert(n == 2 && w[1] == 2 && w[2] == 7);\n\
          MPI_Get_count(&st, MPI_BYTE, &n);\nassert(n == 8);\nMPI_Get_count(&st, t, &n);\nassert(n == 1);\n}\n",
            0,
            0,
        ),
        (
            "int v[4] = {0};\nif (rank == 0) MPI_Send(v, 4, MPI_INT, 1, 0, MPI_COMM_WORLD);\n\
          else MPI_Recv(v, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n",
            1,
            1,
        ),
        (
            "long l = 1;\nint i;\nif (rank == 0) MPI_Send(&l, 1, MPI_LONG, 1, 0, MPI_COMM_WORLD);\n\
          else MPI_Recv(&i, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n",
            3,
            3,
        ),
        // Nobody has a status.
        (
            "int v, n;\nMPI_Status st;\nMPI_Request q;\nint left = rank ? rank - 1 : MPI_PROC_NULL;\n\
          int right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;\n\
          MPI_Sendrecv(&rank, 1, MPI_INT, right, 0, &v, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &st);\n\
          assert(st.MPI_SOURCE == left);\nMPI_Irecv(&v, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q);\nMPI_Wait(&q, &st);\n\
          MPI_Get_count(&st, MPI_INT, &n);\nassert(n == 0 && st.MPI_SOURCE == MPI_PROC_NULL && st.MPI_TAG == MPI_ANY_TAG);\n",
            0,
            0,
        ),
    ];
    for (body, plain, deadlock) in rows {
        decided(&program(body), &["verify"], 2, plain);
        decided(
            &program(body),
            &["verify", "--check", "deadlock"],
            2,
            deadlock,
        );
    }
}

/// A call in a function that is called twice is two receives; which of them was called is known where it is waited for.
#[test]
fn one_call_may_be_several_receives() {
    let text = "#include <assert.h>\n#include <mpi.h>\nint g, h;\n\
                static void post(int *to, int from, MPI_Request *q) {\n\
                MPI_Irecv(to, 1, MPI_INT, from, 0, MPI_COMM_WORLD, q);\n}\nint main(int argc, char **argv) {\nMPI_Init(&argc, &argv);\n\
                int rank, a;\nMPI_Request q;\nMPI_Status s;\nMPI_Comm_rank(MPI_COMM_WORLD, &rank);\nif (rank == 0) {\n\
                MPI_Recv(&a, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &s);\n\
                if (s.MPI_SOURCE == 1) post(&g, 2, &q); else post(&h, 1, &q);\nMPI_Wait(&q, &s);\n\
                assert(a == 1 ? g == 2 && h == 0 : h == 1 && g == 0);\n} else MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);\n\
                MPI_Finalize();\n}\n";
    decided(text, &["verify"], 3, 0);
    // The status is that of the receive that was waited for.
    let status = text.replace(
        "assert(a == 1 ?",
        "assert(s.MPI_SOURCE == 3 - a && s.MPI_TAG == 0);\nassert(a == 1 ?",
    );
    decided(&status, &["verify"], 3, 0);
    let wrong = text.replace("g == 2 && h == 0", "g == 0 && h == 2");
    decided(&wrong, &["verify"], 3, 1);
}

/// Of several requests some are complete: bodies for three ranks, of which rank 0 receives from the others, with exit codes of `verify` and of
/// `verify --check deadlock`.
#[test]
fn one_of_several_requests_is_completed() {
    let open = "int b[3] = {0, 0, 0}, i = 9, flag = 9, out = 9, at[2] = {9, 9};\nMPI_Request q[2];\nMPI_Status st;\nif (rank) {\n\
                MPI_Send(&rank, 1, MPI_INT, 0, rank, MPI_COMM_WORLD);\n} else {\n\
                MPI_Irecv(&b[1], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &q[0]);\nMPI_Irecv(&b[2], 1, MPI_INT, 2, 2, MPI_COMM_WORLD, &q[1]);\n";
    let any = "MPI_Waitany(2, q, &i, &st);\nassert(st.MPI_SOURCE == i + 1 && b[i + 1] == i + 1);\n";
    let both = "MPI_Waitany(2, q, &i, &st);\nint first = i;\nMPI_Waitany(2, q, &i, &st);\nassert(i == 1 - first && b[1] + b[2] == 3);\n\
                MPI_Waitany(2, q, &i, &st);\nassert(i == MPI_UNDEFINED && st.MPI_SOURCE == MPI_ANY_SOURCE);\n";
    let some = "MPI_Waitsome(2, q, &out, at, MPI_STATUSES_IGNORE);\nassert(out == 1 || out == 2 && at[0] == 0 && at[1] == 1);\n\
                for (int k = 0; k < 2; k++) if (k < out) assert(b[at[k] + 1] == at[k] + 1);\n";
    let test_any = "MPI_Testany(2, q, &i, &flag, &st);\nassert(flag ? i == 0 || i == 1 : i == MPI_UNDEFINED);\n";
    let test_all = "MPI_Testall(2, q, &flag, MPI_STATUSES_IGNORE);\nif (flag) assert(b[1] == 1 && b[2] == 2 && q[0] == MPI_REQUEST_NULL);\n";
    let rest = "MPI_Waitall(2, q, MPI_STATUSES_IGNORE);\nassert(b[1] == 1 && b[2] == 2);\n}\n";
    let is_first = "assert(i == 0);\n";
    let rows = [
        (format!("{any}{rest}"), 0, 0),
        (format!("{any}{is_first}{rest}"), 1, 1),
        (format!("{both}{rest}"), 0, 0),
        (format!("{some}{rest}"), 0, 0),
        (format!("{some}assert(out == 1);\n{rest}"), 1, 1),
        (format!("{some}assert(out == 2);\n{rest}"), 1, 1),
        (format!("{test_any}{rest}"), 0, 0),
        (format!("{test_any}assert(!flag);\n{rest}"), 1, 1),
        (format!("{test_all}{rest}"), 0, 0),
        (format!("{test_all}assert(!flag);\n{rest}"), 1, 1),
        // The second message never comes.
        (
            format!(
                "{}{rest}",
                any.replace("MPI_Waitany", "MPI_Barrier(MPI_COMM_SELF);\nMPI_Waitany")
            ),
            0,
            0,
        ),
    ];
    for (body, plain, deadlock) in rows {
        let text = program(&format!("{open}{body}"));
        decided(&text, &["explore"], 3, plain);
        decided(&text, &["explore", "--check", "deadlock"], 3, deadlock);
    }
    let missing = program(&format!("{open}{any}{any}{rest}"))
        .replace("if (rank) {", "if (rank == 2) {\n} else if (rank) {");
    decided(&missing, &["explore", "--check", "deadlock"], 3, 1);
}

/// `MPI_IN_PLACE`, `MPI_Win_test`, and sends whose wait may wait for the receive: bodies for two ranks with exit codes of `verify` and
/// of `verify --check deadlock`.
#[test]
fn buffers_in_place_and_tests_of_windows() {
    let rows = [
        (
            "int a[2] = {rank + 1, 5};\nMPI_Allreduce(MPI_IN_PLACE, a, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\nassert(a[0] == 3);\n\
          MPI_Reduce(rank ? a : MPI_IN_PLACE, a, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);\nif (!rank) assert(a[0] == 6);\n",
            0,
            0,
        ),
        (
            "int a = rank;\nvoid *from = MPI_IN_PLACE;\nMPI_Allreduce(from, &a, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\n",
            2,
            2,
        ),
        (
            "int a[2] = {rank + 1, 5};\nMPI_Allreduce(MPI_IN_PLACE, a, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\n\
          assert(a[0] == 3 && a[1] == 10);\n",
            0,
            0,
        ),
        (
            "int a = rank + 1;\nif (rank) MPI_Reduce(&a, 0, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);\n\
          else {\nMPI_Reduce(MPI_IN_PLACE, &a, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);\nassert(a == 3);\n}\n",
            0,
            0,
        ),
        (
            "int a[2] = {7, 8};\na[rank] = rank + 1;\nMPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, a, 1, MPI_INT, MPI_COMM_WORLD);\n\
          assert(a[0] == 1 && a[1] == 2);\n",
            0,
            0,
        ),
        (
            "int a[2] = {10 * rank, 10 * rank + 1};\nMPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, a, 1, MPI_INT, MPI_COMM_WORLD);\n\
          assert(a[0] == rank && a[1] == 10 + rank);\n",
            0,
            0,
        ),
        (
            "int a[2] = {7, 8}, b = 3;\nif (rank) MPI_Gather(&b, 1, MPI_INT, 0, 0, MPI_INT, 0, MPI_COMM_WORLD);\nelse {\n\
          MPI_Gather(MPI_IN_PLACE, 0, MPI_INT, a, 1, MPI_INT, 0, MPI_COMM_WORLD);\nassert(a[0] == 7 && a[1] == 3);\n}\n\
          if (rank) {\nMPI_Scatter(0, 0, MPI_INT, &b, 1, MPI_INT, 0, MPI_COMM_WORLD);\nassert(b == 3);\n} else\n\
          MPI_Scatter(a, 1, MPI_INT, MPI_IN_PLACE, 0, MPI_INT, 0, MPI_COMM_WORLD);\n",
            0,
            0,
        ),
        (
            "int o = 1 - rank, a = 5, b = 0;\nMPI_Request q;\nMPI_Isend(&a, 1, MPI_INT, o, 0, MPI_COMM_WORLD, &q);\n\
          MPI_Recv(&b, 1, MPI_INT, o, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\nMPI_Wait(&q, MPI_STATUS_IGNORE);\nassert(b == 5);\n",
            0,
            0,
        ),
        (
            "int o = 1 - rank, a = 5, b = 0;\nMPI_Request q;\nMPI_Isend(&a, 1, MPI_INT, o, 0, MPI_COMM_WORLD, &q);\n\
          MPI_Wait(&q, MPI_STATUS_IGNORE);\nMPI_Recv(&b, 1, MPI_INT, o, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n",
            0,
            1,
        ),
        (
            "static int g;\nint x = 1, flag = 0, other = 1 - rank;\nMPI_Win w;\nMPI_Group all, one;\n\
          MPI_Win_create(&g, sizeof g, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &w);\nMPI_Comm_group(MPI_COMM_WORLD, &all);\n\
          MPI_Group_incl(all, 1, &other, &one);\nif (rank == 0) {\nMPI_Win_start(one, 0, w);\nMPI_Put(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, w);\n\
          MPI_Win_complete(w);\n} else {\nMPI_Win_post(one, 0, w);\nMPI_Win_test(w, &flag);\nif (flag) assert(g == 1);\n\
          else {\nMPI_Win_wait(w);\nassert(g == 1);\n}\n}\n",
            0,
            0,
        ),
    ];
    for (body, plain, deadlock) in rows {
        decided(&program(body), &["verify"], 2, plain);
        decided(
            &program(body),
            &["verify", "--check", "deadlock"],
            2,
            deadlock,
        );
    }
}

/// Where a run is not followed nobody waits for ever: rank 1 receives while another receive is open.
#[test]
fn a_run_that_is_not_followed_is_no_deadlock() {
    let body = "int a = 1, b, c;\nMPI_Request q;\nif (rank == 0) {\nMPI_Ssend(&a, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);\n\
                MPI_Ssend(&a, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);\n} else {\nMPI_Irecv(&b, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &q);\n\
                MPI_Recv(&c, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\nMPI_Wait(&q, MPI_STATUS_IGNORE);\n}\n";
    for command in ["explore", "verify"] {
        decided(&program(body), &[command, "--check", "deadlock"], 2, 3);
    }
}
