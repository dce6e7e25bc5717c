//! Remote races and wrong epochs of MPI, OpenSHMEM and GASPI programs: pairs of programs that differ in one call,
//! of which one is right. Both the machine (`explore`) and the engines (`verify`) are asked, and what is right is
//! certified.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

fn has_compiler() -> bool {
    Command::new("cc").arg("--version").output().is_ok()
}

fn palisade(words: &[&str], file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(words)
        .arg(file)
        .output()
        .expect("palisade runs")
}

/// What a program is: right, or wrong in this way (`property.kind`), or not followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expected {
    Holds,
    Violated(&'static str),
    Unknown,
}
use Expected::{Holds, Unknown, Violated};

const RACE: Expected = Violated("remote-race");
const EPOCH: Expected = Violated("epoch-misuse");

fn kind_of(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let key = "\"kind\": \"";
    let start = text.find(key).map(|at| at + key.len());
    start.map_or(text.clone(), |at| {
        text[at..].split('"').next().unwrap_or_default().to_owned()
    })
}

fn check(folder: &TempDir, text: &str, ranks: &str, expected: Expected) {
    let file = folder.path().join("t.c");
    fs::write(&file, text).expect("written");
    for command in ["explore", "verify"] {
        let words = [
            command, "--check", "races", "--model", "rma", "-n", ranks, "--json",
        ];
        let output = palisade(&words, &file);
        let errors = String::from_utf8_lossy(&output.stderr);
        let context = format!("{command}: {text}\n{errors}");
        let code = output.status.code();
        match expected {
            Holds => assert_eq!(code, Some(0), "{context}"),
            Violated(kind) => {
                assert_eq!(code, Some(1), "{context}");
                assert_eq!(kind_of(&output), kind, "{context}");
            }
            Unknown => assert_eq!(code, Some(3), "{context}"),
        }
        if (command, expected) == ("verify", Holds) {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains("\"certified\": true"), "{context}");
        }
    }
}

/// Two ranks with a window of two ints each; `zero` and `one` are what they do.
fn mpi(zero: &str, one: &str) -> String {
    format!(
        "#include <mpi.h>\n#include <stdio.h>\n\nint main(int argc, char **argv) {{\n\
         int rank, x = 1, y = 2, token = 0;\nint w[2] = {{0, 0}};\nMPI_Win win;\n\
         MPI_Group all, group;\nMPI_Request request;\nconst int other[1] = {{1}}, first[1] = {{0}};\n\
         MPI_Init(&argc, &argv);\nMPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
         MPI_Comm_group(MPI_COMM_WORLD, &all);\n\
         MPI_Win_create(w, 2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);\n\
         if (rank == 0) {{ {zero} }} else {{ {one} }}\n\
         MPI_Win_free(&win);\nMPI_Finalize();\nreturn 0;\n}}\n"
    )
}

const PUT: &str = "MPI_Put(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, win);";
const GET: &str = "MPI_Get(&y, 1, MPI_INT, 1, 0, 1, MPI_INT, win);";
const LOCK: &str = "MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);";
const SHARED: &str = "MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);";
const UNLOCK: &str = "MPI_Win_unlock(1, win);";
const FLUSH: &str = "MPI_Win_flush(1, win);";
const LOCAL: &str = "MPI_Win_flush_local(1, win);";
const BARRIER: &str = "MPI_Barrier(MPI_COMM_WORLD);";
const FENCE: &str = "MPI_Win_fence(0, win);";
const LOAD: &str = "printf(\"%d\", w[0]);";
const OTHER_LOAD: &str = "printf(\"%d\", w[1]);";
const SUM: &str = "MPI_Accumulate(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);";
const PRODUCT: &str = "MPI_Accumulate(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_PROD, win);";
const READ: &str =
    "MPI_Get_accumulate(NULL, 0, MPI_INT, &y, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_NO_OP, win);";
const SEND: &str = "MPI_Send(&token, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);";
const RECEIVE: &str = "MPI_Recv(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);";
const RGET: &str = "MPI_Rget(&y, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request);";
const WAIT: &str = "MPI_Wait(&request, MPI_STATUS_IGNORE);";
const USE: &str = "y = y + 1;";

