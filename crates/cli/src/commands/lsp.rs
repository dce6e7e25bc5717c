//! `palisade lsp`: a language server for `.pal` on standard input and output. What is wrong
//! with a text appears while it is typed; verdicts appear when it is saved, each from a
//! process of its own. Hover says what a name is, *go to definition* where it is declared,
//! formatting is that of `palisade fmt`.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Result, anyhow};
use lsp_server::{Connection, Message, Notification, Request, Response};
use palisade_frontend::{Diagnostic, Severity, heap, pal};
use palisade_program::{Model, Source, Span};
use palisade_report::Outcome;
use serde_json::{Value, json};

use crate::CommandResult;
use crate::args::{LspArgs, Models};
use crate::expect::Expectations;
use crate::kind::{Kind, has_processes};

/// Severities of the protocol.
const ERROR: u8 = 1;
const WARNING: u8 = 2;
const INFORMATION: u8 = 3;

pub(super) fn run(args: &LspArgs) -> CommandResult {
    let (connection, threads) = Connection::stdio();
    let capabilities = json!({
        "positionEncoding": "utf-16",
        "textDocumentSync": { "openClose": true, "change": 1, "save": { "includeText": false } },
        "hoverProvider": true,
        "definitionProvider": true,
        "documentFormattingProvider": true,
    });
    let started = connection
        .initialize(capabilities)
        .map_err(|e| anyhow!("{e}"))?;
    let models = started["initializationOptions"]["models"].as_str();
    let mut server = Server {
        connection: &connection,
        texts: HashMap::new(),
        models: models.unwrap_or(&args.models).to_owned(),
        timeout: args.verdict_timeout.as_millis(),
    };
    server.serve()?;
    drop(server);
    drop(connection);
    threads.join()?;
    Ok(Outcome::Done)
}

struct Server<'c> {
    connection: &'c Connection,
    texts: HashMap<String, String>,
    models: String,
    timeout: u128,
}

impl Server<'_> {
    fn serve(&mut self) -> Result<()> {
        for message in &self.connection.receiver {
            match message {
                Message::Request(request) => {
                    if self
                        .connection
                        .handle_shutdown(&request)
                        .map_err(|e| anyhow!("{e}"))?
                    {
                        return Ok(());
                    }
                    let response = self.answer(&request);
                    self.connection.sender.send(Message::Response(response))?;
                }
                Message::Notification(notification) => self.note(&notification)?,
                Message::Response(_) => {}
            }
        }
        Ok(())
    }

    fn answer(&self, request: &Request) -> Response {
        let parameters = &request.params;
        let uri = parameters["textDocument"]["uri"]
            .as_str()
            .unwrap_or_default();
        let text = self.texts.get(uri).map(String::as_str).unwrap_or_default();
        let source = Source::new(uri, text);
        let at = offset(text, &parameters["position"]);
        let result = match request.method.as_str() {
            "textDocument/hover" => hover(&source, at),
            "textDocument/definition" => pal::definition(&source, at)
                .map(|symbol| json!({ "uri": uri, "range": range(&source, symbol.span) })),
            "textDocument/formatting" => formatted(&source),
            method => {
                let code = lsp_server::ErrorCode::MethodNotFound as i32;
                return Response::new_err(request.id.clone(), code, format!("no {method}"));
            }
        };
        Response::new_ok(request.id.clone(), result)
    }

    fn note(&mut self, notification: &Notification) -> Result<()> {
        let document = &notification.params["textDocument"];
        let uri = document["uri"].as_str().unwrap_or_default().to_owned();
        match notification.method.as_str() {
            "textDocument/didOpen" => {
                let text = document["text"].as_str().unwrap_or_default().to_owned();
                self.changed(uri, text)?;
            }
            "textDocument/didChange" => {
                let changes = notification.params["contentChanges"].as_array();
                let last = changes.and_then(|all| all.last());
                let text = last.and_then(|change| change["text"].as_str());
                self.changed(uri, text.unwrap_or_default().to_owned())?;
            }
            "textDocument/didSave" => self.saved(&uri),
            "textDocument/didClose" => {
                self.texts.remove(&uri);
                publish(self.connection, &uri, &[])?;
            }
            _ => {}
        }
        Ok(())
    }

    fn changed(&mut self, uri: String, text: String) -> Result<()> {
        let source = Source::new(uri.clone(), text.clone());
        publish(self.connection, &uri, &diagnostics(&source))?;
        self.texts.insert(uri, text);
        Ok(())
    }

    /// Asks for verdicts, if the text can be read.
    fn saved(&self, uri: &str) {
        let Some(path) = path_of(uri) else { return };
        let text = self.texts.get(uri).cloned().unwrap_or_default();
        let found = diagnostics(&Source::new(uri, text.clone()));
        if found.iter().any(|d| d["severity"] == ERROR) || self.models == "off" {
            return;
        }
        let models = models(&self.models, &path);
        let (sender, uri) = (self.connection.sender.clone(), uri.to_owned());
        let timeout = self.timeout;
        thread::spawn(move || {
            let mut all = found;
            for model in models {
                all.extend(verdict(&path, model, timeout, &text));
                // The client may have gone.
                let _ = sender.send(published(&uri, &all));
            }
        });
    }
}

