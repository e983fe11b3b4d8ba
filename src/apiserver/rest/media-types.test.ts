import assert from "node:assert/strict";
import { test } from "node:test";
import { negotiate } from "./media-types.ts";

const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
const cases: [string | undefined, boolean, string][] = [
  [undefined, true, "json object"],
  ["*/*", true, "json object"],
  ["application/json", true, "json object"],
  ["application/yaml", true, "yaml object"],
  ["application/vnd.kubernetes.protobuf,application/json", true, "json object"],
  ["application/vnd.kubernetes.protobuf, */*", true, "json object"],
  [`${table},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json`, true, "json Table v1"],
  [`${table},application/json`, false, "json object"],
  ["application/json; as=PartialObjectMetadata; g=meta.k8s.io; v=v1", true, "json PartialObjectMetadata v1"],
  ["application/json;as=Fable;v=v1;g=meta.k8s.io,application/json", true, "json object"],
  ["application/json;q=0.5,application/yaml", true, "yaml object"],
  ["application/vnd.kubernetes.protobuf", true, "protobuf object"],
  ["application/vnd.kubernetes.protobuf;type=watch", true, "protobuf object"],
  [
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    true,
    "protobuf PartialObjectMetadata v1",
  ],
];
for (const [accept, hasTables, expected] of cases)
  test(`Accept: ${accept}${hasTables ? "" : " (no tables)"} results in ${expected}`, () => {
    const { encoding, view } = negotiate(accept, hasTables);
    assert.equal(`${encoding} ${view.as}${view.as === "object" ? "" : ` ${view.version}`}`, expected);
  });

const protobufTable = "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io";
for (const accept of [protobufTable, "text/html", table])
  test(`Accept: ${accept} is not acceptable`, () => {
    assert.throws(() => negotiate(accept, false), /only the following media types are accepted/);
  });
