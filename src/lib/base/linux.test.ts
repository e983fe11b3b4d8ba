import assert from "node:assert/strict";
import { constants, readFileSync } from "node:fs";
import { test } from "node:test";
import { layout, linux } from "./linux.ts";

const file = new URL("../../../test/fixtures/linux/constants.json", import.meta.url);
const recorded: Record<string, Record<string, number>> = JSON.parse(readFileSync(file, "utf8"));
/** The constants of node:fs. */
const { O_DIRECTORY, O_NOFOLLOW } = constants;

test("every constant and layout equals the C headers of x64 and arm64, except those of node:fs, which follow the architecture", () => {
  for (const arch of ["x64", "arm64"]) {
    const { O_DIRECTORY: _, O_NOFOLLOW: __, ...same } = recorded[arch]!;
    assert.deepEqual({ ...linux, ...layout }, same, arch);
  }
  const own = recorded[process.arch]!;
  assert.deepEqual({ O_DIRECTORY, O_NOFOLLOW }, { O_DIRECTORY: own.O_DIRECTORY, O_NOFOLLOW: own.O_NOFOLLOW });
});
