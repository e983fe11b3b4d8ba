export interface Command {
  readonly file: string;
  readonly line: number;
  /** The arguments, with the program first. */
  readonly args: readonly string[];
}

/** Programs that the documents name; also those that are followed by a file of this repository. */
export const programs = [
  ...["kubelet", "bin/kubelet", "node_modules/.bin/node", "node", "npm", "kubectl", "$conf", "kubeadm"],
  ...["systemctl", "journalctl", "systemd-cgls", "systemd-inhibit", "crictl", "curl", "openssl", "promtool"],
  ...[
    "apt",
    "apt-mark",
    "dpkg-scanpackages",
    "sysctl",
    "tar",
    "ln",
    "cd",
    "cp",
    "ls",
    "mkdir",
    "rm",
    "cat",
    "export",
  ],
  ...["sha256sum", "conf="],
];

const startsProgram = (line: string) => {
  const [first = ""] = line.split(/[\s"]/);
  return programs.includes(first);
};

/** All commands of a document. */
export function commandsOf(file: string, text: string): Command[] {
  const lineAt = (index: number) => text.slice(0, index).split("\n").length;
  const commands: Command[] = [];
  const add = (at: number, command: string) => {
    for (const part of command.split(/ (?:&&|\|) /))
      commands.push({ file, line: lineAt(at), args: argsOf(part) });
  };
  const prose = text.replace(/^( *)```(\w*)\n([\s\S]*?)^\1```/gm, (block, _indent, language, body, at) => {
    // A command that continues on the next line is found by its start.
    if (language === "")
      for (const line of blockCommands(body)) add(at + block.indexOf(line.slice(0, 12)), line);
    return block.replace(/[^\n]/g, " ");
  });
  for (const match of prose.matchAll(/`([^`]+)`/g))
    if (startsProgram(match[1]!) && match[1]!.includes(" ")) add(match.index, match[1]!.replace(/\s+/g, " "));
  return commands;
}

function blockCommands(body: string): string[] {
  const lines = withoutHereDocuments(body)
    .replaceAll(/\\\n\s*/g, "")
    .split("\n");
  const prompted = lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
  if (prompted.length > 0) return prompted;
  return startsProgram(lines[0] ?? "") ? lines.filter((line) => line !== "") : [];
}

/** A here-document is the input of its command, up to the line that ends it. */
const withoutHereDocuments = (body: string) =>
  body.replaceAll(/^(.*<<-?\s*(["']?)(\w+)\2.*\n)[\s\S]*?^\3$\n?/gm, "$1");

/** The command without comments, redirections and quotes. */
function argsOf(command: string): string[] {
  const args = command.replace(/\s+#.*$/, "").match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  const end = args.findIndex((arg) => /^(?:<<|>|2>)/.test(arg));
  return (end < 0 ? args : args.slice(0, end)).map((arg) => arg.replace(/^(["'])(.*)\1$/s, "$2"));
}
