import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { type Clock, systemClock } from "../../../lib/base/clock.ts";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { type Logger, silentLogger } from "../../../lib/base/logger.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { FileSource, type FileSourceOptions } from "./file-source.ts";
import { formatProblem } from "./source.ts";

interface Options {
  clock?: Clock;
  rescanMs?: number;
  /** Fills the directory before the source is created. */
  before?: (directory: string) => void;
  path?: (directory: string) => string;
  watchDirectory?: FileSourceOptions["watchDirectory"];
}

/** A source on its own directory, with what it logged and emitted. */
async function sourceOn(t: TestContext, options: Options = {}) {
  const directory = mkdtempSync(join(tmpdir(), "manifests-"));
  options.before?.(directory);
  const lines: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    error: (line) => lines.push(line),
    warn: (line) => lines.push(line),
  };
  const emits: Pod[][] = [];
  const source = new FileSource({
    path: options.path?.(directory) ?? directory,
    nodeName: "n",
    rescanMs: options.rescanMs ?? 3_600_000,
    clock: options.clock ?? systemClock,
    logger,
    ...(options.watchDirectory && { watchDirectory: options.watchDirectory }),
  });
  const stop = new AbortController();
  t.after(async () => {
    stop.abort();
    await source.done;
    rmSync(directory, { recursive: true, force: true });
  });
  await source.start(stop.signal, (pods) => emits.push(pods));
  return {
    directory,
    source,
    lines,
    emits,
    file: (name: string) => join(directory, name),
    names: () => (emits.at(-1) ?? []).map((pod) => pod.metadata.name.replace(/-n$/, "")).sort(),
    uids: () => (emits.at(-1) ?? []).map((pod) => pod.metadata.uid),
    problems: () => source.problems().map((p) => formatProblem(p).replaceAll(`${directory}/`, "")),
  };
}

type Source = Awaited<ReturnType<typeof sourceOn>>;

async function until(what: string, condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!condition()) {
    if (Date.now() > deadline) assert.fail(`timed out waiting for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const runs = (s: Source, ...names: string[]) =>
  until(`pods ${names.join(" ")}`, () => JSON.stringify(s.names()) === JSON.stringify(names));
const reports = (s: Source, pattern: RegExp) =>
  until(`a problem like ${pattern}`, () => s.problems().some((line) => pattern.test(line)));

/** Waits until all earlier changes were scanned: a file that is written now was read. */
let marks = 0;
async function scanned(s: Source): Promise<void> {
  const name = `zz-mark-${marks++}`;
  writeFileSync(s.file(name), "not a pod");
  await reports(s, new RegExp(`^${name}:`));
  unlinkSync(s.file(name));
  await until("the mark to go", () => !s.problems().some((line) => line.startsWith(name)));
}

function manifest(name: string, more = ""): string {
  return `apiVersion: v1\nkind: Pod\nmetadata:\n  name: ${name}\nspec:\n  containers:\n    - name: c\n      image: i:1\n${more}`;
}

// parity: field staticPodPath as path
test("pods are added, updated and removed with their files", async (t) => {
  const s = await sourceOn(t);
  assert.deepEqual(s.emits, [[]], "an empty directory is an empty set, without delay");
  writeFileSync(s.file("a.yaml"), manifest("a"));
  await runs(s, "a");
  const [first] = s.uids();
  writeFileSync(
    s.file("b.json"),
    JSON.stringify({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "b" },
      spec: { containers: [{ name: "c", image: "i" }] },
    }),
  );
  await runs(s, "a", "b");
  writeFileSync(s.file("a.yaml"), manifest("a", "  hostPID: true\n"));
  await until("another UID", () => s.uids()[0] !== first);
  unlinkSync(s.file("a.yaml"));
  await runs(s, "b");
});

test("a comment does not change the pod", async (t) => {
  const s = await sourceOn(t, { before: (directory) => writeFileSync(join(directory, "a"), manifest("a")) });
  const count = s.emits.length;
  writeFileSync(s.file("a"), `# hello\n${manifest("a")}`);
  await scanned(s);
  assert.equal(s.emits.length, count);
});