/// What is wrong with a text.
fn diagnostics(source: &Source) -> Vec<Value> {
    let items = match pal::parse(source.clone()) {
        Ok(parsed) => parsed.warnings,
        // A data structure has another grammar; the one that reads further is meant.
        Err(errors) => match heap::parse(source.clone()) {
            Ok(_) => Vec::new(),
            Err(other) if first_error(&other.items) > first_error(&errors.items) => other.items,
            Err(_) => errors.items,
        },
    };
    items.iter().map(|item| diagnostic(source, item)).collect()
}

/// Where the first error stands.
fn first_error(items: &[Diagnostic]) -> Option<u32> {
    items.iter().map(|item| item.span.start).min()
}

fn diagnostic(source: &Source, item: &Diagnostic) -> Value {
    let severity = match item.severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
        Severity::Note => INFORMATION,
    };
    let help = item.help.iter().map(|help| format!("\nhelp: {help}"));
    let message = item.message.clone() + &help.collect::<String>();
    json!({
        "range": range(source, item.span),
        "severity": severity,
        "source": "palisade",
        "message": message,
    })
}

/// The models for a file.
fn models(asked: &str, path: &Path) -> Vec<Option<Model>> {
    if matches!(Kind::of(path), Some(Kind::DataStructure | Kind::Object)) {
        return vec![None];
    }
    let expected = Expectations::of_file(path).unwrap_or_default();
    let own: Vec<Model> = expected.by_model.iter().map(|(model, _)| *model).collect();
    let models = match asked.parse::<Models>() {
        Ok(models) => models.of(has_processes(path)),
        Err(_) if own.is_empty() => vec![Model::Sc],
        Err(_) => own,
    };
    models.into_iter().map(Some).collect()
}

/// The verdict about a saved file, at the property that it is about.
fn verdict(path: &Path, model: Option<Model>, timeout: u128, text: &str) -> Option<Value> {
    let command = Kind::of(path)?.command();
    let mut process = Command::new(std::env::current_exe().ok()?);
    process.arg(command).arg(path);
    if let Some(model) = model {
        process.args(["--model", &model.to_string()]);
    }
    process.args(["--json", "--timeout", &format!("{timeout}ms")]);
    let output = process.stdin(Stdio::null()).output().ok()?;
    let document: Value = serde_json::from_slice(&output.stdout).ok()?;
    let verdict = document["verdict"].as_str()?;
    let under = model.map_or_else(String::new, |model| format!(" under {model}"));
    let reason = document["reason"].as_str();
    let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    let certified = document["certified"] == json!(true);
    let certified = if certified { " (certified)" } else { "" };
    let severity = match verdict {
        "violated" => ERROR,
        "unknown" => WARNING,
        _ => INFORMATION,
    };
    let source = Source::new("", text);
    let place = &document["property"];
    let line = place["line"].as_u64().unwrap_or(1).max(1) - 1;
    let length = source.line(line as u32 + 1).encode_utf16().count();
    let column = place["column"].as_u64().unwrap_or(1).max(1) - 1;
    let run = document["trace"].as_array().into_iter().flatten();
    let run = run.filter_map(|step| {
        let line = step["line"].as_u64()?.max(1) - 1;
        let words = format!("{}: {}", step["thread"].as_str()?, step["step"].as_str()?);
        let at = json!({ "line": line, "character": 0 });
        let location = json!({ "uri": uri_of(path), "range": { "start": at, "end": at } });
        Some(json!({ "location": location, "message": words }))
    });
    Some(json!({
        "range": {
            "start": { "line": line, "character": column },
            "end": { "line": line, "character": length.max(column as usize) },
        },
        "severity": severity,
        "source": "palisade",
        "message": format!("{verdict}{under}{reason}{certified}"),
        "relatedInformation": run.collect::<Vec<_>>(),
    }))
}

