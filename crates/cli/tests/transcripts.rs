//! Transcripts of the command in Markdown, run and compared: what it prints and
//! its exit codes. `TRYCMD=overwrite cargo test -p palisade-cli transcripts`
//! rewrites them.

#[test]
fn transcripts() {
    trycmd::TestCases::new()
        .env("NO_COLOR", "1")
        .case("tests/cmd/*.md");
}