test("an invalid manifest is logged once, with file, line and field, and does not affect other pods", async (t) => {
  const rows: [name: string, content: string, problem: RegExp][] = [
    ["broken.yaml", "apiVersion: v1\nkind: Pod\nspec: [\n", /^broken\.yaml:\d+: Flow sequence/],
    [
      "none.yaml",
      manifest("x").replace(/ {2}containers[\s\S]*/, "  hostPID: true\n"),
      /^none\.yaml:\d+: spec\.containers: Required value/,
    ],
    [
      "field.yaml",
      manifest("x").replace("image: i:1", "image: 5"),
      /^field\.yaml:8: spec\.containers\[0\]\.image: expected a string, got 5/,
    ],
    [
      "image.yaml",
      manifest("x").replace("      image: i:1\n", ""),
      /^image\.yaml:7: spec\.containers\[0\]\.image: Required value/,
    ],
    ["kind.yaml", manifest("x").replace("Pod", "Deployment"), /^kind\.yaml:2: kind: expected "Pod"/],
    ["binary", "\x7fELF\0\0\x01", /^binary: not a text file/],
    ["empty", "", /^empty: the file is empty/],
  ];
  const s = await sourceOn(t, {
    before: (directory) => writeFileSync(join(directory, "good.yaml"), manifest("good")),
  });
  for (const [name, content, problem] of rows) {
    writeFileSync(s.file(name), content);
    await reports(s, problem);
  }
  for (const [, , problem] of rows) assert.ok(s.problems().some((line) => problem.test(line)));
  await scanned(s);
  for (const [name] of rows)
    assert.equal(s.lines.filter((line) => line.includes(`/${name}:`)).length, 1, name);
  assert.equal(s.emits.length, 1, "the valid pod is unchanged");

  writeFileSync(s.file("field.yaml"), manifest("fixed"));
  await runs(s, "fixed", "good");
  assert.ok(!s.problems().some((line) => line.startsWith("field.yaml")));
});

test("a manifest with a second document or a duplicate key runs, with a warning, as with the Go kubelet", async (t) => {
  const s = await sourceOn(t);
  writeFileSync(s.file("two.yaml"), `${manifest("x")}---\n${manifest("y")}`);
  await runs(s, "x");
  await until("a warning", () => s.lines.some((line) => /two\.yaml.*a second document/.test(line)));
  writeFileSync(s.file("twice.yaml"), `${manifest("z")}kind: Pod\n`);
  await runs(s, "x", "z");
  await until("a warning", () => s.lines.some((line) => /twice\.yaml.*duplicate key "kind"/.test(line)));
});

test("a manifest that becomes invalid keeps its pod until it is valid again or removed", async (t) => {
  const s = await sourceOn(t, { before: (directory) => writeFileSync(join(directory, "a"), manifest("a")) });
  const before = s.uids();
  writeFileSync(s.file("a"), "kind: [");
  await reports(s, /^a:.*its pod keeps running unchanged/);
  assert.deepEqual(s.uids(), before);
  writeFileSync(s.file("a"), manifest("a"));
  await until("no problems", () => s.problems().length === 0);
  assert.equal(s.emits.length, 1, "the same pod again is not a change");
  writeFileSync(s.file("a"), "kind: [");
  await reports(s, /^a:/);
  unlinkSync(s.file("a"));
  await runs(s);
  assert.deepEqual(s.problems(), []);
});

