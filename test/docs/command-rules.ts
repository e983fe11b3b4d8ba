import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseFlags } from "../../src/lib/config/flags/parse.ts";
import type { Command } from "./document-commands.ts";

export const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string) => readFileSync(`${root}${file}`, "utf8");
const scripts = Object.keys(JSON.parse(read("package.json")).scripts as object);

/** The file that parses the options of an npm script, as a pattern. */
const scriptSources: Readonly<Record<string, string>> = {
  package: "scripts/lib/package/make-packages.mjs",
  takeover: "scripts/takeover.mjs",
  bench: "test/bench/**/*.ts",
  fuzz: "test/fuzz/main.ts",
  neighbor: "test/neighbor/neighbor.ts",
};
const ownCommands = [...read("src/cli/main.ts").matchAll(/^ +case "(\w+)":/gm)].map(([, name]) => name!);
const kubectlVerbs = new Set(
  "annotate api-resources api-versions apply attach auth certificate cluster-info config cordon cp create debug delete describe drain edit events exec explain get label logs patch port-forward replace rollout run scale set taint top uncordon version wait why".split(
    " ",
  ),
);
const units = new Set(["kubelet", "containerd", "kubepods.slice", "systemd-sysctl"]);

const helps = new Map<string, string>();
function helpOf(command: string): string {
  if (!helps.has(command)) {
    const { stdout } = spawnSync(process.execPath, [`${root}src/cli/main.ts`, command, "--help"]);
    helps.set(command, String(stdout));
  }
  return helps.get(command)!;
}

type Problem = string | undefined;
const isPlaceholder = (arg: string) => /^[A-Z]+$|[<…]/.test(arg);
const flagsIn = (args: readonly string[]) =>
  args.filter((arg) => /^--?[a-z]/i.test(arg)).map((arg) => arg.replace(/=.*/s, ""));

/** Flags of one of our own commands, as its help lists them. */
function ownProblem(command: string, args: readonly string[]): Problem {
  const help = helpOf(command);
  const unknown = flagsIn(args).find(
    (flag) => flag !== "--help" && !new RegExp(`^ *${flag} `, "m").test(help),
  );
  return unknown && `kubelet ${command} has no option ${unknown}`;
}

function kubeletProblem([command = "", ...rest]: readonly string[]): Problem {
  if (ownCommands.includes(command)) return ownProblem(command, rest);
  if (!command.startsWith("-")) return `kubelet has no command ${command}`;
  try {
    parseFlags([command, ...rest].filter((arg) => !isPlaceholder(arg)));
  } catch (error) {
    return String((error as Error).message);
  }
  return undefined;
}

function npmProblem([verb = "", ...rest]: readonly string[]): Problem {
  if (["install", "prefix"].includes(verb)) return undefined;
  const script = verb === "run" ? rest.shift()! : verb;
  if (!scripts.includes(script)) return `package.json has no script ${script}`;
  if (rest.length === 0) return undefined;
  if (rest.shift() !== "--") return 'arguments of an npm script follow "--"';
  if (script === "start") return ownProblem("up", rest);
  if (script.startsWith("test")) return rest.map(testProblem).find(Boolean);
  const source = scriptSources[script];
  if (!source) return `the script ${script} takes no arguments`;
  const text = globSync(source, { cwd: root }).map(read).join("\n");
  const unknown = flagsIn(rest).find((flag) => !new RegExp(`\\b${flag.replace(/^-+/, "")}\\b`).test(text));
  return unknown && `${source} has no option ${unknown}`;
}

let testFiles: string[] | undefined;
function testProblem(part: string): Problem {
  testFiles ??= ["src", "test", "scripts"].flatMap((dir) =>
    globSync(`${dir}/**/*.test.{ts,mjs}`, { cwd: root }),
  );
  if (part === "--rest" || isPlaceholder(part) || testFiles.some((file) => file.includes(part)))
    return undefined;
  return `no test file has ${part} in its path`;
}