#[test]
fn remote_races_of_mpi() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let row = |zero: &[&str], one: &[&str], expected| {
        check(&folder, &mpi(&zero.concat(), &one.concat()), "2", expected);
    };
    // The target: completion and synchronisation, in this order.
    row(&[LOCK, PUT, UNLOCK, BARRIER], &[BARRIER, LOAD], Holds);
    row(&[LOCK, PUT, BARRIER, UNLOCK], &[BARRIER, LOAD], RACE);
    row(&[LOCK, PUT, BARRIER, UNLOCK], &[BARRIER, OTHER_LOAD], Holds);
    row(&[LOCK, PUT, UNLOCK, SEND], &[RECEIVE, LOAD], Holds);
    row(&[LOCK, PUT, SEND, UNLOCK], &[RECEIVE, LOAD], RACE);
    row(&[LOCK, PUT, LOCAL, SEND, UNLOCK], &[RECEIVE, LOAD], RACE);
    row(&[FENCE, PUT, FENCE], &[FENCE, FENCE, LOAD], Holds);
    row(&[FENCE, PUT, FENCE], &[FENCE, LOAD, FENCE], RACE);
    row(&[FENCE, GET, FENCE], &[FENCE, LOAD, FENCE], Holds);
    // Locks exclude each other, shared ones do not.
    row(&[LOCK, PUT, UNLOCK], &[LOCK, PUT, UNLOCK], Holds);
    row(&[SHARED, PUT, UNLOCK], &[SHARED, PUT, UNLOCK], RACE);
    row(&[LOCK, PUT, PUT, UNLOCK], &[], RACE);
    row(&[LOCK, PUT, FLUSH, PUT, UNLOCK], &[], Holds);
    // The origin.
    row(&[LOCK, GET, UNLOCK, USE], &[], Holds);
    row(&[LOCK, GET, USE, UNLOCK], &[], RACE);
    row(&[LOCK, PUT, LOCAL, "x = 3;", UNLOCK], &[], Holds);
    row(&[LOCK, PUT, "x = 3;", UNLOCK], &[], RACE);
    row(&[LOCK, RGET, WAIT, USE, UNLOCK], &[], Holds);
    row(&[LOCK, RGET, USE, WAIT, UNLOCK], &[], RACE);
    // Atomic operations of one kind may meet.
    row(&[SHARED, SUM, UNLOCK], &[SHARED, SUM, UNLOCK], Holds);
    row(&[SHARED, SUM, UNLOCK], &[SHARED, READ, UNLOCK], Holds);
    row(&[SHARED, SUM, UNLOCK], &[SHARED, PRODUCT, UNLOCK], RACE);
    row(&[SHARED, SUM, UNLOCK], &[SHARED, PUT, UNLOCK], RACE);
    row(&[SHARED, SUM, UNLOCK], &[LOAD], RACE);
    // A call of a loop may be under way four times, and more often is not followed.
    let several = |times: u32| {
        format!(
            "for (int i = 0; i < {times}; i++) {{ MPI_Accumulate(&x, 1, MPI_INT, 1, i % 2, 1, MPI_INT, MPI_SUM, win); }}"
        )
    };
    row(&[LOCK, &several(2), UNLOCK], &[], Holds);
    row(&[LOCK, &several(6), UNLOCK], &[], Unknown);
    row(&[LOCK, &several(2), UNLOCK], &[LOAD], RACE);
}

#[test]
fn epochs_of_mpi() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let row = |zero: &[&str], one: &[&str], expected| {
        check(&folder, &mpi(&zero.concat(), &one.concat()), "2", expected);
    };
    row(&[PUT], &[], EPOCH);
    row(&[LOCK, UNLOCK, PUT], &[], EPOCH);
    row(&[FLUSH], &[], EPOCH);
    row(&[LOCK, FLUSH, UNLOCK], &[], Holds);
    row(&[UNLOCK], &[], EPOCH);
    row(&[LOCK, LOCK], &[], EPOCH);
    row(&["MPI_Win_complete(win);"], &[], EPOCH);
    row(&["MPI_Win_wait(win);"], &[], EPOCH);
    let start = "MPI_Group_incl(all, 1, other, &group); MPI_Win_start(group, 0, win);";
    let complete = "MPI_Win_complete(win);";
    let post = "MPI_Group_incl(all, 1, first, &group); MPI_Win_post(group, 0, win);";
    let wait = "MPI_Win_wait(win);";
    row(&[start, PUT, complete], &[post, wait, LOAD], Holds);
    row(&[start, PUT, complete], &[post, LOAD, wait], RACE);
    row(&[start, PUT, complete, PUT], &[post, wait], EPOCH);
}

