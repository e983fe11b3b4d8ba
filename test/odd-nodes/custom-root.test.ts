import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { long } from "../long.ts";
import { isolatedReport, unavailable } from "../node/isolated-report.ts";
import type { CustomRootReport, Listing } from "./custom-root-host.ts";

/** The root directory of a kubelet v1.36.4, without what its pods have. */
const recorded: Listing = Object.fromEntries(
  readFileSync(new URL("../fixtures/odd-nodes/root-directory.tsv", import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line) => {
      const [path = "", type, mode] = line.split("\t");
      return [path, `${type} ${mode}`];
    }),
);
/** The reference has constants for device plugins and a flag for certificates: neither depends on --root-dir. */
const isElsewhere = (path: string) => /^(?:device-plugins|pki)(?:\/|$)/.test(path);
const expected = (elsewhere: boolean): Listing =>
  Object.fromEntries(Object.entries(recorded).filter(([path]) => isElsewhere(path) === elsewhere));

describe(long("a node with another root directory"), { skip: unavailable }, () => {
  test("has the recorded files and modes there, and device plugins and certificates in the standard place", async () => {
    const { root, standard, etcHosts } = await isolatedReport<CustomRootReport>(
      new URL("custom-root-host.ts", import.meta.url),
    );
    // /var/lib/kubelet was created as the parent of device-plugins, with its mode.
    assert.partialDeepStrictEqual(root, { ...expected(false), ".": "directory 750" });
    assert.deepEqual(Object.keys(root).filter(isElsewhere), []);
    assert.partialDeepStrictEqual(standard, expected(true));
    assert.equal(etcHosts, "file 644");
  });
});