/// What a word means.
fn hover(source: &Source, at: u32) -> Option<Value> {
    let span = pal::word_at(source, at)?;
    let word = source.slice(span);
    let text = match pal::definition(source, at) {
        Some(symbol) => {
            let line = source.line_at(symbol.span.start).trim();
            let owner = symbol.owner.iter().map(|owner| format!(" of `{owner}`"));
            let place = source.position(symbol.span.start).line;
            let (kind, owner) = (symbol.kind.name(), owner.collect::<String>());
            format!("{kind}{owner}, line {place}\n\n```pal\n{line}\n```")
        }
        None => pal::explain(word)?.to_owned(),
    };
    Some(json!({
        "contents": { "kind": "markdown", "value": text },
        "range": range(source, span),
    }))
}

/// The whole text anew.
fn formatted(source: &Source) -> Option<Value> {
    let text = pal::format(source.text()).ok()?;
    let whole = Span::new(0, source.text().len());
    Some(json!([{ "range": range(source, whole), "newText": text }]))
}

fn publish(connection: &Connection, uri: &str, all: &[Value]) -> Result<()> {
    Ok(connection.sender.send(published(uri, all))?)
}

fn published(uri: &str, all: &[Value]) -> Message {
    let method = "textDocument/publishDiagnostics".to_owned();
    let params = json!({ "uri": uri, "diagnostics": all });
    Message::Notification(Notification { method, params })
}

/// A span as lines and UTF-16 units from 0.
fn range(source: &Source, span: Span) -> Value {
    let place = |offset: u32| {
        let before = &source.text()[..(offset as usize).min(source.text().len())];
        let line = before.matches('\n').count();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        json!({ "line": line, "character": before[start..].encode_utf16().count() })
    };
    json!({ "start": place(span.start), "end": place(span.end) })
}

/// The offset of a place of the protocol.
fn offset(text: &str, place: &Value) -> u32 {
    let line = place["line"].as_u64().unwrap_or(0) as usize;
    let units = place["character"].as_u64().unwrap_or(0) as usize;
    let lines = text.split_inclusive('\n');
    let start: usize = lines.clone().take(line).map(str::len).sum();
    let line = lines
        .clone()
        .nth(line)
        .unwrap_or_default()
        .trim_end_matches('\n');
    let mut seen = 0;
    let within = line.char_indices().find(|(_, c)| {
        let here = seen >= units;
        seen += c.len_utf16();
        here
    });
    (start + within.map_or(line.len(), |(at, _)| at)) as u32
}

/// The path of a `file:` address.
fn path_of(uri: &str) -> Option<PathBuf> {
    let encoded = uri.strip_prefix("file://")?.as_bytes();
    let mut bytes = Vec::new();
    let mut at = 0;
    while let Some(&byte) = encoded.get(at) {
        let code = encoded.get(at + 1..at + 3).filter(|_| byte == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        let decoded = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(decoded.unwrap_or(byte));
        at += if decoded.is_some() { 3 } else { 1 };
    }
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

fn uri_of(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let mut uri = "file://".to_owned();
    for byte in text.bytes() {
        if plain(byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_utf_16() {
        let text = "ab\n𝄞ü x\n";
        let at = |line: u64, character: u64| {
            offset(text, &json!({ "line": line, "character": character }))
        };
        assert_eq!(&text[at(1, 4) as usize..], "x\n");
        assert_eq!(at(0, 99), 2);
        assert_eq!(at(9, 0), text.len() as u32);
        let source = Source::new("t", text);
        let x = text.find('x').expect("x");
        let range = range(&source, Span::new(x, x + 1));
        assert_eq!(range["start"], json!({ "line": 1, "character": 4 }));
    }

    #[test]
    fn addresses_are_paths() {
        let path = Path::new("/a b/ü.pal");
        assert_eq!(uri_of(path), "file:///a%20b/%C3%BC.pal");
        assert_eq!(path_of(&uri_of(path)).as_deref(), Some(path));
        assert_eq!(path_of("untitled:1"), None);
    }
}