/// The wrong examples get the calls that they miss, and no fewer would do.
#[test]
fn missing_completion_is_found() {
    if !has_compiler() {
        return;
    }
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (file, ranks, line) in [
        ("shmem/notify_unfenced.c", "2", "+        shmem_fence();"),
        ("shmem/counter_synced.c", "2", "+    shmem_quiet();"),
        (
            "mpi/hash_insert_early.c",
            "2",
            // The result of a compare-and-swap is there when it is complete at the own side.
            "+    MPI_Win_flush_local(0, win);",
        ),
        ("mpi/token_early.c", "3", "+        MPI_Win_flush(1, win);"),
        ("mpi/broadcast_early.c", "3", "+    MPI_Win_flush_all(win);"),
        (
            "gaspi/buffer_reused.c",
            "2",
            "+        gaspi_wait(0, GASPI_BLOCK);",
        ),
        (
            "mpi/buffer_reused.c",
            "2",
            "+    MPI_Win_flush_local(0, win);",
        ),
    ] {
        let words = ["fence", "--model", "rma", "--diff", "-n", ranks];
        let output = palisade(&words, &examples.join(file));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{file}: {text}");
        assert!(text.contains("minimum: proved"), "{file}: {text}");
        assert!(text.contains("(certified)"), "{file}: {text}");
        let added = text.lines().filter(|l| l.starts_with("+ "));
        assert_eq!(added.collect::<Vec<_>>(), [line], "{file}: {text}");
    }
    // Where a flush of all ranks is expensive, two of one rank each are taken.
    let folder = tempfile::tempdir().expect("a folder");
    let costs = folder.path().join("costs");
    std::fs::write(&costs, "flush_all 100\n").expect("a file");
    let words = ["fence", "--model", "rma", "--diff", "-n", "3", "--cost"];
    let words: Vec<&str> = words.into_iter().chain(costs.to_str()).collect();
    let output = palisade(&words, &examples.join("mpi/broadcast_early.c"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let added = text.lines().filter(|l| l.starts_with("+ "));
    let both = ["+    MPI_Win_flush(1, win);", "+    MPI_Win_flush(2, win);"];
    assert_eq!(added.collect::<Vec<_>>(), both, "{text}");
    // The lock of two ranks: who has got it is known at the own side; what is written under it has to arrive.
    let output = palisade(
        &["fence", "--model", "rma", "--diff", "-n", "2"],
        &examples.join("mpi/cas_lock_early.c"),
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("minimum: proved"), "{text}");
    let added = text.lines().filter(|l| l.starts_with("+ "));
    let both = [
        "+    MPI_Win_flush_local(0, win);",
        "+  MPI_Win_flush(0, win);",
    ];
    assert_eq!(added.collect::<Vec<_>>(), both, "{text}");
    // A shared lock where an exclusive one is needed: no flush helps.
    let words = ["fence", "--model", "rma", "-n", "2"];
    let output = palisade(&words, &examples.join("mpi/counter_shared.c"));
    assert_eq!(output.status.code(), Some(3));
}

/// Two PEs.
fn shmem(zero: &str, one: &str) -> String {
    format!(
        "#include <shmem.h>\n#include <stdio.h>\n\nstatic int a[2], flag;\n\nint main(void) {{\n\
         int x = 1, y[2] = {{5, 6}};\nshmem_init();\n\
         if (shmem_my_pe() == 0) {{ {zero} }} else {{ {one} }}\n\
         shmem_finalize();\nreturn 0;\n}}\n"
    )
}

#[test]
fn remote_races_of_openshmem() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let row = |zero: &[&str], one: &[&str], expected| {
        check(
            &folder,
            &shmem(&zero.concat(), &one.concat()),
            "2",
            expected,
        );
    };
    let put = "shmem_int_put(&a[0], &x, 1, 1);";
    let two = "shmem_int_put(a, y, 2, 1);";
    let put_nbi = "shmem_int_put_nbi(&a[0], &x, 1, 1);";
    let get = "shmem_int_get(&x, &a[0], 1, 1);";
    let (quiet, fence) = ("shmem_quiet();", "shmem_fence();");
    let (barrier, sync) = ("shmem_barrier_all();", "shmem_sync_all();");
    let load = "printf(\"%d\", a[0]);";
    let set = "shmem_int_atomic_set(&flag, 1, 1);";
    let p = "shmem_int_p(&flag, 1, 1);";
    let wait = "shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 1);";
    row(&[put, barrier], &[barrier, load], Holds);
    row(&[put, sync], &[sync, load], RACE);
    row(&[put, quiet, sync], &[sync, load], Holds);
    row(&[put, put], &[], RACE);
    row(&[put, fence, put], &[], Holds);
    row(&[put, fence, get], &[], RACE);
    row(&[put, quiet, get], &[], Holds);
    row(&[put, "x = 2;"], &[], Holds);
    row(&[put_nbi, "x = 2;"], &[], RACE);
    row(&[put_nbi, quiet, "x = 2;"], &[], Holds);
    // A flag behind a fence, and without one.
    for flag in [set, p] {
        row(&[put, fence, flag], &[wait, load], Holds);
        row(&[put, flag], &[wait, load], RACE);
        row(&[two, fence, flag], &[wait, load], Holds);
        row(&[two, flag], &[wait, load], RACE);
    }
    row(&[put, fence, set], &["while (flag != 1) ;", load], RACE);
    // A wait for what is not delivered by itself.
    let wait_two = "shmem_int_wait_until(&a[1], SHMEM_CMP_EQ, 6);";
    row(&[two], &[wait_two], Unknown);
    // Memory that is not symmetric.
    row(
        &["shmem_int_put(&x, &y[0], 1, 1);"],
        &[],
        Violated("language"),
    );
}

/// A function that is called twice has its operations twice: a fence orders those of its own call.
#[test]
fn functions_of_openshmem_that_are_called_twice() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let text = |fence: &str| {
        format!(
            "#include <shmem.h>\n#include <assert.h>\n\nstatic int box[2], flag[2];\n\n\
             static void send(int to, int v) {{\nint me = shmem_my_pe();\n\
             shmem_int_put(&box[me], &v, 1, to);\n{fence}\nshmem_int_p(&flag[me], 1, to);\n}}\n\n\
             int main(void) {{\nshmem_init();\nint me = shmem_my_pe(), other = 1 - me;\n\
             send(other, me + 10);\nshmem_int_wait_until(&flag[other], SHMEM_CMP_EQ, 1);\n\
             assert(box[other] == other + 10);\nshmem_barrier_all();\nflag[other] = 0;\n\
             shmem_barrier_all();\nsend(other, me + 20);\n\
             shmem_int_wait_until(&flag[other], SHMEM_CMP_EQ, 1);\n\
             assert(box[other] == other + 20);\nshmem_finalize();\nreturn 0;\n}}\n"
        )
    };
    check(&folder, &text("shmem_fence();"), "2", Holds);
    check(&folder, &text(""), "2", RACE);
}

