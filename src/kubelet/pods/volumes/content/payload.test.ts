import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkPayload } from "./payload.ts";

const file = { data: Buffer.from("x"), mode: 0o644 };
const checked = (path: string) => [...checkPayload(new Map([[path, file]])).keys()][0];

describe("payload", () => {
  for (const [path, clean] of [
    ["a", "a"],
    ["a/b", "a/b"],
    ["a//b/./c/", "a/b/c"],
    ["a..b", "a..b"],
    ["a/..b", "a/..b"],
    [".hidden", ".hidden"],
  ] as const)
    it(`normalizes ${path} to ${clean}`, () => assert.equal(checked(path), clean));

  for (const [path, message] of [
    ["", 'invalid path: must not be empty: ""'],
    ["./", 'invalid path: must not be empty: "./"'],
    ["/etc/passwd", "invalid path: must be relative path: /etc/passwd"],
    ["a/../b", "invalid path: must not contain '..': a/../b"],
    ["..", "invalid path: must not contain '..': .."],
    ["..data", "invalid path: must not start with '..': ..data"],
    ["./..data/x", "invalid path: must not start with '..': ./..data/x"],
    ["...", "invalid path: must not start with '..': ..."],
    ["x".repeat(256), "invalid path: filenames must be less than or equal to 255 characters"],
    ["x/".repeat(2049), "invalid path: must be less than or equal to 4096 characters"],
    ["a\0b", "invalid path: must not contain a zero byte"],
  ] as const)
    it(`rejects ${JSON.stringify(path.slice(0, 20))}`, () => assert.throws(() => checked(path), { message }));
});