test("the first by name of two files with the same pod wins, until it is removed", async (t) => {
  const s = await sourceOn(t, {
    before: (directory) => writeFileSync(join(directory, "b.yaml"), manifest("p")),
  });
  const [ofB] = s.uids();
  writeFileSync(s.file("a.yaml"), manifest("p"));
  await reports(s, /^b\.yaml: metadata\.name: pod default\/p-n is already defined by a\.yaml/);
  const [ofA] = s.uids();
  assert.notEqual(ofA, ofB);
  assert.equal(s.uids().length, 1);
  writeFileSync(s.file("c.yaml"), manifest("other"));
  await runs(s, "other", "p");
  assert.equal(s.lines.length, 1, "logged once");
  unlinkSync(s.file("a.yaml"));
  await until("the pod of b.yaml", () => s.uids()[0] === ofB);
  assert.deepEqual(s.problems(), []);
});

test("a file that is not a manifest is neither read nor blocked on", async (t) => {
  const socket = createServer();
  t.after(() => socket.close());
  const s = await sourceOn(t, {
    before: (directory) => {
      writeFileSync(join(directory, "large"), "");
      truncateSync(join(directory, "large"), 100 * 1024 * 1024);
      execFileSync("mkfifo", [join(directory, "pipe")]);
      mkdirSync(join(directory, "sub"));
      writeFileSync(join(directory, "sub", "x"), manifest("x"));
      symlinkSync("nowhere", join(directory, "dangling"));
      symlinkSync("loop", join(directory, "loop"));
      symlinkSync("/dev/zero", join(directory, "device"));
      writeFileSync(join(directory, ".hidden"), manifest("hidden"));
      writeFileSync(join(directory, "good.yaml~"), manifest("backup"));
      writeFileSync(join(directory, "#good.yaml#"), manifest("autosave"));
      writeFileSync(join(directory, "good"), manifest("good"));
    },
  });
  await new Promise<void>((resolve) => socket.listen(s.file("socket"), resolve));
  await reports(s, /^socket: a socket/);
  assert.deepEqual(s.names(), ["good"]);
  const problems = s.problems().sort((a, b) => a.localeCompare(b));
  for (const [i, pattern] of [
    /^dangling: a symbolic link to something that does not exist/,
    /^device: a device/,
    /^large: 100\.0 MiB: a manifest has at most 10 MiB/,
    /^loop: cannot be read: a symbolic link to itself/,
    /^pipe: a named pipe/,
    /^socket: a socket/,
    /^sub: a directory/,
  ].entries())
    assert.match(problems[i] ?? "", pattern);
  assert.equal(problems.length, 7);
});

test("a link is followed", async (t) => {
  const s = await sourceOn(t, {
    before: (directory) => {
      writeFileSync(join(directory, ".data"), manifest("linked"));
      symlinkSync(".data", join(directory, "link.yaml"));
    },
  });
  assert.deepEqual(s.names(), ["linked"]);
  // As Kubernetes updates volumes: a hidden link is replaced below visible ones.
  writeFileSync(s.file(".new"), manifest("exchanged"));
  renameSync(s.file(".new"), s.file(".data"));
  await runs(s, "exchanged");
});

test("a file without read permission keeps its pod", {
  skip: process.getuid?.() === 0 && !canDropPrivileges(),
}, async (t) => {
  const s = await sourceOn(t, { before: (directory) => writeFileSync(join(directory, "a"), manifest("a")) });
  chmodSync(s.directory, 0o755);
  chmodSync(s.file("a"), 0);
  const user = process.geteuid?.() ?? 0;
  if (user === 0) process.seteuid?.(65534);
  try {
    await reports(s, /^a: cannot be read: permission denied; its pod keeps running/);
  } finally {
    if (user === 0) process.seteuid?.(0);
  }
  assert.deepEqual(s.names(), ["a"]);
  chmodSync(s.file("a"), 0o644);
  await until("no problems", () => s.problems().length === 0);
  assert.equal(s.emits.length, 1);
});

function canDropPrivileges(): boolean {
  try {
    process.seteuid?.(65534);
    process.seteuid?.(0);
    return true;
  } catch {
    return false;
  }
}