/// Two ranks of GASPI, each with a segment of four ints.
fn gaspi(zero: &str, one: &str) -> String {
    format!(
        "#include <GASPI.h>\n#include <stdio.h>\n\nint main(void) {{\n\
         gaspi_rank_t rank;\ngaspi_pointer_t memory;\ngaspi_notification_id_t first;\n\
         gaspi_notification_t value;\ngaspi_atomic_value_t old;\ngaspi_proc_init(GASPI_BLOCK);\n\
         gaspi_proc_rank(&rank);\n\
         gaspi_segment_create(0, 4 * sizeof(int), GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED);\n\
         gaspi_segment_create(1, 8, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED);\n\
         gaspi_segment_ptr(0, &memory);\nint *s = (int *)memory;\n\
         if (rank == 0) {{ {zero} }} else {{ {one} }}\n\
         gaspi_proc_term(GASPI_BLOCK);\nreturn 0;\n}}\n"
    )
}

#[test]
fn remote_races_of_gaspi() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let row = |zero: &[&str], one: &[&str], expected| {
        let text = gaspi(&zero.concat(), &one.concat());
        check(&folder, &text, "2", expected);
    };
    let write = "gaspi_write(0, 0, 1, 0, 4, 4, 0, GASPI_BLOCK);";
    let read = "gaspi_read(0, 0, 1, 0, 4, 4, 0, GASPI_BLOCK);";
    let notify = "gaspi_notify(0, 1, 0, 1, 0, GASPI_BLOCK);";
    let other_queue = "gaspi_notify(0, 1, 0, 1, 1, GASPI_BLOCK);";
    let write_notify = "gaspi_write_notify(0, 0, 1, 0, 4, 4, 0, 1, 0, GASPI_BLOCK);";
    let read_notify = "gaspi_read_notify(0, 0, 1, 0, 4, 4, 1, 0, GASPI_BLOCK);";
    let wait = "gaspi_wait(0, GASPI_BLOCK);";
    let test = "gaspi_wait(0, GASPI_TEST);";
    let barrier = "gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK);";
    let seen = "gaspi_notify_waitsome(0, 0, 1, &first, GASPI_BLOCK);";
    let late = "gaspi_notify_waitsome(0, 0, 1, &first, 5);";
    let own = "gaspi_notify_waitsome(0, 1, 1, &first, GASPI_BLOCK);";
    let reset = "gaspi_notify_reset(0, 0, &value);";
    let (load, store, reuse) = ("printf(\"%d\", s[1]);", "s[1] = 2;", "s[0] = 3;");
    let add = "gaspi_atomic_fetch_add(1, 0, 1, 1, &old, GASPI_BLOCK);";
    // The target: only what is notified is there.
    row(&[write, wait, barrier], &[barrier, load], RACE);
    row(&[write, notify], &[seen, load], Holds);
    row(&[write, other_queue], &[seen, load], RACE);
    row(&[notify, write], &[seen, load], RACE);
    row(&[write_notify], &[seen, load], Holds);
    row(&[write_notify], &[seen, reset, store], Holds);
    row(&[write_notify], &[late, load], RACE);
    // A notification of a write speaks of that one, one by itself of all.
    let elsewhere = "gaspi_write_notify(0, 0, 1, 0, 8, 4, 0, 1, 0, GASPI_BLOCK);";
    row(&[write, elsewhere], &[seen, load], RACE);
    let first_other = "gaspi_write_notify(0, 0, 1, 0, 4, 4, 2, 1, 0, GASPI_BLOCK);";
    row(&[first_other, notify], &[seen, load], Holds);
    // The origin.
    row(&[write, reuse], &[], RACE);
    row(&[write, wait, reuse], &[], Holds);
    row(&[write, test, reuse], &[], RACE);
    row(&[read, "printf(\"%d\", s[0]);"], &[], RACE);
    row(&[read, wait, reuse], &[], Holds);
    row(&[read_notify, own, reuse], &[], Holds);
    row(&[read, wait, barrier], &[barrier, store], Holds);
    row(&[read, barrier], &[barrier, store], RACE);
    // Who answers a notification says that the buffer is free, too.
    let answer = "gaspi_notify(0, 0, 1, 1, 0, GASPI_BLOCK);";
    row(&[write_notify, own, reuse], &[seen, answer], Holds);
    row(&[write_notify, own, reuse], &[answer], RACE);
    row(&[add], &[add], Holds);
    row(&[add, barrier], &[barrier, add], Holds);
    // What is not there.
    row(
        &["gaspi_write(0, 0, 1, 0, 16, 4, 0, GASPI_BLOCK);"],
        &[],
        Violated("language"),
    );
    row(
        &["gaspi_write(0, 0, 1, 7, 0, 4, 0, GASPI_BLOCK);"],
        &[],
        Violated("language"),
    );
    row(
        &["gaspi_notify(0, 1, 0, 0, 0, GASPI_BLOCK);"],
        &[],
        Violated("language"),
    );
}

