import assert from "node:assert/strict";
import { test } from "node:test";
import { sizeLabel } from "./image-metrics.ts";

const GiB = 1024 ** 3;
const table: [bytes: number, label: string][] = [
  [0, "N/A"],
  [1, "0-10MB"],
  [10 * 1024 ** 2, "0-10MB"],
  [10 * 1024 ** 2 + 1, "10MB-100MB"],
  [GiB, "500MB-1GB"],
  [2 * GiB, "1GB-5GB"],
  [101 * GiB, "GT100GB"],
];
for (const [bytes, label] of table)
  test(`an image of ${bytes} bytes is labeled ${label}`, () => assert.equal(sizeLabel(bytes), label));
