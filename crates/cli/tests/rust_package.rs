//! `--package DIR --test NAME`: a package with a dependency, a feature, a build script and tests in two places.

use std::fs;
use std::path::Path;
use std::process::Command;

const FILES: [(&str, &str); 6] = [
    (
        "Cargo.toml",
        "[package]\nname = \"a-client\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [dependencies]\ncell = { package = \"a-lock\", path = \"lock\", features = [\"strong\"] }\n[workspace]\n",
    ),
    (
        "src/lib.rs",
        "pub use cell::Lock;\n\
         #[cfg(test)]\nmod tests {\n    use super::*;\n    static LOCK: Lock = Lock::new();\n    \
         static mut COUNT: u32 = 0;\n    fn add() { LOCK.lock(); unsafe { COUNT += 1 } LOCK.unlock(); }\n    \
         #[test]\n    fn counts() {\n        let t = std::thread::spawn(add);\n        add();\n        \
         t.join().unwrap();\n        assert_eq!(unsafe { COUNT }, 2);\n    }\n}\n",
    ),
    (
        "tests/outside.rs",
        "#[test]\nfn fails() {\n    static X: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);\n    \
         let t = std::thread::spawn(|| X.store(1, std::sync::atomic::Ordering::Relaxed));\n    \
         assert_eq!(X.load(std::sync::atomic::Ordering::Relaxed), 0);\n    t.join().unwrap();\n}\n\
         #[test]\nfn configured() {\n    let t = std::thread::spawn(|| a_client::Lock::KIND);\n    assert_eq!(t.join().unwrap(), 7);\n}\n",
    ),
    (
        "lock/Cargo.toml",
        "[package]\nname = \"a-lock\"\nversion = \"0.2.0\"\nedition = \"2018\"\nbuild = \"build.rs\"\n\
         [features]\nstrong = []\n",
    ),
    (
        "lock/build.rs",
        "fn main() { println!(\"cargo:rustc-check-cfg=cfg(seven)\"); println!(\"cargo:rustc-cfg=seven\"); }\n",
    ),
    (
        "lock/src/lib.rs",
        "#![no_std]\nuse core::sync::atomic::{AtomicBool, Ordering};\n\
         pub struct Lock(AtomicBool);\nimpl Lock {\n    #[cfg(seven)]\n    pub const KIND: u32 = 7;\n    \
         pub const fn new() -> Self { Lock(AtomicBool::new(false)) }\n    \
         #[cfg(feature = \"strong\")]\n    pub fn lock(&self) { while self.0.swap(true, Ordering::Acquire) {} }\n    \
         #[cfg(not(feature = \"strong\"))]\n    pub fn lock(&self) {}\n    \
         pub fn unlock(&self) { self.0.store(false, Ordering::Release); }\n}\n",
    ),
];

fn verify(folder: &Path, test: &str) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(["verify", "--model", "rc11", "--test", test, "--package"])
        .arg(folder)
        .output()
        .expect("runs");
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    (output.status.code(), text)
}

#[test]
fn tests_of_a_package_are_verified() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in FILES {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
        fs::write(file, text).expect("writable");
    }
    // In the library, under its dependency's feature.
    let (code, text) = verify(folder.path(), "tests::counts");
    assert_eq!(code, Some(0), "{text}");
    // In a file of its own, at its place.
    let (code, text) = verify(folder.path(), "fails");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("outside.rs:5:"), "{text}");
    // What the build script of the dependency says.
    let (code, text) = verify(folder.path(), "configured");
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = verify(folder.path(), "missing");
    assert_eq!(code, Some(2), "{text}");
    let (code, text) = verify(&folder.path().join("nowhere"), "missing");
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("help:"), "{text}");
}