#[test]
fn messages_of_mpi() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let row = |zero: &[&str], one: &[&str], expected| {
        check(&folder, &mpi(&zero.concat(), &one.concat()), "2", expected);
    };
    let ssend = "MPI_Ssend(&token, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);";
    let isend = "MPI_Isend(&token, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);";
    let irecv = "MPI_Irecv(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);";
    let self_put = "MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win); MPI_Put(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, win); MPI_Win_unlock(0, win);";
    // A synchronous send returns when its receive has begun, any other may return before.
    row(&[ssend, LOAD], &[self_put, RECEIVE], Holds);
    row(&[SEND, LOAD], &[self_put, RECEIVE], RACE);
    // The buffer of a send or receive belongs to MPI until the wait.
    row(&[isend, WAIT, "token = 2;"], &[RECEIVE], Holds);
    row(&[isend, "token = 2;", WAIT], &[RECEIVE], RACE);
    row(&[isend, "y = token;", WAIT], &[RECEIVE], Holds);
    row(&[SEND], &[irecv, WAIT, "y = token;"], Holds);
    row(&[SEND], &[irecv, "y = token;", WAIT], RACE);
    row(&[SEND], &[irecv, "y = x;", WAIT], Holds);
    row(&[LOCK, PUT, UNLOCK, SEND], &[irecv, WAIT, LOAD], Holds);
    row(&[LOCK, PUT, SEND, UNLOCK], &[irecv, WAIT, LOAD], RACE);
    row(&[LOCK, PUT, UNLOCK, SEND], &[irecv, LOAD, WAIT], RACE);
    // Values: receives that are open get messages in the order of their calls.
    let two = "MPI_Send(&x, 1, MPI_INT, 1, 7, MPI_COMM_WORLD); MPI_Send(&y, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);";
    let later = "MPI_Request r[2]; MPI_Irecv(&w[0], 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &r[0]); \
                 MPI_Irecv(&w[1], 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &r[1]);";
    let all = "MPI_Waitall(2, r, MPI_STATUSES_IGNORE);";
    let right = "if (w[0] != 1 || w[1] != 2) reach_error();";
    let wrong = "if (w[0] != 1 || w[1] != 1) reach_error();";
    row(&[two], &[later, all, right], Holds);
    row(&[two], &[later, all, wrong], Violated("error-call"));
    let back = "MPI_Wait(&r[1], MPI_STATUS_IGNORE); MPI_Wait(&r[0], MPI_STATUS_IGNORE);";
    row(&[two], &[later, back], Unknown);
    // Messages of different lengths in one queue.
    let lengths = "MPI_Send(&x, 1, MPI_INT, 1, 7, MPI_COMM_WORLD); int b[2] = {3, 4}; MPI_Send(b, 2, MPI_INT, 1, 7, MPI_COMM_WORLD);";
    let both = "MPI_Recv(&x, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); MPI_Barrier(MPI_COMM_WORLD);\
                MPI_Recv(w, 2, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);";
    row(
        &[lengths, BARRIER],
        &[both, "if (w[1] != 4) reach_error();"],
        Holds,
    );
    row(
        &[lengths, BARRIER],
        &[both, "if (w[1] == 4) reach_error();"],
        Violated("error-call"),
    );
}

