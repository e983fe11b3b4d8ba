import assert from "node:assert/strict";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { systemClock } from "../../../../lib/base/clock.ts";
import { httpStatusOf } from "../../../../lib/base/errors.ts";
import { FakeClock, settle } from "../../../../lib/base/fake-clock.ts";
import { type Logger, silentLogger } from "../../../../lib/base/logger.ts";
import { LocalObjects } from "./local-objects.ts";

const { signal } = new AbortController();
const secret = (name: string, value: string) =>
  `apiVersion: v1\nkind: Secret\nmetadata: {name: ${name}}\nstringData: {v: "${value}"}\n`;

describe("local objects", () => {
  let parent: string;
  let dir: string;
  let stop: AbortController;
  let logged: string[];
  let logger: Logger;

  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), "local-objects-"));
    dir = join(parent, "objects");
    mkdirSync(dir);
    stop = new AbortController();
    logged = [];
    const log = (message: string) => logged.push(message.replaceAll(dir, "DIR"));
    logger = { ...silentLogger, info: log, warn: log, error: log };
  });
  afterEach(() => {
    stop.abort();
    rmSync(parent, { recursive: true, force: true });
  });

  const write = (name: string, text: string) => writeFileSync(join(dir, name), text);

  /** With a fake clock: rescans run when the test advances it. */
  const start = async () => {
    const clock = new FakeClock();
    const changes: string[] = [];
    const objects = new LocalObjects({ dir, clock, logger, watchDirectory: () => ({ close() {} }) });
    objects.onChange(({ kind, namespace, name, object }) =>
      changes.push(`${kind} ${namespace}/${name}${object ? "" : " gone"}`),
    );
    await objects.start(stop.signal);
    const value = async (name: string) => {
      const found = await objects.find("Secret", "default", name, signal);
      return found && Buffer.from(found.data?.v ?? "", "base64").toString();
    };
    const rescan = async (ms = 20_000) => {
      await clock.advance(ms);
      await objects.done;
      await settle();
    };
    return { objects, changes, value, rescan, clock };
  };

  it("serves the objects of the directory as soon as it has started", async () => {
    write("a.yaml", secret("s", "1"));
    write("ignored.txt", secret("t", "1"));
    write(".hidden.yaml", secret("u", "1"));
    const { value } = await start();
    assert.deepEqual([await value("s"), await value("t"), await value("u")], ["1", undefined, undefined]);
    assert.deepEqual(logged, []);
  });

  it("a missing object causes the same error as with the API server", async () => {
    const { objects } = await start();
    await assert.rejects(objects.get("ConfigMap", "default", "x"), (error: Error) => {
      assert.equal(error.message, 'configmap "x" not found');
      return httpStatusOf(error) === 404;
    });
  });

  it("reports each added, changed and removed object once", async () => {
    write("a.yaml", secret("a", "1"));
    write("b.yaml", secret("b", "1"));
    const { changes, rescan, value } = await start();
    changes.length = 0;
    write("a.yaml", secret("a", "2"));
    write("c.yaml", secret("c", "1"));
    rmSync(join(dir, "b.yaml"));
    await rescan();
    await rescan();
    assert.deepEqual(changes, ["Secret default/b gone", "Secret default/a", "Secret default/c"]);
    assert.deepEqual([await value("a"), await value("b"), await value("c")], ["2", undefined, "1"]);
  });

  it("keeps the objects of a file that becomes invalid, logs file, line and field once, and logs when it is valid again", async () => {
    write("a.yaml", secret("a", "1"));
    const { rescan, value } = await start();
    write("a.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata:\n  v: hunter2!\n");
    await rescan();
    await rescan();
    assert.deepEqual(logged, ["DIR/a.yaml:5: data.v is not base64"]);
    assert.equal(await value("a"), "1");
    write("a.yaml", secret("a", "3"));
    await rescan();
    assert.deepEqual(logged.slice(1), ["Local objects file is valid again"]);
    assert.equal(await value("a"), "3");
  });

  it("uses the first of two files with the same object, and the other one when the first is removed", async () => {
    write("a.yaml", secret("s", "1"));
    write("b.yaml", secret("s", "2"));
    const { rescan, value } = await start();
    assert.equal(await value("s"), "1");
    assert.deepEqual(logged, [
      "DIR: b.yaml:1: Secret default/s is defined more than once, this one is ignored",
    ]);
    rmSync(join(dir, "a.yaml"));
    await rescan();
    assert.equal(await value("s"), "2");
  });

  it("keeps its objects while the directory is missing, and is unhealthy", async () => {
    write("a.yaml", secret("a", "1"));
    const { objects, rescan, value } = await start();
    renameSync(dir, `${dir}.away`);
    await rescan();
    assert.equal(await value("a"), "1");
    assert.equal(objects.health().ok, false);
    renameSync(`${dir}.away`, dir);
    await rescan(2000);
    assert.equal(objects.health().ok, true);
  });

  it("waits until a file is closed by its writer, for a limited time", async () => {
    const { rescan, value } = await start();
    const fd = openSync(join(dir, "a.yaml"), "w");
    try {
      writeSync(fd, secret("a", "1"));
      await rescan();
      assert.equal(await value("a"), undefined);
      let waitedMs = 0;
      for (; (await value("a")) === undefined && waitedMs < 60_000; waitedMs += 1000) await rescan(1000);
      assert.equal(await value("a"), "1");
      assert.ok(waitedMs >= 9000, `${waitedMs} ms`);
    } finally {
      closeSync(fd);
    }
  });

  it("rejects a file that is not regular, without blocking", async () => {
    mkdirSync(join(dir, "directory.yaml"));
    await start();
    assert.deepEqual(logged, ["DIR/directory.yaml: is not a regular file"]);
  });

  it("notices a change immediately, even in a directory that replaced the first one", async () => {
    write("a.yaml", secret("a", "1"));
    const objects = new LocalObjects({ dir, clock: systemClock, logger, rescanMs: 600_000 });
    let wake = () => {};
    objects.onChange(() => wake());
    await objects.start(stop.signal);
    const next = () =>
      new Promise<void>((resolve) => {
        wake = resolve;
      });
    const changed = next();
    write("b.yaml.tmp", secret("b", "1"));
    renameSync(join(dir, "b.yaml.tmp"), join(dir, "b.yaml"));
    await changed;
    assert.ok(await objects.find("Secret", "default", "b"));
    const replaced = next();
    mkdirSync(`${dir}.new`);
    writeFileSync(join(`${dir}.new`, "c.yaml"), secret("c", "1"));
    renameSync(dir, `${dir}.old`);
    renameSync(`${dir}.new`, dir);
    await replaced;
    assert.ok(await objects.find("Secret", "default", "c"));
    const again = next();
    write("d.yaml", secret("d", "1"));
    await again;
  });
});