test("a manifest is not used while it is being written", async (t) => {
  const s = await sourceOn(t, {
    before: (directory) => writeFileSync(join(directory, "old"), manifest("old")),
  });
  const second = "    - name: second\n      image: i:2\n";
  for (const [round, name] of ["new", "old"].entries()) {
    const before = s.emits.at(-1);
    const fd = openSync(s.file(name), "w");
    // Each prefix of the file is a complete and valid pod, but not the intended one.
    for (const part of [manifest(name), second, "  hostPID: true\n"]) {
      writeSync(fd, part);
      fsyncSync(fd);
      await scanned(s);
      assert.equal(s.emits.at(-1), before, "nothing is added or removed");
    }
    closeSync(fd);
    await until(`the whole of ${name}`, () => s.emits.at(-1) !== before);
    assert.equal(s.emits.length, round + 2, "in one step");
    const pod = s.emits.at(-1)?.find((each) => each.metadata.name === `${name}-n`);
    assert.equal(pod?.spec.containers.length, 2);
    assert.equal(pod.spec.hostPID, true);
  }
  assert.deepEqual(s.problems(), []);
});

test("a writer that opens and closes the file repeatedly causes one change", async (t) => {
  const s = await sourceOn(t);
  writeFileSync(s.file("a"), "");
  for (const line of manifest("a").split("\n")) appendFileSync(s.file("a"), `${line}\n`);
  await runs(s, "a");
  assert.equal(s.emits.length, 2);
  assert.deepEqual(s.lines, [], "nothing was logged about intermediate states");
});

test("editors that rename do not remove the pod", async (t) => {
  const s = await sourceOn(t, {
    before: (directory) => writeFileSync(join(directory, "a.yaml"), manifest("a")),
  });
  renameSync(s.file("a.yaml"), s.file("a.yaml~"));
  writeFileSync(s.file("4913"), "");
  unlinkSync(s.file("4913"));
  writeFileSync(s.file("a.yaml"), manifest("a", "  hostPID: true\n"));
  unlinkSync(s.file("a.yaml~"));
  await until("the new pod", () => s.emits.at(-1)?.[0]?.spec.hostPID === true);
  assert.deepEqual(
    s.emits.map((pods) => pods.length),
    [1, 1],
    "the pod was never removed",
  );
});

test("a manifest that is deleted and written again removes and adds its pod", async (t) => {
  const s = await sourceOn(t, {
    before: (directory) => {
      writeFileSync(join(directory, "a"), manifest("a"));
      writeFileSync(join(directory, "b"), manifest("b"));
    },
  });
  const before = s.uids();
  unlinkSync(s.file("a"));
  writeFileSync(s.file("a"), manifest("a"));
  await until("the set without it, and the set with it", () => s.emits.length === 3);
  assert.deepEqual(
    s.emits.map((pods) => pods.map((pod) => pod.metadata.name)),
    [["a-n", "b-n"], ["b-n"], ["a-n", "b-n"]],
  );
  assert.deepEqual(s.uids(), before, "with the same UID");
  await scanned(s);
  assert.equal(s.emits.length, 3, "once");
});

test("a manifest that is deleted and written again as no pod removes its pod", async (t) => {
  const s = await sourceOn(t, { before: (directory) => writeFileSync(join(directory, "a"), manifest("a")) });
  unlinkSync(s.file("a"));
  writeFileSync(s.file("a"), "kind: [");
  await runs(s);
  assert.match(s.problems().join("\n"), /^a:\d+: (?!.*keeps running)/);
});

test("the file of a duplicate pod can be deleted and written again", async (t) => {
  const s = await sourceOn(t, {
    before: (directory) => {
      writeFileSync(join(directory, "a"), manifest("p"));
      writeFileSync(join(directory, "b"), manifest("p"));
    },
  });
  const before = s.uids();
  unlinkSync(s.file("a"));
  writeFileSync(s.file("a"), manifest("p"));
  await until("the pod of a again", () => s.emits.length === 3);
  assert.deepEqual([s.emits[1], s.uids()], [[], before], "the pod of b was never emitted");
});

