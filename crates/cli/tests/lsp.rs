//! The language server, driven over its standard input and output; and the grammar for
//! editors, against the words of the lexer.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use palisade_frontend::pal;
use serde_json::{Value, json};

struct Client {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    fn start(options: &Value) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_palisade"))
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("palisade runs");
        let to = process.stdin.take().expect("piped");
        let from = BufReader::new(process.stdout.take().expect("piped"));
        let mut client = Self {
            process,
            to,
            from,
            next: 0,
        };
        let capabilities = client.ask(
            "initialize",
            &json!({ "capabilities": {}, "initializationOptions": options }),
        );
        assert_eq!(capabilities["capabilities"]["hoverProvider"], true);
        client.tell("initialized", &json!({}));
        client
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("written");
        self.to.flush().expect("written");
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(
                self.from.read_line(&mut line).expect("readable") > 0,
                "the server has ended"
            );
            match line.trim() {
                "" => break,
                line => {
                    if let Some(n) = line.strip_prefix("Content-Length: ") {
                        length = n.parse().expect("a number");
                    }
                }
            }
        }
        let mut bytes = vec![0; length];
        self.from.read_exact(&mut bytes).expect("readable");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.receive();
            if message["id"] == id {
                assert!(message["error"].is_null(), "{message}");
                return message["result"].clone();
            }
        }
    }

    /// The next diagnostics: severity, line, message.
    fn diagnostics(&mut self) -> Vec<(u64, u64, String)> {
        loop {
            let message = self.receive();
            if message["method"] != "textDocument/publishDiagnostics" {
                continue;
            }
            let all = message["params"]["diagnostics"].as_array().expect("a list");
            let read = |d: &Value| {
                let line = d["range"]["start"]["line"].as_u64().expect("a line");
                let words = d["message"].as_str().expect("words").to_owned();
                (d["severity"].as_u64().expect("a number"), line, words)
            };
            return all.iter().map(read).collect();
        }
    }

    fn end(mut self) {
        self.ask("shutdown", &Value::Null);
        self.tell("exit", &Value::Null);
        assert!(self.process.wait().expect("it ends").success());
    }
}

const TEXT: &str = "// expect: sc=holds tso=violated\n\
shared x, y;\n\
thread a { local r; x = 1; r = y; }\n\
thread b { local s; y = 1; s = x; }\n\
finally a.r == 1 || b.s == 1;\n";

#[test]
fn errors_names_and_verdicts() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store buffering.pal");
    fs::write(&path, TEXT).expect("written");
    let uri = format!("file://{}", path.display()).replace(' ', "%20");
    let mut client = Client::start(&json!({}));
    let open = |text: &str| json!({ "textDocument": { "uri": uri, "languageId": "pal", "version": 1, "text": text } });
    client.tell(
        "textDocument/didOpen",
        &open(&TEXT.replace("r = y;", "r = z;")),
    );
    let errors = client.diagnostics();
    assert_eq!((errors[0].0, errors[0].1), (1, 2), "{errors:?}");
    assert!(errors[0].2.contains('z'), "{errors:?}");
    client.tell(
        "textDocument/didChange",
        &json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "text": TEXT }] }),
    );
    assert_eq!(client.diagnostics(), []);
    let at = |line: u64, character: u64| json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": character } });
    let hover = client.ask("textDocument/hover", &at(2, 20));
    let text = hover["contents"]["value"].as_str().expect("text");
    assert!(text.starts_with("shared variable, line 2"), "{text}");
    let hover = client.ask("textDocument/hover", &at(4, 2));
    let text = hover["contents"]["value"].as_str().expect("text");
    assert!(text.contains("all threads have ended"), "{text}");
    assert!(client.ask("textDocument/hover", &at(3, 27)).is_object());
    // `b.s` of the property is declared in line 4.
    let place = client.ask("textDocument/definition", &at(4, 22));
    assert_eq!(
        place["range"]["start"],
        json!({ "line": 3, "character": 17 })
    );
    let other = json!({ "uri": "untitled:1", "languageId": "pal", "version": 1,
        "text": "shared   x ;\nthread t { x=1; }\n" });
    client.tell("textDocument/didOpen", &json!({ "textDocument": other }));
    client.diagnostics();
    let edits = client.ask(
        "textDocument/formatting",
        &json!({ "textDocument": { "uri": "untitled:1" }, "options": {} }),
    );
    assert_eq!(edits[0]["newText"], "shared x;\nthread t { x = 1; }\n");
    assert_eq!(
        edits[0]["range"]["end"],
        json!({ "line": 2, "character": 0 })
    );
    // Under the models that the file speaks of, one after the other.
    client.tell(
        "textDocument/didSave",
        &json!({ "textDocument": { "uri": uri } }),
    );
    let first = client.diagnostics();
    assert_eq!(first, [(3, 0, "holds under sc (certified)".to_owned())]);
    let both = client.diagnostics();
    assert_eq!((both[1].0, both[1].1), (1, 4), "{both:?}");
    assert!(
        both[1].2.starts_with("violated under tso: finally"),
        "{both:?}"
    );
    client.end();
}

