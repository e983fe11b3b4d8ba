import assert from "node:assert/strict";
import { test } from "node:test";
import { runtimeVersion } from "./node-status.ts";

const rows: [text: string, version: string | undefined][] = [
  ["2.1.4", "2.1.4"],
  ["v1.7.13", "1.7.13"],
  ["1.6.20~ds1", "1.6.20"],
  ["v2.0.0-rc.1", "2.0.0-rc.1"],
  ["2.1.9+unknown", "2.1.9+unknown"],
  ["1.2.3-rc.1+build.5 ", "1.2.3-rc.1+build.5"],
  ["1.2.3-rc.01", "1.2.3"],
  ["1.2.3.4-a", "1.2.3.4"],
  ["1.30", "1.30"],
  ["1.02.3", "1.2.3"],
  ["01.2.3", undefined],
  ["2", undefined],
  ["", undefined],
  ["master-1a2b3c4", undefined],
];

for (const [text, version] of rows)
  test(`the runtime version "${text}" is reported as ${version}`, () => {
    assert.equal(runtimeVersion(text), version);
  });