test("a single manifest that is deleted and written again removes and adds its pod", async (t) => {
  const s = await sourceOn(t, {
    path: (directory) => join(directory, "pod.yaml"),
    before: (directory) => writeFileSync(join(directory, "pod.yaml"), manifest("a")),
  });
  unlinkSync(s.file("pod.yaml"));
  writeFileSync(s.file("pod.yaml"), manifest("a"));
  await until("the pod again", () => s.emits.length === 3);
  assert.deepEqual(
    s.emits.map((pods) => pods.length),
    [1, 0, 1],
  );
});

test("a directory that is deleted and recreated removes and adds its pods", async (t) => {
  const directory = (at: string) => join(at, "manifests");
  const fill = (at: string, more = "") => {
    mkdirSync(directory(at));
    writeFileSync(join(directory(at), "a"), manifest("a", more));
  };
  const s = await sourceOn(t, { path: directory, before: fill });
  rmSync(directory(s.directory), { recursive: true });
  fill(s.directory);
  await until("the pod again", () => s.emits.length === 3);
  assert.deepEqual(
    s.emits.map((pods) => pods.length),
    [1, 0, 1],
  );
  writeFileSync(join(directory(s.directory), "b"), manifest("b"));
  await runs(s, "a", "b");
});

/** Operations of users and programs on a file, each within the quiet period of a file. */
const fileOperations = {
  "write in place": (s: Source) => writeFileSync(s.file("a"), manifest("a")),
  "rename over it": (s: Source) => {
    writeFileSync(s.file(".a.tmp"), manifest("a"));
    renameSync(s.file(".a.tmp"), s.file("a"));
  },
  "move it away, write, delete the copy": (s: Source) => {
    renameSync(s.file("a"), s.file("a~"));
    writeFileSync(s.file("a"), manifest("a"));
    unlinkSync(s.file("a~"));
  },
  "move it away and back": (s: Source) => {
    renameSync(s.file("a"), s.file(".a.bak"));
    renameSync(s.file(".a.bak"), s.file("a"));
  },
  "delete another": (s: Source) => {
    writeFileSync(s.file("4913"), "");
    unlinkSync(s.file("4913"));
  },
  "delete and write": (s: Source) => {
    unlinkSync(s.file("a"));
    writeFileSync(s.file("a"), manifest("a"));
  },
  "delete and rename into place": (s: Source) => {
    writeFileSync(s.file(".a.tmp"), manifest("a"));
    unlinkSync(s.file("a"));
    renameSync(s.file(".a.tmp"), s.file("a"));
  },
};

test("deletion is the only operation on an unchanged manifest that removes its pod", async (t) => {
  const s = await sourceOn(t, { before: (directory) => writeFileSync(join(directory, "a"), manifest("a")) });
  const operations = Object.keys(fileOperations) as (keyof typeof fileOperations)[];
  const histories = fc.array(fc.constantFrom(...operations), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      const emitted = s.emits.length;
      for (const operation of history) fileOperations[operation](s);
      await scanned(s);
      const removed = history.some((operation) => operation.startsWith("delete and"));
      const sets = s.emits.slice(emitted).map((pods) => pods.length);
      // On a slow machine two deletions may be observed one by one.
      if (removed) assert.match(sets.join(" "), /^0 1( 0 1)*$/);
      else assert.deepEqual(sets, []);
    }),
    { numRuns: 25 },
  );
});

test("an atomic rename replaces the pod", async (t) => {
  const s = await sourceOn(t, { before: (directory) => writeFileSync(join(directory, "a"), manifest("a")) });
  writeFileSync(s.file(".a.tmp"), manifest("b"));
  renameSync(s.file(".a.tmp"), s.file("a"));
  await runs(s, "b");
  assert.equal(s.emits.length, 2);
});