/// Sends that wait for each other: MPI may buffer `MPI_Send`, and need not.
#[test]
fn deadlocks_of_messages() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let receive = "MPI_Recv(&y, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);";
    let send = |name: &str| format!("{name}(&x, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD);");
    let exchange = "MPI_Sendrecv(&x, 1, MPI_INT, 1 - rank, 7, &y, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);";
    let rows = [
        (format!("{receive}{}", send("MPI_Send")), 1),
        (format!("{}{receive}", send("MPI_Ssend")), 1),
        (format!("{}{receive}", send("MPI_Send")), 1),
        (format!("{}{receive}", send("MPI_Bsend")), 0),
        (exchange.to_owned(), 0),
        (
            format!(
                "if (rank) {{ {receive}{s} }} else {{ {s}{receive} }}",
                s = send("MPI_Ssend")
            ),
            0,
        ),
        ("if (rank) MPI_Barrier(MPI_COMM_WORLD);".to_owned(), 1),
    ];
    for (body, code) in rows {
        let text = mpi(&body, &body);
        let file = folder.path().join("t.c");
        fs::write(&file, &text).expect("written");
        for command in ["explore", "verify"] {
            let words = [command, "--check", "deadlock", "--model", "rma", "-n", "2"];
            let output = palisade(&words, &file);
            let said = String::from_utf8_lossy(&output.stdout);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                output.status.code(),
                Some(code),
                "{command}: {text}{said}{errors}"
            );
        }
    }
}

/// A thread that nobody starts is in no deadlock, one that waits is.
#[test]
fn deadlocks_of_ranks_with_threads() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    // A send of a rank with threads does not wait here.
    let send = "MPI_Bsend(&x, 1, MPI_INT, rank, 7, MPI_COMM_WORLD);";
    let text = |before: &str, task: &str, after: &str| {
        format!(
            "#include <mpi.h>\nint main(int argc, char **argv) {{\nint rank, x = 0, y = 0;\n\
             MPI_Init(&argc, &argv);\nMPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
             #pragma omp parallel num_threads(2)\n{{\n#pragma omp single\n{{\n{before}\n#pragma omp task\n{{ {task} }}\n\
             {after}\n}}\n}}\nMPI_Finalize();\nreturn 0;\n}}\n"
        )
    };
    let receive = "MPI_Recv(&y, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);";
    let rows = [
        (text(send, receive, ""), 0),
        (text(send, &receive.repeat(2), ""), 1),
        // Whoever makes a task may run it at once, before it sends.
        (text("", receive, send), 1),
    ];
    for (text, code) in rows {
        let file = folder.path().join("t.c");
        fs::write(&file, &text).expect("written");
        let words = ["verify", "--check", "deadlock", "--model", "rma", "-n", "1"];
        let output = palisade(&words, &file);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{text}: {errors}");
    }
}