#[test]
fn models_of_the_client_come_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sb.pal");
    fs::write(&path, TEXT).expect("written");
    let uri = format!("file://{}", path.display());
    let mut client = Client::start(&json!({ "models": "pso" }));
    let text = json!({ "uri": uri, "languageId": "pal", "version": 1, "text": TEXT });
    client.tell("textDocument/didOpen", &json!({ "textDocument": text }));
    assert_eq!(client.diagnostics(), []);
    client.tell(
        "textDocument/didSave",
        &json!({ "textDocument": { "uri": uri } }),
    );
    let verdict = client.diagnostics();
    assert!(
        verdict[0].2.starts_with("violated under pso"),
        "{verdict:?}"
    );
    client.end();
}

/// Every pattern of the grammar.
fn patterns(value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(keys) => {
            let scope = keys.get("name").and_then(Value::as_str).unwrap_or_default();
            for key in ["match", "begin", "end"] {
                if let Some(pattern) = keys.get(key).and_then(Value::as_str) {
                    found.push((scope.to_owned(), pattern.to_owned()));
                }
            }
            keys.values().for_each(|inner| patterns(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| patterns(inner, found)),
        _ => {}
    }
}

/// The grammar colours every reserved word and every function of the language, and no
/// other name.
#[test]
fn the_grammar_knows_the_words_of_the_lexer() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/vscode");
    let read = |name: &str| -> Value {
        let text = fs::read_to_string(folder.join(name)).expect(name);
        serde_json::from_str(&text).expect("JSON")
    };
    let package = read("package.json");
    let grammar = &package["contributes"]["grammars"][0];
    let path = grammar["path"].as_str().expect("a path");
    let grammar_file = read(path.trim_start_matches("./"));
    assert_eq!(grammar_file["scopeName"], grammar["scopeName"]);
    read("language-configuration.json");
    let mut all = Vec::new();
    patterns(&grammar_file, &mut all);
    // The words of an alternative: \b(a|b|c)\b
    let words = |pattern: &str| -> Vec<String> {
        let inner = pattern
            .strip_prefix("\\b(")
            .and_then(|p| p.split_once(")\\b"));
        let inner = inner.map_or("", |(words, _)| words);
        inner.split('|').map(str::to_owned).collect()
    };
    let coloured = |word: &str| {
        all.iter().any(|(scope, pattern)| {
            let sized = scope == "support.type.pal" && word.contains("int") && word != "int";
            sized || words(pattern).iter().any(|w| w == word)
        })
    };
    for word in pal::reserved().iter().chain(pal::builtins()) {
        assert!(coloured(word), "{word}");
    }
    for name in ["x", "flag", "threads", "fences", "assertion"] {
        assert!(!coloured(name), "{name}");
    }
    for (_, pattern) in &all {
        let open = pattern.replace("\\(", "").matches('(').count();
        let closed = pattern.replace("\\)", "").matches(')').count();
        assert_eq!(open, closed, "{pattern}");
    }
}
