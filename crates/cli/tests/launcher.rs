//! The launcher `./palisade` at the root: sets up and builds when needed and only
//! then, from any folder, also through a symbolic link. A stand-in for cargo
//! counts the builds and makes a binary that tells how it was called.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Writes the log of builds, then a binary.
const CARGO: &str = r#"#!/bin/sh
echo "$*" >> "$FAKE_LOG"
[ -z "$FAKE_FAIL" ] || exit 101
mkdir -p target/release
cat > target/release/palisade <<'END'
#!/bin/sh
pwd
for word in "$@"; do echo "[$word]"; done
exit 3
END
chmod +x target/release/palisade
"#;

struct Checkout {
    /// Holds the checkout (with a blank in its name) and the stand-in.
    folder: tempfile::TempDir,
}

impl Checkout {
    fn new() -> Self {
        let checkout = Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        };
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = checkout.root();
        for folder in ["scripts", "crates/some/src", ".cargo"] {
            fs::create_dir_all(root.join(folder)).expect("create a folder");
        }
        for file in ["palisade", "scripts/setup"] {
            fs::copy(repository.join(file), root.join(file)).expect("copy the launcher");
        }
        for file in ["Cargo.toml", "Cargo.lock", "crates/some/src/lib.rs"] {
            fs::write(root.join(file), "").expect("write a source");
        }
        let cargo = checkout.path("bin/cargo");
        fs::create_dir_all(checkout.path("bin")).expect("create a folder");
        fs::write(&cargo, CARGO).expect("write the stand-in");
        fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).expect("executable");
        checkout
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn root(&self) -> PathBuf {
        self.path("a check, out")
    }

    /// Calls the launcher by `path` from `folder`.
    fn call(&self, path: &Path, folder: &Path, fail: bool) -> Output {
        let search = std::env::var("PATH").expect("PATH is set");
        Command::new(path)
            .args(["explore", "a b.pal"])
            .current_dir(folder)
            .env("PATH", format!("{}:{search}", self.path("bin").display()))
            .env("FAKE_LOG", self.path("log"))
            .env("FAKE_FAIL", if fail { "yes" } else { "" })
            .env("CARGO_TARGET_DIR", "somewhere/else")
            // No Z3 is looked for, so nothing is fetched.
            .env("PALISADE_Z3_DIR", "vendored")
            .output()
            .expect("the launcher starts")
    }

    fn builds(&self) -> usize {
        fs::read_to_string(self.path("log")).map_or(0, |log| log.lines().count())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The time stamps of sources are set, so that no test waits for a clock.
fn touch(path: &Path, seconds_from_now: i64) {
    let now = std::time::SystemTime::now();
    let offset = std::time::Duration::from_secs(seconds_from_now.unsigned_abs());
    let time = if seconds_from_now < 0 {
        now - offset
    } else {
        now + offset
    };
    let file = fs::File::open(path).expect("open a source");
    file.set_modified(time).expect("set its time");
}

#[test]
fn builds_once_and_passes_everything_on() {
    let checkout = Checkout::new();
    let root = checkout.root();
    let first = checkout.call(&root.join("palisade"), checkout.folder.path(), false);
    assert_eq!(first.status.code(), Some(3), "{}", text(&first.stderr));
    let folder = checkout.folder.path().canonicalize().expect("a real path");
    let expected = format!("{}\n[explore]\n[a b.pal]\n", folder.display());
    assert_eq!(text(&first.stdout), expected);
    assert!(text(&first.stderr).contains("building"));
    assert_eq!(checkout.builds(), 1);

    let second = checkout.call(&root.join("palisade"), checkout.folder.path(), false);
    assert_eq!(text(&second.stdout), expected);
    assert_eq!(
        text(&second.stderr),
        "",
        "a call with nothing to do is silent"
    );
    assert_eq!(checkout.builds(), 1);
}

#[test]
fn a_newer_source_is_built() {
    let checkout = Checkout::new();
    let root = checkout.root();
    let launcher = root.join("palisade");
    checkout.call(&launcher, &root, false);
    touch(&root.join("crates/some/src/lib.rs"), -3600);
    checkout.call(&launcher, &root, false);
    let before = checkout.builds();
    touch(&root.join("crates/some/src/lib.rs"), 3600);
    checkout.call(&launcher, &root, false);
    assert_eq!(checkout.builds(), before + 1);
}

#[test]
fn a_link_to_it_does() {
    let checkout = Checkout::new();
    let links = checkout.path("links");
    fs::create_dir_all(&links).expect("create a folder");
    symlink("../a check, out/palisade", links.join("one")).expect("a relative link");
    symlink(links.join("one"), links.join("two")).expect("a link to the link");
    let output = checkout.call(&links.join("two"), &links, false);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(checkout.root().join("target/release/palisade").exists());
}

#[test]
fn a_moved_checkout_is_set_up_again() {
    let checkout = Checkout::new();
    checkout.call(
        &checkout.root().join("palisade"),
        checkout.folder.path(),
        false,
    );
    let moved = checkout.path("moved");
    fs::rename(checkout.root(), &moved).expect("move the checkout");
    let output = checkout.call(&moved.join("palisade"), checkout.folder.path(), false);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(checkout.builds(), 2);
    let ready = fs::read_to_string(moved.join(".palisade/ready")).expect("set up");
    assert!(ready.contains("moved"), "{ready}");
}

#[test]
fn a_failed_build_is_bad_usage_and_tried_again() {
    let checkout = Checkout::new();
    let root = checkout.root();
    let failed = checkout.call(&root.join("palisade"), &root, true);
    assert_eq!(failed.status.code(), Some(2));
    assert!(text(&failed.stderr).contains("the build failed"));
    assert_eq!(text(&failed.stdout), "");
    let again = checkout.call(&root.join("palisade"), &root, false);
    assert_eq!(again.status.code(), Some(3));
}

/// Where cargo is missing, a binary that is there is used as it is; without one the launcher
/// says what to install.
#[test]
fn a_binary_is_used_where_cargo_is_missing() {
    let checkout = Checkout::new();
    let root = checkout.root();
    let call = || {
        Command::new(root.join("palisade"))
            .arg("here")
            .current_dir(&root)
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", checkout.folder.path())
            .env_remove("CARGO_HOME")
            .output()
            .expect("the launcher starts")
    };
    if Path::new("/usr/bin/cargo").exists() || Path::new("/bin/cargo").exists() {
        return;
    }
    let none = call();
    assert_eq!(none.status.code(), Some(2));
    assert!(
        text(&none.stderr).contains("install Rust"),
        "{}",
        text(&none.stderr)
    );
    let binary = root.join("target/release/palisade");
    fs::create_dir_all(root.join("target/release")).expect("create a folder");
    fs::write(&binary, "#!/bin/sh\necho \"it is $1\"\n").expect("write a binary");
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).expect("executable");
    let some = call();
    assert_eq!(text(&some.stdout), "it is here\n");
    assert!(
        text(&some.stderr).contains("cargo is missing"),
        "{}",
        text(&some.stderr)
    );
}
