//! Pages for a browser: what they hold, and, where Chromium is installed, what it makes of
//! them.

use std::fs;
use std::path::Path;
use std::process::Command;

const LOCK: &str = "shared x, y; \
    thread a { x = 1; assume(y == 0); in_a: skip; } \
    thread b { y = 1; assume(x == 0); in_b: skip; } \
    never a@in_a && b@in_b;\n";

fn page(folder: &Path, args: &[&str]) -> String {
    let program = folder.join("lock.pal");
    fs::write(&program, LOCK).expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(args)
        .arg(&program)
        .args(["--html", "page.html"])
        .current_dir(folder)
        .output()
        .expect("palisade runs");
    assert!(
        output.status.code().is_some_and(|code| code < 2),
        "{output:?}"
    );
    fs::read_to_string(folder.join("page.html")).expect("a page")
}

/// The page as a browser has built it; `None` where there is no browser.
fn shown(folder: &Path) -> Option<String> {
    let output = Command::new("chromium")
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("browser").display()
        ))
        .arg(format!("file://{}", folder.join("page.html").display()))
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_run_can_be_stepped_through() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = page(folder.path(), &["verify", "-m", "tso"]);
    assert!(text.contains("\"edges\":"), "{text}");
    let Some(dom) = shown(folder.path()) else {
        return;
    };
    for part in [
        "step 4 of 4",
        "from-reads",
        "violated</span>",
        ">W x 1<",
        "a is at line 1",
    ] {
        assert!(dom.contains(part), "{part} not in\n{dom}");
    }
}

#[test]
fn a_proof_and_a_patch_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = page(folder.path(), &["verify", "-m", "sc"]);
    assert!(text.contains("\"invariant\":[\""), "{text}");
    let text = page(folder.path(), &["fence", "-m", "tso"]);
    assert!(text.contains("\"patch\":\"--- "), "{text}");
    if let Some(dom) = shown(folder.path()) {
        assert!(dom.contains("class=\"plus\""), "{dom}");
    }
}

/// A page about examples of the repository.
fn example(folder: &Path, args: &str) -> String {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = folder.join("page.html");
    let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(args.split_whitespace())
        .arg("--html")
        .arg(&path)
        .current_dir(repository)
        .output()
        .expect("palisade runs");
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1 | 3)), "{args}: {output:?}");
    fs::read_to_string(path).expect("a page")
}

/// Every kind of result has a page of its own: what the data hold, and what the browser makes
/// of them.
#[test]
fn pages_of_every_kind() {
    for (args, data, built) in [
        (
            "linearize examples/linear/treiber_store.pal",
            "\"kind\":\"return\"",
            "class=\"box call\"",
        ),
        (
            "shape examples/shape/create_bug.tvp examples/shape/list.tvs",
            "The run: step 1",
            "<polygon|<rect",
        ),
        (
            "verify examples/mp_fenced.pal -m pso",
            "\"places\":[{",
            "What holds where",
        ),
        (
            "verify examples/mp.pal -m all",
            "\"runs\":[{",
            "<td class=\"violated\">",
        ),
        (
            "verify examples/dekker.pal -m tso",
            "Control flow with the run",
            "arrow store taken",
        ),
        (
            "explore examples/ticket_unbounded.pal --max-states 100",
            "\"next\":{",
            "What to try",
        ),
        (
            "test examples/mp.pal",
            "\"tests\":[{",
            "<td class=\"passed\">",
        ),
        (
            "bench fences --only dekker",
            "\"rows\":[{",
            "<table class=\"rows\">",
        ),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let text = example(folder.path(), args);
        assert!(text.contains(data), "{args}: no {data} in\n{text}");
        let Some(dom) = shown(folder.path()) else {
            return;
        };
        let found = built.split('|').any(|part| dom.contains(part));
        assert!(found, "{args}: no {built} in\n{dom}");
    }
}