/// Threads of a rank share its windows, epochs and memory.
#[test]
fn remote_races_of_ranks_with_threads() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let text = |thread: &str, zero: &str, one: &str| {
        format!(
            "#include <mpi.h>\n#include <pthread.h>\n#include <stdio.h>\nint w[2], x, y, token;\nMPI_Win win;\n\
             pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
             void *f(void *a) {{ {thread} return 0; }}\n\
             int main(int argc, char **argv) {{\nint rank, provided;\npthread_t t;\n\
             MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);\n\
             MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
             MPI_Win_create(w, 2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);\n\
             if (rank == 0) {{ {zero} }} else {{ {one} }}\n\
             MPI_Win_free(&win);\nMPI_Finalize();\nreturn 0;\n}}\n"
        )
    };
    let create = "pthread_create(&t, 0, f, 0);";
    let join = "pthread_join(t, 0);";
    let (mutex, release) = ("pthread_mutex_lock(&m);", "pthread_mutex_unlock(&m);");
    let row = |thread: &[&str], zero: &[&str], one: &[&str], expected| {
        let text = text(&thread.concat(), &zero.concat(), &one.concat());
        check(&folder, &text, "2", expected);
    };
    // One thread completes what the other has begun.
    row(&[PUT], &[LOCK, create, join, UNLOCK, "x = 1;"], &[], Holds);
    row(&[PUT], &[LOCK, create, join, "x = 1;", UNLOCK], &[], RACE);
    row(&[PUT], &[LOCK, create, "x = 1;", join, UNLOCK], &[], RACE);
    row(&[GET, UNLOCK], &[LOCK, create, join, USE], &[], Holds);
    row(
        &[GET, UNLOCK],
        &[LOCK, create, "token = y;", join],
        &[],
        RACE,
    );
    row(&[PUT], &[create, join], &[], EPOCH);
    // The barrier of one thread says nothing of the other's operations.
    row(
        &[LOCK, PUT, UNLOCK],
        &[create, join, BARRIER],
        &[BARRIER, LOAD],
        Holds,
    );
    row(
        &[LOCK, PUT, UNLOCK],
        &[create, BARRIER, join],
        &[BARRIER, LOAD],
        RACE,
    );
    // Data races of the threads themselves.
    row(&["x = 1;"], &[create, join, "x = 2;"], &[], Holds);
    row(
        &["x = 1;"],
        &[create, "x = 2;", join],
        &[],
        Violated("data-race"),
    );
    row(
        &[mutex, "x = 1;", release],
        &[create, mutex, "x = 2;", release, join],
        &[],
        Holds,
    );
    row(
        &["y = w[0];"],
        &[create, "w[0] = 2;", join],
        &[LOCK, UNLOCK],
        Violated("data-race"),
    );
    row(
        &["token = 1;"],
        &[create, SEND, join],
        &[RECEIVE],
        Violated("data-race"),
    );
    let all = "MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);";
    row(&["x = 1;"], &[create, join, all], &[all], Holds);
    row(
        &["x = 1;"],
        &[create, all, join],
        &[all],
        Violated("data-race"),
    );
    // Two collective calls of one rank at once are wrong in MPI and not followed.
    row(
        &[BARRIER],
        &[create, BARRIER, join],
        &[BARRIER, BARRIER],
        Unknown,
    );
}

#[test]
fn remote_races_of_pes_with_threads() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let row = |thread: &str, main: &str, expected| {
        let text = format!(
            "#include <shmem.h>\n#include <pthread.h>\nstatic int a, flag;\nint x, y;\n\
             void *f(void *p) {{ {thread} return 0; }}\nint main(void) {{\npthread_t t;\nint provided;\n\
             shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);\n\
             if (shmem_my_pe() == 0) {{ pthread_create(&t, 0, f, 0); {main} pthread_join(t, 0); }}\n\
             shmem_finalize();\nreturn 0;\n}}\n"
        );
        check(&folder, &text, "2", expected);
    };
    let put = "shmem_int_put(&a, &x, 1, 1);";
    let get = "shmem_int_get(&y, &a, 1, 1);";
    let wait = "shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 1);";
    // Operations that block use their buffers only while they run, which may be at the same time.
    row("x = 1;", put, RACE);
    row("y = 1;", put, Holds);
    row("x = y;", get, RACE);
    row("shmem_int_get(&x, &a, 1, 1);", get, Holds);
    row("flag = 1;", wait, Violated("data-race"));
    row("shmem_int_atomic_set(&flag, 1, 0);", wait, Holds);
}

/// Ranks with `body` between the start and the end of MPI.
fn ranks(body: &str) -> String {
    format!(
        "#include <assert.h>\n#include <mpi.h>\nint x[4];\nint main(int argc, char **argv) {{\n\
         int rank, size, unit, v = 5, *own, *other; MPI_Win win; MPI_Comm part; MPI_Aint at = 0;\n\
         MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
         {body}\nMPI_Win_free(&win); MPI_Finalize();\nreturn 0;\n}}\n"
    )
}

#[test]
fn shared_windows_of_mpi() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let row = |before: &str, between: &str, after: &str, expected| {
        let body = format!(
            "MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);\n\
             MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, part, &own, &win);\n\
             MPI_Win_shared_query(win, 1 - rank, &at, &unit, &other);\n\
             MPI_Win_lock_all(0, win);\n{before}\n{between}\n{after}\nMPI_Win_unlock_all(win);"
        );
        check(&folder, &ranks(&body), "2", expected);
    };
    let barrier = "MPI_Barrier(part);";
    let sync = "MPI_Win_sync(win); MPI_Barrier(part); MPI_Win_sync(win);";
    let flush = "MPI_Win_flush(rank, win); MPI_Barrier(part);";
    let look = "assert(*other == 2 - rank);";
    row("*own = rank + 1;", sync, look, Holds);
    row("*own = rank + 1;", flush, look, Holds);
    row("*own = rank + 1;", barrier, look, RACE);
    row("*own = rank + 1;", "MPI_Win_sync(win);", look, RACE);
    // Own stores are seen at once.
    row("*own = 3;", "", "assert(*own == 3);", Holds);
    // Parts lie one behind the other.
    let behind = "if (rank == 0) assert(own[1] == 2); else assert(own[-1] == 1);";
    row("*own = rank + 1;", sync, behind, Holds);
    let wrong = "if (rank == 0) assert(own[1] == 1);";
    row("*own = rank + 1;", sync, wrong, Violated("assertion"));
    // Atomic operations of C are not followed there.
    let atomic = "if (rank == 0) __atomic_store_n(own, 1, 5); else v = *other;";
    row("", "", atomic, Unknown);
    // Remote operations meet loads and stores.
    let put = "MPI_Put(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, win);";
    let zero = format!("if (rank == 1) {{ {put} }}");
    row(&zero, barrier, "if (rank == 0) v = *own;", RACE);
    let flushed = format!("if (rank == 1) {{ {put} MPI_Win_flush(0, win); }}");
    row(
        &flushed,
        barrier,
        "if (rank == 0) assert(*own == 5);",
        Holds,
    );
}

