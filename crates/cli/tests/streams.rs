//! What happens when standard output or standard error cannot be written: a lost
//! result is an error, a reader that has gone away is not, and a lost warning or
//! message changes neither verdict nor exit code.

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::pipe;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const HOLDS: &str = "shared x = 0;\nshared unused = 0;\nthread t { x = 1; }\nnever x == 2;\n";
const VIOLATED: &str = "shared x = 0;\nshared unused = 0;\nthread t { x = 2; }\nnever x == 2;\n";
const BROKEN: &str = "thread t { x = ; }\n";

/// A device that is full: every write fails.
fn full() -> Stdio {
    let device = File::options().write(true).open("/dev/full");
    device.expect("the device /dev/full").into()
}

/// A pipe that nobody reads.
fn unread() -> Stdio {
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

fn code(text: &str, more: &[&str], out: Stdio, err: Stdio) -> Option<i32> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path: PathBuf = folder.path().join("program.pal");
    fs::write(&path, text).expect("write the program");
    let mut command = Command::new(env!("CARGO_BIN_EXE_palisade"));
    command.arg("explore").arg(&path).args(more);
    let status = command.stdout(out).stderr(err).status();
    status.expect("it runs").code()
}

#[test]
fn a_lost_result_is_an_error() {
    for more in [&[][..], &["--json"]] {
        for text in [HOLDS, VIOLATED] {
            assert_eq!(code(text, more, full(), Stdio::null()), Some(2));
        }
    }
}

#[test]
fn a_reader_that_has_gone_away_changes_nothing() {
    assert_eq!(code(HOLDS, &[], unread(), Stdio::null()), Some(0));
    assert_eq!(code(VIOLATED, &[], unread(), Stdio::null()), Some(1));
    assert_eq!(code(VIOLATED, &["--json"], unread(), unread()), Some(1));
}

#[test]
fn a_lost_message_changes_nothing() {
    for err in [full, unread] {
        assert_eq!(code(HOLDS, &[], Stdio::null(), err()), Some(0));
        assert_eq!(code(VIOLATED, &[], Stdio::null(), err()), Some(1));
        assert_eq!(code(BROKEN, &[], Stdio::null(), err()), Some(2));
        assert_eq!(code("", &["--range", "x"], Stdio::null(), err()), Some(2));
    }
}
