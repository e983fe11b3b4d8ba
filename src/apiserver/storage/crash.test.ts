import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { isStoreError } from "./errors.ts";
import { anObject, pod } from "./fixtures.ts";
import { Store } from "./store.ts";

// A child process writes and reports each acknowledgement, until it is killed in the middle of it.

const rounds = Number(process.env.STORE_CRASH_ROUNDS ?? 10);
const writers = 8;
const childPath = process.env.STORE_CRASH_TEST_PATH;

interface Ack {
  readonly name: string;
  readonly version: number;
  /** undefined: it was deleted. */
  readonly n: number | undefined;
}

if (childPath) writeForever(childPath);
else test(`no acknowledged write is lost and no version is used twice, killed ${rounds} times`, killRounds);

function writeForever(path: string): void {
  const store = Store.open({
    path,
    firstVersion: 0,
    limits: { maxAgeMs: 60_000, maxEvents: 200, maxChars: 1e9 },
  });
  for (let i = 0; i < writers; i++) void writeOne(store, `w${i}`);
}

async function writeOne(store: Store, name: string): Promise<never> {
  const key = pod(name);
  for (;;) {
    const last = await store.get(key).catch((error) => {
      if (isStoreError(error, "NotFound")) return undefined;
      throw error;
    });
    const n = Number(last?.value.n ?? 0) + 1;
    const padding = "x".repeat(2000);
    const isDeletion = n % 10 === 0 && last;
    const written = isDeletion
      ? await store.delete(key)
      : await store.apply(key, () => ({ kind: "put", object: anObject(key, { n, padding }) }));
    // The next write begins when this one is in the pipe: what Node.js buffers while the pipe is full is lost with the process.
    const ack: Ack = { name, version: written!.version, n: isDeletion ? undefined : n };
    await new Promise((resolve) => process.stdout.write(`${JSON.stringify(ack)}\n`, resolve));
  }
}

async function killRounds(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "store-crash-"));
  const path = join(directory, "api.db");
  let newest = 0;
  let total = 0;
  try {
    for (let round = 0; round < rounds; round++) {
      const acks = await runAndKill(path, 1 + Math.floor(Math.random() * 60));
      total += acks.length;
      const versions = acks.map((ack) => ack.version);
      assert.equal(new Set(versions).size, versions.length, "a version was assigned twice");
      assert.ok(Math.min(...versions) > newest, `version ${Math.min(...versions)} came after ${newest}`);
      newest = Math.max(...versions);
      await checkAll(path, acks);
    }
    assert.ok(total >= rounds);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** All writes that the child acknowledged before it was killed, including those still in the pipe. */
async function runAndKill(path: string, after: number): Promise<Ack[]> {
  const env = { ...process.env, STORE_CRASH_TEST_PATH: path, NODE_TEST_CONTEXT: undefined };
  const child = spawn(process.execPath, [import.meta.filename], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const acks: Ack[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    // The kill may have truncated the last line; such a write is not acknowledged.
    if (!line.endsWith("}")) continue;
    acks.push(JSON.parse(line) as Ack);
    if (acks.length === after) child.kill("SIGKILL");
  }
  const [, signal] = await exited;
  assert.equal(signal, "SIGKILL");
  return acks;
}

async function checkAll(path: string, acks: readonly Ack[]): Promise<void> {
  const store = Store.open({ path });
  try {
    const items = (await store.list({ resource: "pods" })).items;
    const stored = new Map(items.map((item) => [item.key.name, item]));
    const last = new Map(acks.map((ack) => [ack.name, ack]));
    for (const { name, version, n } of last.values()) {
      assert.ok(store.currentVersion >= version, `version ${version} is lost`);
      const object = stored.get(name);
      // Beyond its last acknowledgement a writer has at most one unacknowledged write.
      if (object?.version === version || (!object && n === undefined)) {
        assert.equal(object?.value.n, n);
      } else if (object) {
        assert.ok(object.version > version, `${name} went back to ${object.version} from ${version}`);
        assert.equal(object.value.n, (n ?? 0) + 1);
      } else {
        assert.equal(n! % 10, 9, `${name} is lost`);
      }
    }
    await checkHistory(store, acks);
  } finally {
    store.close();
  }
}

/** Acknowledged writes are also in the history, unless it is compacted. */
async function checkHistory(store: Store, acks: readonly Ack[]): Promise<void> {
  const from = store.compactedVersion;
  const inHistory = new Set<number>();
  const start = { kind: "after", version: from } as const;
  for await (const event of store.watch({ resource: "pods" }, { start, timeoutMs: 60_000 })) {
    inHistory.add(event.version);
    if (event.version === store.currentVersion) break;
  }
  for (const { version } of acks)
    assert.ok(version <= from || inHistory.has(version), `version ${version} is not in the history`);
}
