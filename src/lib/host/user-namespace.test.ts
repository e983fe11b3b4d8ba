import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isInUserNamespace } from "./user-namespace.ts";

const rows: [map: string | undefined, what: string, want: boolean][] = [
  ["         0          0 4294967295\n", "all users of the machine", false],
  [undefined, "a kernel without user namespaces", false],
  ["0 1000 1\n", "one user", true],
  ["0 1000 1\n1 100000 65536\n", "a user and its subordinate users", true],
  ["0 0 65536\n", "some users of the machine, with the same IDs", true],
  ["", "a namespace that no user is mapped into yet", true],
];
for (const [map, what, want] of rows)
  test(`a map of ${what} is ${want ? "" : "not "}that of a user namespace`, async () => {
    const dir = mkdtempSync(join(tmpdir(), "uid-map-"));
    if (map !== undefined) writeFileSync(join(dir, "map"), map);
    assert.equal(await isInUserNamespace(join(dir, "map")), want);
    rmSync(dir, { recursive: true });
  });
