import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { nodeRecords, setInRecord } from "./record-files.ts";

const memory = "/dev/shm";
const hasMemory = existsSync(memory) && statSync(memory).dev !== statSync(tmpdir()).dev;

test("records on another filesystem than their directory are changed", {
  skip: !hasMemory && "needs two filesystems",
}, async (t) => {
  const [dir, other] = [tmpdir(), memory].map((parent) => mkdtempSync(join(parent, "iscsi-"))) as [
    string,
    string,
  ];
  t.after(() => [dir, other].forEach((one) => void rmSync(one, { recursive: true })));
  symlinkSync(other, join(dir, "nodes"));
  const path = join(dir, "nodes", "iqn.a", "192.0.2.1,3260,1", "default");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "node.name = x\n# END RECORD\n", { mode: 0o644 });
  const disk = { target: "iqn.a", portal: "192.0.2.1:3260", iface: "default" };
  for (const file of await nodeRecords([dir], disk)) await setInRecord(file, new Map([["password", "pw"]]));
  assert.equal(readFileSync(path, "utf8"), "node.name = x\npassword = pw\n# END RECORD\n");
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(dir), ["nodes"]);
});
