import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { basename } from "node:path";

/** kubelet-ts's own commands, with the summary and the options of their help texts. */
export function readCommands(root) {
  return globSync("src/cli/*-command.ts", { cwd: root })
    .map((path) => basename(path, "-command.ts"))
    .filter((name) => name !== "agent" && name !== "help")
    .sort()
    .map((name) => {
      const args = [`${root}dist/main.cjs`, name, "--help"];
      const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
      if (status !== 0) throw new Error(`kubelet ${name} --help: ${stderr}`);
      return { name, ...parseHelp(stdout) };
    });
}

/**
 * A help text is "kubelet NAME ARGUMENTS: summary", then a row for each option: two spaces, the option, its value if it has one, its
 * description; a description continues on lines with more indentation.
 */
export function parseHelp(text) {
  const [head, ...lines] = text.split("\n");
  const [, synopsis, summary] = /^(kubelet .*?): (.+)$/.exec(head) ?? [];
  if (!summary) throw new Error(`not the head of a help text: ${head}`);
  const options = [];
  let current;
  for (const line of lines) {
    const row = /^ {2}(-{1,2}[a-z][\w-]*)(?: ([A-Z]+|json))? +(\S.*)$/.exec(line);
    if (row) {
      current = { flag: row[1], value: row[2], help: row[3] };
      options.push(current);
    } else if (current && /^ {10,}\S/.test(line)) current.help += ` ${line.trim()}`;
    else current = undefined;
  }
  return { synopsis, summary, options };
}
