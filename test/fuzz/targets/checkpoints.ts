import assert from "node:assert/strict";
import {
  decodeIntent,
  decodeRecord as decodePull,
} from "../../../src/kubelet/pods/images/records/pull-record.ts";
import * as allocation from "../../../src/kubelet/resources/allocation/checkpoint.ts";
import * as cpu from "../../../src/kubelet/resources/cpu/checkpoint.ts";
import * as devices from "../../../src/kubelet/resources/devices/checkpoint.ts";
import * as dra from "../../../src/kubelet/resources/dra/checkpoint.ts";
import { decodeRecord, encodeRecord } from "../../../src/kubelet/resources/evicted-pods/record.ts";
import * as memory from "../../../src/kubelet/resources/memory/checkpoint.ts";
import type { PodUid } from "../../../src/lib/model/pod.ts";
import { accepted } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

const uid = "u-1" as PodUid;

/** Checkpoints, which another kubelet may have written. A parser may throw any error, because its caller reports a corrupt file. */
export default {
  seeds: [
    allocation.encodeCheckpoint(new Map([[uid, { containers: new Map([["a", { limits: { cpu: "1" } }]]) }]])),
    cpu.encodeCheckpoint("static", {
      shared: new Set([0, 1]),
      pods: new Map([[uid, new Map([["a", new Set([2, 3])]])]]),
    }),
    cpu.encodeCheckpoint("static", {
      shared: new Set([0]),
      pods: new Map([[uid, new Map([["a", new Set([1])]])]]),
      podSets: new Map([[uid, new Set([1, 2])]]),
    }),
    devices.encodeCheckpoint({
      entries: [
        {
          podUID: uid,
          container: "a",
          resource: "x/y",
          devices: new Map([[-1, ["d"]]]),
          response: Buffer.from("a"),
        },
      ],
      registered: new Map([["x/y", ["d"]]]),
    } as never),
    dra.encodeCheckpoint([]),
    encodeRecord(
      new Map([[uid, { failure: { phase: "Failed", reason: "Evicted", message: "m" }, graceSeconds: 3 }]]),
    ),
    '{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","lastUpdatedTime":"2026-01-31T00:00:00Z","imageRef":"a","credentialMapping":{"b":{"nodePodsAccessible":true}}}',
    '{"policyName":"Static","machineState":{"0":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":1}},"cells":[0]}},"entries":{"u":{"a":[{"numaAffinity":[0],"type":"memory","size":1}]}}}',
  ],
  maxLength: 900,
  run(input) {
    const text = input.toString("utf8");
    const any = (error: unknown) => error instanceof Error && !(error instanceof RangeError);
    const decoders = [
      [allocation.decodeCheckpoint, allocation.encodeCheckpoint],
      [(t: string) => cpu.decodeCheckpoint("static", t), (v: never) => cpu.encodeCheckpoint("static", v)],
      [
        (t: string) => cpu.decodeCheckpoint("static", t, true),
        (v: never) => cpu.encodeCheckpoint("static", v),
      ],
      [devices.decodeCheckpoint, devices.encodeCheckpoint],
      [dra.decodeCheckpoint, dra.encodeCheckpoint],
      [decodeRecord, encodeRecord],
    ] as unknown as readonly (readonly [(t: string) => unknown, (v: unknown) => string])[];
    for (const [decode, encode] of decoders) {
      const value = accepted(() => decode(text), any);
      if (value === undefined) continue;
      const written = accepted(() => encode(value), any);
      if (written !== undefined) assert.equal(encode(decode(written)), written);
    }
    accepted(
      () => memory.decodeCheckpoint(text, true),
      (error) => any(error) || error instanceof RangeError,
    );
    accepted(() => decodeIntent(text), any);
    accepted(() => decodePull(text), any);
  },
} satisfies FuzzTarget;
