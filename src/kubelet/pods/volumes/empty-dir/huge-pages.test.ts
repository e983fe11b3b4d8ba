import assert from "node:assert/strict";
import { test } from "node:test";
import { fakePod } from "../../../../lib/model/fake-pod.ts";
import { isHugePages, pageSizeFor, pageSizeOfOptions } from "./huge-pages.ts";

const podRequesting = (...requests: Record<string, string>[]) =>
  fakePod({ spec: { containers: requests.map((list) => ({ resources: { requests: list } })) } });
const two = { "hugepages-2Mi": "4Mi" };
const one = { "hugepages-1Gi": "1Gi" };

test("the page size is that of the medium if the pod requests such pages, or the only one that it requests", () => {
  const table: [string, ReturnType<typeof podRequesting>, bigint][] = [
    ["HugePages", podRequesting(two), 2n << 20n],
    ["HugePages", podRequesting(two, two, { cpu: "1" }), 2n << 20n],
    ["HugePages-1Gi", podRequesting(two, one), 1n << 30n],
    ["HugePages-2Mi", podRequesting(two, one), 2n << 20n],
  ];
  for (const [medium, pod, size] of table) assert.equal(pageSizeFor(medium, pod), size);
});

test("an ambiguous page size, or one that no container requests, is rejected", () => {
  const table: [string, ReturnType<typeof podRequesting>, RegExp][] = [
    [
      "HugePages",
      podRequesting(two, one),
      /medium: HugePages can't be used if container requests multiple huge page sizes/,
    ],
    [
      "HugePages",
      podRequesting({}),
      /medium HugePages: hugePages storage requested, but there is no resource request/,
    ],
    ["HugePages-1Gi", podRequesting(two), /medium HugePages-1Gi: hugePages storage requested/],
    ["HugePages-much", podRequesting(two), /unknown storage medium "HugePages-much"/],
  ];
  for (const [medium, pod, message] of table) assert.throws(() => pageSizeFor(medium, pod), message);
});

test("the page size of a mount is read from its options", () => {
  assert.equal(pageSizeOfOptions(["rw", "pagesize=2M"]), 2n << 20n);
  assert.equal(pageSizeOfOptions(["pagesize=1024M"]), 1n << 30n);
  assert.equal(pageSizeOfOptions(["rw"]), undefined);
  assert.deepEqual(["HugePages", "HugePages-2Mi", "Memory", ""].map(isHugePages), [true, true, false, false]);
});
