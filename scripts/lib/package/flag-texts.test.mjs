import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { flagTable } from "../../../src/lib/config/flags/table.ts";
import { bashCompletion, fishCompletion, zshCompletion } from "./completions.mjs";
import { flagsWithChoices } from "./flag-choices.mjs";
import { manPage } from "./man-page.mjs";

const flags = [...flagTable.values()];
const commands = [
  {
    name: "pods",
    synopsis: "kubelet pods",
    summary: "list the pods' names",
    options: [
      { flag: "-o", value: "json", help: "print JSON" },
      { flag: "--all", help: "all [of them]" },
    ],
  },
  { name: "up", synopsis: "kubelet up", summary: "start", options: [] },
];
const input = { flags, commands, gates: ["AllAlpha", "NodeLogQuery"] };
const man = manPage({
  groups: [{ title: "All", flags }],
  defaults: { "max-pods": "110" },
  commands,
  gates: ["AllAlpha=true|false"],
  version: "1.0.0-x",
  seconds: 0,
});
let dir;

before(() => {
  dir = mkdtempSync(join(tmpdir(), "flag-texts-"));
});
after(() => rmSync(dir, { recursive: true, force: true }));

/** The output, or undefined if there is no such program. */
function run(program, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: "utf8", ...options });
  if (error?.code === "ENOENT") return undefined;
  assert.equal(status, 0, stderr);
  return stdout + stderr;
}

test("values are offered only for flags that exist", () => {
  for (const name of flagsWithChoices) assert.ok(flagTable.has(name), name);
});

for (const [line, ...expected] of [
  ["kubelet po", "pods"],
  ["kubelet --config", "--config=", "--config-dir="],
  ["kubelet --cgroup-driver=", "cgroupfs", "systemd"],
  ["kubelet --cgroup-driver sys", "systemd"],
  ["kubelet --runonce=", "true", "false"],
  ["kubelet --runonce --versio", "--version"],
  ["kubelet --feature-gates=Node", "NodeLogQuery=true", "NodeLogQuery=false"],
  ["kubelet --root-dir=/us", "/usr"],
  ["kubelet pods -", "-o", "--all", "--help"],
  ["kubelet pods -o j", "json"],
]) {
  test(`bash completes "${line}"`, () => {
    const script = `${bashCompletion(input)}
compopt() { :; }
COMP_LINE=$1
COMP_WORDS=(\${1//=/ = })
COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
_kubelet
printf '%s\\n' "\${COMPREPLY[@]}"
`;
    assert.deepEqual(run("bash", ["-c", script, "bash", line])?.trim().split("\n"), expected);
  });
}

test("the completions of zsh and fish load, where these are installed, and have all flags", (t) => {
  const zsh = zshCompletion(input);
  const fish = fishCompletion(input);
  for (const { name } of flags) {
    assert.ok(zsh.includes(`'--${name}`), name);
    assert.match(fish, new RegExp(` -${name.length === 1 ? "s" : "l"} ${name} `));
  }
  writeFileSync(join(dir, "_kubelet"), zsh);
  writeFileSync(join(dir, "kubelet.fish"), fish);
  if (run("zsh", ["-n", join(dir, "_kubelet")]) === undefined) t.diagnostic("zsh is not installed");
  if (run("fish", ["--no-execute", join(dir, "kubelet.fish")]) === undefined)
    t.diagnostic("fish is not installed");
});

test("the man page has all flags, and no text line that roff would read as a control line", () => {
  for (const { name } of flags) assert.ok(man.includes(`\\-\\-${name.replaceAll("-", "\\-")}`), name);
  const macros = new Set(["TH", "SH", "SS", "TP", "B", "BR", "I", "RI", "RS", "RE", "PP", "br", "nf", "fi"]);
  for (const line of man.split("\n")) {
    assert.ok(/^[\x20-\x7e]*$/.test(line), line);
    if (/^[.']/.test(line)) assert.ok(macros.has(/^\.(\w+)/.exec(line)?.[1]), line);
  }
  assert.match(man, /\(default 110\)\. Deprecated\./);
});

test("man and mandoc, where they are installed, accept the man page", (t) => {
  const path = join(dir, "kubelet.8");
  writeFileSync(path, man);
  const shown = run("man", ["--warnings", "-l", path], {
    env: { ...process.env, MAN_KEEP_FORMATTING: "", LC_ALL: "C" },
  });
  if (shown === undefined) t.diagnostic("man is not installed");
  else {
    assert.match(shown, /--max-pods/);
    assert.doesNotMatch(shown, /warning:/);
  }
  const problems = run("mandoc", ["-Tlint", "-Wwarning", path]);
  if (problems === undefined) t.diagnostic("mandoc is not installed");
  else assert.equal(problems, "");
});
