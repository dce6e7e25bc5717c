// Starts `palisade lsp` for .pal files.
const { workspace } = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const settings = workspace.getConfiguration("palisade");
  const command = settings.get("path", "palisade");
  const server = { command, args: ["lsp"], transport: TransportKind.stdio };
  client = new LanguageClient("palisade", "Palisade", server, {
    documentSelector: [{ language: "pal" }],
    initializationOptions: { models: settings.get("models", "expected") },
  });
  return client.start();
};

exports.deactivate = () => client?.stop();