test("the directory may be created later, removed, and recreated", async (t) => {
  const s = await sourceOn(t, { path: (directory) => join(directory, "manifests") });
  assert.deepEqual(s.emits, [[]]);
  assert.deepEqual(s.source.health(), { ok: true });
  for (const name of ["first", "second"]) {
    mkdirSync(s.file("manifests"));
    writeFileSync(join(s.file("manifests"), "x"), manifest(name));
    await runs(s, name);
    writeFileSync(join(s.file("manifests"), "y"), manifest("more"));
    await runs(s, ...(name < "more" ? [name, "more"] : ["more", name]));
    rmSync(s.file("manifests"), { recursive: true });
    await runs(s);
  }
});

test("the path may be a single file", async (t) => {
  const s = await sourceOn(t, { path: (directory) => join(directory, "pod.yaml") });
  writeFileSync(s.file("pod.yaml"), manifest("a"));
  await runs(s, "a");
  writeFileSync(s.file("other.yaml"), manifest("other"));
  writeFileSync(s.file("next"), manifest("b"));
  renameSync(s.file("next"), s.file("pod.yaml"));
  await runs(s, "b");
  unlinkSync(s.file("pod.yaml"));
  await runs(s);
});

test("200 manifests are read concurrently", async (t) => {
  const s = await sourceOn(t);
  const names = Array.from({ length: 200 }, (_, i) => `p${String(i).padStart(3, "0")}`);
  for (const name of names) writeFileSync(s.file(name), manifest(name));
  await runs(s, ...names);
  for (const name of names.slice(1)) unlinkSync(s.file(name));
  await runs(s, "p000");
  assert.deepEqual(s.lines, []);
});

test("unknown fields are ignored, with a warning", async (t) => {
  const s = await sourceOn(t, {
    before: (directory) => writeFileSync(join(directory, "a"), manifest("a", "      imge: typo\n")),
  });
  assert.deepEqual(s.names(), ["a"]);
  assert.equal(s.lines.length, 1);
  assert.match(s.lines[0] ?? "", /a:9: spec\.containers\[0\]\.imge: unknown field, ignored$/);
});

// parity: field fileCheckFrequency as rescanMs
test("the periodic rescan finds changes if the directory cannot be watched", async (t) => {
  const clock = new FakeClock();
  const noWatch: FileSourceOptions["watchDirectory"] = () => ({ close() {} });
  const s = await sourceOn(t, { clock, rescanMs: 20_000, watchDirectory: noWatch });
  writeFileSync(s.file("a"), manifest("a"));
  await clock.advance(19_999);
  await settle(20);
  assert.deepEqual(s.names(), []);
  await clock.advance(1);
  await runs(s, "a");
  unlinkSync(s.file("a"));
  await until("the loop to wait again", () => clock.pending > 0);
  await clock.advance(20_000);
  await runs(s);
});

test("a file that is never closed is read after the maximum wait", async (t) => {
  const clock = new FakeClock();
  const noWatch: FileSourceOptions["watchDirectory"] = () => ({ close() {} });
  let fd = -1;
  const s = await sourceOn(t, {
    clock,
    watchDirectory: noWatch,
    before: (directory) => {
      fd = openSync(join(directory, "a"), "w");
      writeSync(fd, manifest("a"));
    },
  });
  t.after(() => closeSync(fd));
  assert.deepEqual(s.emits, [], "the first set waits for it");
  for (let waited = 0; s.emits.length === 0; waited += 30) {
    assert.ok(waited < 11_000, "waited too long");
    await until("the loop to wait", () => clock.pending > 0);
    if (waited < 9_900) assert.deepEqual(s.emits, []);
    await clock.advance(30);
    await settle(20);
  }
  await runs(s, "a");
});

test("a failed watch is logged once, and the rescan continues", async (t) => {
  const clock = new FakeClock();
  const s = await sourceOn(t, {
    clock,
    rescanMs: 1000,
    watchDirectory: () => {
      throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
    },
  });
  writeFileSync(s.file("a"), manifest("a"));
  await clock.advance(1000);
  await runs(s, "a");
  assert.equal(s.lines.filter((line) => line.startsWith("Failed to watch")).length, 1);
});