#[test]
fn dynamic_windows_of_mpi() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let row = |attach: &str, done: &str, after: &str, expected| {
        let body = format!(
            "MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);\n\
             if (rank == 0) {{ {attach} MPI_Get_address(&x[1], &at); }}\n\
             MPI_Bcast(&at, 1, MPI_AINT, 0, MPI_COMM_WORLD);\nMPI_Win_lock_all(0, win);\n\
             if (rank == 1) {{ MPI_Put(&v, 1, MPI_INT, 0, MPI_Aint_add(at, 4), 1, MPI_INT, win); {done} }}\n\
             MPI_Barrier(MPI_COMM_WORLD);\n{after}\nMPI_Win_unlock_all(win);"
        );
        check(&folder, &ranks(&body), "2", expected);
    };
    let attach = "MPI_Win_attach(win, x, sizeof x);";
    let flush = "MPI_Win_flush(0, win);";
    let look = "if (rank == 0) assert(x[2] == 5);";
    row(attach, flush, look, Holds);
    row(attach, "", "if (rank == 0) v = x[2];", RACE);
    row(
        attach,
        flush,
        "if (rank == 0) assert(x[1] == 5);",
        Violated("assertion"),
    );
    row("", flush, look, Violated("language"));
    row(
        "MPI_Win_attach(win, x, 2 * sizeof(int));",
        flush,
        look,
        Violated("language"),
    );
    let detached = "MPI_Win_attach(win, x, sizeof x); MPI_Win_detach(win, x);";
    row(detached, flush, look, Violated("language"));
}

#[test]
fn windows_of_some_ranks() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let row = |comm: &str, end: &str, expected: &str, verdict| {
        let body = format!(
            "{comm}\nint sub; MPI_Comm_rank(part, &sub); MPI_Comm_size(part, &size);\n\
             MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, part, &own, &win);\n\
             *own = -1;\nMPI_Win_fence(0, win);\n\
             MPI_Put(&rank, 1, MPI_INT, (sub + 1) % size, 0, 1, MPI_INT, win);\n{end}\n\
             assert(*own == {expected});"
        );
        check(&folder, &ranks(&body), "3", verdict);
    };
    let split = "MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);";
    let dup = "MPI_Comm_dup(MPI_COMM_WORLD, &part);";
    let fence = "MPI_Win_fence(0, win);";
    row(split, fence, "(rank == 1 ? 1 : 2 - rank)", Holds);
    row(split, fence, "rank", Violated("assertion"));
    row(
        split,
        "MPI_Barrier(part);",
        "(rank == 1 ? 1 : 2 - rank)",
        RACE,
    );
    row(dup, fence, "(rank + 2) % 3", Holds);
    // The group of a part counts its own ranks.
    let groups = |target: &str| {
        format!(
            "MPI_Comm_split(MPI_COMM_WORLD, rank > 0, 0, &part);\n\
             MPI_Win_create(x, sizeof x, sizeof(int), MPI_INFO_NULL, part, &win);\n\
             MPI_Group all, one; int first = rank == 1;\n\
             if (rank > 0) {{ MPI_Win_get_group(win, &all); MPI_Group_incl(all, 1, &first, &one); }}\n\
             if (rank == 1) {{ MPI_Win_post(one, 0, win); MPI_Win_wait(win); assert(x[0] == 5); }}\n\
             if (rank == 2) {{ MPI_Win_start(one, 0, win);\n\
             MPI_Put(&v, 1, MPI_INT, {target}, 0, 1, MPI_INT, win); MPI_Win_complete(win); }}"
        )
    };
    check(&folder, &ranks(&groups("0")), "3", Holds);
    check(&folder, &ranks(&groups("1")), "3", EPOCH);
}
