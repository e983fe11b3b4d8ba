import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { test } from "node:test";
import { version } from "./version.ts";

const main = new URL("./main.ts", import.meta.url).pathname;

function kubelet(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: "utf8" });
  return { status, stdout, stderr };
}

// parity: flag help, flag version
test("help and version need neither a configuration file nor valid fields", () => {
  const broken = ["--config=/nowhere", "--max-pods=-1"];
  const onlyDeprecated = /^Flag --max-pods has been deprecated, [^\n]+\n$/;
  const raw = new RegExp(
    `^version\\.Info{Major:"1", Minor:"36", .*GitVersion:"${version}", .*Platform:"linux/(amd64|arm64)"}\\n$`,
  );
  for (const [flag, output] of [
    ["--version", new RegExp(`^Kubernetes ${version}\\n$`)],
    ["--version=raw", raw],
  ] as const) {
    const { status, stdout, stderr } = kubelet(flag, ...broken);
    assert.equal(status, 0);
    assert.match(stdout, output);
    assert.match(stderr, onlyDeprecated);
  }
  const { status, stdout, stderr } = kubelet("--help", ...broken);
  assert.equal(status, 0);
  assert.match(stderr, onlyDeprecated);
  assert.match(stdout, /^ +--max-pods int32 /m);
});

test("each use of a deprecated flag is reported on standard error, before anything else", () => {
  const { status, stdout, stderr } = kubelet("--max-pods=5", "--version", "--cloud-config=/x");
  assert.deepEqual([status, stdout], [0, `Kubernetes ${version}\n`]);
  assert.match(
    stderr,
    /^Flag --max-pods has been deprecated, This parameter [^\n]+\nFlag --cloud-config has been deprecated, will [^\n]+\n$/,
  );
});

test("an unknown flag together with --version is an error", () => {
  assert.deepEqual(kubelet("--version", "--nope"), {
    status: 1,
    stdout: "",
    stderr: "kubelet: unknown flag: --nope\n",
  });
});

test("--version=false starts the agent", () => {
  const { status, stdout, stderr } = kubelet("--version=false", "--config=/nowhere");
  assert.deepEqual([status, stdout], [1, ""]);
  assert.match(stderr, /^kubelet: \/nowhere: cannot be read: ENOENT/);
});

test("an unknown command is an error", () => {
  const { status, stderr } = kubelet("nope");
  assert.equal(status, 1);
  assert.equal(
    stderr,
    "kubelet: unknown command: nope (`kubelet help` lists the commands; without a command: the agent)\n",
  );
});

test("a mistyped command is an error that names the one that was probably meant", () => {
  for (const args of [
    ["explane", "web"],
    ["help", "explane"],
  ]) {
    const { status, stderr } = kubelet(...args);
    assert.equal(status, 1);
    assert.match(stderr, /^kubelet: unknown command: explane, did you mean explain\? /);
  }
});

test("help lists all commands, and has an example for each", () => {
  const { status, stdout } = kubelet("help");
  assert.equal(status, 0);
  const commands = [...stdout.matchAll(/^ {2}kubelet ([a-z]+) /gm)].map(([, name]) => name!);
  const files = globSync("*-command.ts", { cwd: new URL(".", import.meta.url).pathname });
  assert.deepEqual(
    commands.toSorted(),
    files
      .map((file) => file.replace("-command.ts", ""))
      .filter((name) => name !== "agent")
      .sort(),
  );
  for (const command of commands.filter((name) => name !== "help")) {
    const { stdout: text } = kubelet("help", command);
    assert.match(text, new RegExp(`^kubelet ${command}`));
    assert.match(text, new RegExp(`^Examples:\n(  \\S.*\n)*  .*\\bkubelet ${command}`, "m"), command);
    assert.equal(text, kubelet(command, "--help").stdout);
  }
});
