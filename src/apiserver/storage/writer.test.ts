import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import type { ChangeEvent } from "./change-event.ts";
import { isStoreError } from "./errors.ts";
import { anObject, pod } from "./fixtures.ts";
import { openDatabase } from "./open-database.ts";
import { Revisions } from "./revisions.ts";
import { Writer } from "./writer.ts";

class Disk extends Revisions {
  full = false;
  commits = 0;

  override commit(): void {
    if (this.full) throw new Error("database or disk is full");
    this.commits++;
    super.commit();
  }
}

function aWriter() {
  const disk = new Disk(openDatabase(":memory:", () => 0));
  const published: ChangeEvent[] = [];
  const failures: string[] = [];
  const writer = new Writer({
    revisions: disk,
    clock: new FakeClock(),
    version: 0,
    maxBatch: 256,
    committed: (events) => published.push(...events),
    failed: (error) => failures.push(error.message),
  });
  const put = (name: string) => writer.write(pod(name), () => ({ kind: "put", object: anObject(pod(name)) }));
  return { disk, writer, put, published, failures };
}

test("pending writes share one commit", async () => {
  const { disk, put, writer } = aWriter();
  await Promise.all(Array.from({ length: 256 }, (_, i) => put(`p${i}`)));
  assert.equal(disk.commits, 1);
  await Promise.all(Array.from({ length: 257 }, (_, i) => put(`q${i}`)));
  assert.equal(disk.commits, 3);
  writer.close();
});

test("a batch in which nothing changes costs no commit", async () => {
  const { disk, writer } = aWriter();
  assert.equal(await writer.write(pod("a"), () => ({ kind: "none" })), undefined);
  assert.equal(disk.commits, 0);
});

test("when the disk is full all writes fail, nothing is stored or published, and no version is reused", async () => {
  const { disk, put, published, failures } = aWriter();
  disk.full = true;
  const results = await Promise.allSettled([put("a"), put("b")]);
  for (const result of results)
    assert.ok(result.status === "rejected" && isStoreError(result.reason, "StorageFailed"));
  assert.deepEqual(failures, ["write to the database: database or disk is full"]);
  assert.deepEqual(published, []);
  assert.equal(disk.latest(pod("a")), undefined);
  disk.full = false;
  assert.equal((await put("a"))?.version, 3);
  assert.deepEqual(disk.marks(), { current: 3, compacted: 0 });
  assert.equal(published.length, 1);
});

test("no write is acknowledged and nothing is published before the commit", async () => {
  const { disk, put, published } = aWriter();
  const order: string[] = [];
  const commit = disk.commit.bind(disk);
  disk.commit = () => {
    order.push(`commit, ${published.length} published`);
    commit();
  };
  await put("a").then(() => order.push(`response, ${published.length} published`));
  assert.deepEqual(order, ["commit, 0 published", "response, 1 published"]);
});
