// Starts `gradwright lsp` for the YAML of operators, and for the kernels and helpers beside it.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const [command, ...args] = workspace.getConfiguration("gradwright").get("command");
  const yaml = "**/{native_functions,derivatives,samples}.yaml";
  client = new LanguageClient("gradwright", "Gradwright", { command, args }, {
    documentSelector: [{ pattern: yaml }, { language: "python" }, { language: "cpp" }].map(
      (each) => ({ scheme: "file", ...each })),
    synchronize: { fileEvents: [yaml, "**/*.{py,cpp,hpp}"].map((pattern) => workspace.createFileSystemWatcher(pattern)) },
  });
  return client.start();
};

exports.deactivate = () => client?.stop();