function nodeProblem(args: readonly string[]): Problem {
  const at = args.findIndex((arg) => /\.(?:ts|mjs)$/.test(arg));
  const missing = args.slice(at).find((arg) => /\.(?:ts|mjs)$/.test(arg) && !existsSync(`${root}${arg}`));
  if (missing) return `there is no ${missing}`;
  return args[at] === "src/cli/main.ts" ? kubeletProblem(args.slice(at + 1)) : undefined;
}

/** Files after -f are in the repository. */
function kubectlProblem(args: readonly string[]): Problem {
  const verb = args.find((arg) => !arg.startsWith("-"));
  if (!verb || !kubectlVerbs.has(verb)) return `kubectl has no command ${verb}`;
  const file = args[args.indexOf("-f") + 1];
  return args.includes("-f") && !existsSync(`${root}${file}`) ? `there is no ${file}` : undefined;
}

function unitProblem(args: readonly string[]): Problem {
  const at = args.indexOf("-u") + 1;
  const unit = at > 0 ? args[at] : args[1];
  return unit !== undefined && !units.has(unit) ? `unknown unit ${unit}` : undefined;
}

/** The path of a URL is one that a server of the kubelet has. */
function curlProblem(args: readonly string[]): Problem {
  const url = args.findLast((arg) => /^(?:https?:\/\/|[\d.]+:)/.test(arg)) ?? "";
  const path = /^(?:https?:\/\/)?[^/]*(\/[^?]*)?/.exec(url)?.[1];
  if (!path) return undefined;
  const routes = globSync("src/kubelet/server/**/*.ts", { cwd: root, exclude: ["**/*.test.ts"] })
    .map(read)
    .join("\n");
  const known = path.startsWith("/manifests/") ? "/manifests" : path;
  return new RegExp(`"${known}["/?]`).test(routes) ? undefined : `no server of the kubelet has ${path}`;
}

/** Files of the archive, or of the repository. */
function copyProblem([from = ""]: readonly string[]): Problem {
  if (from.startsWith("examples/")) return existsSync(`${root}${from}`) ? undefined : `there is no ${from}`;
  return read("scripts/lib/package/program-files.mjs").includes(`"${from}"`)
    ? undefined
    : `the archive has no ${from}`;
}

const noRule = () => undefined;
const rules: Readonly<Record<string, (args: readonly string[]) => Problem>> = {
  kubelet: kubeletProblem,
  "bin/kubelet": kubeletProblem,
  node: nodeProblem,
  "node_modules/.bin/node": nodeProblem,
  npm: npmProblem,
  kubectl: kubectlProblem,
  $conf: ([verb = ""]) =>
    /^(?:set-(?:cluster|credentials|context)|use-context)$/.test(verb)
      ? undefined
      : `kubectl config has no ${verb}`,
  systemctl: unitProblem,
  journalctl: unitProblem,
  "systemd-cgls": unitProblem,
  curl: curlProblem,
  cp: copyProblem,
  promtool: (args) => (existsSync(`${root}${args.at(-1)}`) ? undefined : `there is no ${args.at(-1)}`),
  apt: ([verb = ""]) =>
    /^(?:install|remove|purge|autoremove|update)$/.test(verb) ? undefined : `apt has no command ${verb}`,
  "apt-mark": ([verb = ""]) =>
    /^(?:manual|auto|hold|unhold)$/.test(verb) ? undefined : `apt-mark has no command ${verb}`,
  ...Object.fromEntries(
    [
      ...[
        "kubeadm",
        "systemd-inhibit",
        "crictl",
        "openssl",
        "tar",
        "ln",
        "cd",
        "mkdir",
        "rm",
        "cat",
        "sed",
        "ls",
        "sysctl",
        "dpkg-scanpackages",
        "export",
      ],
      ...["sha256sum", "conf="],
    ].map((program) => [program, noRule]),
  ),
};

/** The problem of a command, if there is one. */
export function problemOf({ args: [program = "", ...rest] }: Pick<Command, "args">): Problem {
  const rule = rules[program.startsWith("conf=") ? "conf=" : program];
  return rule ? rule(rest) : `there is no rule for ${program}`;
}
