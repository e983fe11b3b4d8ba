import assert from "node:assert/strict";
import { type Json, jsonEqual } from "../../../src/apiserver/patch/json-value.ts";
import { decodeProtobuf } from "../../../src/apiserver/protobuf/decode-protobuf.ts";
import { encodeProtobuf } from "../../../src/apiserver/protobuf/encode-protobuf.ts";
import { accepted, assertSize } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "a",
    labels: { a: "b" },
    creationTimestamp: "2026-01-31T07:05:00Z",
    ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n", uid: "u" }],
  },
  spec: {
    containers: [
      {
        name: "a",
        image: "b",
        command: ["c"],
        resources: { limits: { cpu: "1" } },
        ports: [{ containerPort: 80 }],
        livenessProbe: { httpGet: { port: "web", path: "/" }, periodSeconds: 3 },
      },
    ],
    hostNetwork: true,
    terminationGracePeriodSeconds: -1,
  },
};

/** Bodies of requests to the embedded API. */
export default {
  seeds: [
    encodeProtobuf(pod),
    encodeProtobuf({ apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, data: { a: "AAEC" } }),
    encodeProtobuf({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "l" },
      spec: { renewTime: "2026-01-31T07:05:00.123456Z", leaseDurationSeconds: 40 },
    }),
    encodeProtobuf({ apiVersion: "meta.k8s.io/v1", kind: "DeleteOptions", gracePeriodSeconds: 0 }),
    encodeProtobuf({
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "e" },
      count: 3,
      involvedObject: { kind: "Pod" },
    }),
  ],
  maxLength: 700,
  run(input) {
    for (const expected of [undefined, { group: "", version: "v1", kind: "Pod" }]) {
      const object = accepted(() => decodeProtobuf(input, expected));
      if (object === undefined) continue;
      assertSize(object, 1000 + 40 * input.length, "the object");
      const plain = JSON.parse(JSON.stringify(object)) as Json;
      const written = encodeProtobuf(object);
      const again = decodeProtobuf(written);
      assert.ok(
        jsonEqual(JSON.parse(JSON.stringify(again)) as Json, plain) || isLossy(plain),
        JSON.stringify([plain, again]),
      );
      assert.ok(
        encodeProtobuf(again).equals(encodeProtobuf(decodeProtobuf(encodeProtobuf(again)))),
        "not stable",
      );
    }
  },
} satisfies FuzzTarget;

/** Invalid UTF-8, integers beyond 2^53 and quantities that are not normal are written in another form than they were read. */
function isLossy(value: Json): boolean {
  const text = JSON.stringify(value);
  return text.includes("\ufffd") || /\d{16,}/.test(text) || text.includes("null");
}
