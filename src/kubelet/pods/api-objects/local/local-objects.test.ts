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
  let said: string[];
  let logger: Logger;

  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), "local-objects-"));
    dir = join(parent, "objects");
    mkdirSync(dir);
    stop = new AbortController();
    said = [];
    const say = (message: string) => said.push(message.replaceAll(dir, "DIR"));
    logger = { ...silentLogger, info: say, warn: say, error: say };
  });
  afterEach(() => {
    stop.abort();
    rmSync(parent, { recursive: true, force: true });
  });

  const put = (name: string, text: string) => writeFileSync(join(dir, name), text);

  /** With a clock that stands: looks happen when the test moves it. */
  const begin = async () => {
    const clock = new FakeClock();
    const changes: string[] = [];
    const objects = new LocalObjects({ dir, clock, logger, watchFolder: () => ({ close() {} }) });
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

  it("serves what is in the folder as soon as it has started", async () => {
    put("a.yaml", secret("s", "1"));
    put("ignored.txt", secret("t", "1"));
    put(".hidden.yaml", secret("u", "1"));
    const { value } = await begin();
    assert.deepEqual([await value("s"), await value("t"), await value("u")], ["1", undefined, undefined]);
    assert.deepEqual(said, []);
  });

  it("says of what is not there what the API would say", async () => {
    const { objects } = await begin();
    await assert.rejects(objects.get("ConfigMap", "default", "x"), (error: Error) => {
      assert.equal(error.message, 'configmap "x" not found');
      return httpStatusOf(error) === 404;
    });
  });

  it("tells each change once: added, changed, gone; not what stays", async () => {
    put("a.yaml", secret("a", "1"));
    put("b.yaml", secret("b", "1"));
    const { changes, rescan, value } = await begin();
    changes.length = 0;
    put("a.yaml", secret("a", "2"));
    put("c.yaml", secret("c", "1"));
    rmSync(join(dir, "b.yaml"));
    await rescan();
    await rescan();
    assert.deepEqual(changes, ["Secret default/b gone", "Secret default/a", "Secret default/c"]);
    assert.deepEqual([await value("a"), await value("b"), await value("c")], ["2", undefined, "1"]);
  });

  it("keeps the objects of a file that was broken, names file, line and field once, and says when it is good again", async () => {
    put("a.yaml", secret("a", "1"));
    const { rescan, value } = await begin();
    put("a.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata:\n  v: hunter2!\n");
    await rescan();
    await rescan();
    assert.deepEqual(said, ["DIR/a.yaml:5: data.v is not base64"]);
    assert.equal(await value("a"), "1");
    put("a.yaml", secret("a", "3"));
    await rescan();
    assert.deepEqual(said.slice(1), ["Local objects file is valid again"]);
    assert.equal(await value("a"), "3");
  });

  it("takes the first of two files with the same object, and the other one when that is gone", async () => {
    put("a.yaml", secret("s", "1"));
    put("b.yaml", secret("s", "2"));
    const { rescan, value } = await begin();
    assert.equal(await value("s"), "1");
    assert.deepEqual(said, ["DIR: b.yaml:1: Secret default/s is in the folder twice, this one is ignored"]);
    rmSync(join(dir, "a.yaml"));
    await rescan();
    assert.equal(await value("s"), "2");
  });

  it("keeps what it had while the folder is away, and says so", async () => {
    put("a.yaml", secret("a", "1"));
    const { objects, rescan, value } = await begin();
    renameSync(dir, `${dir}.away`);
    await rescan();
    assert.equal(await value("a"), "1");
    assert.equal(objects.health().ok, false);
    renameSync(`${dir}.away`, dir);
    await rescan(2000);
    assert.equal(objects.health().ok, true);
  });

  it("waits for who still writes a file, but not for ever", async () => {
    const { rescan, value } = await begin();
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

  it("refuses what is no regular file, without waiting for it", async () => {
    mkdirSync(join(dir, "folder.yaml"));
    await begin();
    assert.deepEqual(said, ["DIR/folder.yaml: is not a regular file"]);
  });

  it("hears of a change at once, also in a folder that took the place of the former one", async () => {
    put("a.yaml", secret("a", "1"));
    const objects = new LocalObjects({ dir, clock: systemClock, logger, rescanMs: 600_000 });
    let wake = () => {};
    objects.onChange(() => wake());
    await objects.start(stop.signal);
    const next = () =>
      new Promise<void>((resolve) => {
        wake = resolve;
      });
    const changed = next();
    put("b.yaml.tmp", secret("b", "1"));
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
    put("d.yaml", secret("d", "1"));
    await again;
  });
});
