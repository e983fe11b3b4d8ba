import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { StorageApi } from "../../../../../test/csi/storage-api.ts";
import { FakeClock } from "../../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../../lib/base/logger.ts";
import { fakePod } from "../../../../lib/model/fake-pod.ts";
import type { VolumeSpec } from "../volume-plugin.ts";
import { type ExpansionPlan, planExpansion } from "./expansion-plan.ts";
import { type Claim, kubeVolumeApi } from "./volume-api.ts";
import { ExpansionError, VolumeExpander } from "./volume-expander.ts";

const never = new AbortController().signal;
const path = "/api/v1/namespaces/default/persistentvolumeclaims/c";

function claim(
  status: Claim["status"],
  more: { accessModes?: string[]; annotations?: Record<string, string>; requested?: string } = {},
): Claim {
  const { accessModes = ["ReadWriteOnce"], annotations, requested = "2Gi" } = more;
  return {
    metadata: { name: "c", namespace: "default", uid: "u", annotations },
    spec: { accessModes, resources: { requests: { storage: requested } } },
    status,
  };
}
const pending = (status: string) => ({
  capacity: { storage: "1Gi" },
  allocatedResources: { storage: "2Gi" },
  allocatedResourceStatuses: { storage: status },
});
const reported = { capacity: { storage: "2Gi" }, allocatedResources: { storage: "2Gi" } };

describe("a node expands a volume", () => {
  const none: ExpansionPlan = { kind: "none" };
  const expand = (recovers: boolean, isReported = false): ExpansionPlan => ({
    kind: "expand",
    size: "2Gi",
    recovers,
    isReported,
  });
  const many = { accessModes: ["ReadWriteMany"] };
  const notRequired = { "volume.kubernetes.io/node-expansion-not-required": "true" };
  const cases: [string, Claim, ExpansionPlan][] = [
    ["not if it has the size of the claim", claim({ capacity: { storage: "2Gi" } }), none],
    [
      "if the claim is smaller, with a resizer without recovery support",
      claim({ capacity: { storage: "1Gi" } }),
      expand(false),
    ],
    ["when the resizer waits for the node", claim(pending("NodeResizePending")), expand(true)],
    ["again, if it was interrupted", claim(pending("NodeResizeInProgress")), expand(true)],
    ["not while the controller expands it", claim(pending("ControllerResizeInProgress")), none],
    ["not if it is infeasible", claim(pending("NodeResizeInfeasible")), none],
    ["not if another node has expanded it", claim(reported), none],
    ["that is ReadWriteMany, after another node has expanded it", claim(reported, many), expand(true, true)],
    [
      "not with the annotation node-expansion-not-required",
      claim(reported, { ...many, annotations: notRequired }),
      none,
    ],
    ["not before the claim has a capacity", claim({}), none],
  ];
  // parity: gate RecoverVolumeExpansionFailure=true as recovers
  for (const [rule, given, expected] of cases)
    it(rule, () => assert.deepEqual(planExpansion(given, "2Gi"), expected));
});

const spec = (size: string, claimCapacity: string, readOnly = false): VolumeSpec => ({
  name: "pv",
  volume: { name: "data" },
  readOnly,
  persistent: {
    volumeName: "pv",
    spec: { capacity: { storage: size } },
    claim: { namespace: "default", name: "c", uid: "u" },
    mode: "Filesystem",
    claimCapacity,
  },
});

function setUp(given: Claim) {
  const api = new StorageApi();
  api.put(path, given as never);
  const events: string[] = [];
  const claimEvents: string[] = [];
  const record = (_: unknown, reason: string, message: string) => void events.push(`${reason}: ${message}`);
  const expander = new VolumeExpander({
    api: kubeVolumeApi(api),
    events: { normal: record, warning: record },
    claimEvents: {
      normal: ({ metadata }, reason) => void claimEvents.push(`${metadata.name} ${reason}`),
      warning: ({ metadata }, reason) => void claimEvents.push(`${metadata.name} ${reason}`),
    },
    clock: new FakeClock(),
    logger: silentLogger,
  });
  const sizes: string[] = [];
  const run = (failure?: Error, of = spec("2Gi", "1Gi")) =>
    expander.expandIfNeeded(
      fakePod({ spec: { nodeName: "n1" } }),
      of,
      async (size) => {
        sizes.push(size);
        if (failure) throw failure;
      },
      never,
    );
  const status = () => api.get<Claim>(path)?.status;
  return { api, events, claimEvents, expander, run, sizes, status };
}

describe("the expansion of a volume", () => {
  // parity: event FileSystemResizeSuccessful
  it("marks the claim, expands, and reports to the claim and the pod", async () => {
    const s = setUp(
      claim({
        ...pending("NodeResizePending"),
        conditions: [
          { type: "Resizing", status: "True" },
          { type: "Other", status: "True" },
        ],
      }),
    );
    await s.run();
    assert.deepEqual(s.sizes, ["2Gi"]);
    assert.deepEqual(s.status(), {
      capacity: { storage: "2Gi" },
      allocatedResources: { storage: "2Gi" },
      allocatedResourceStatuses: {},
      conditions: [{ type: "Other", status: "True" }],
    });
    assert.equal(s.api.requests.filter((request) => request.startsWith("PATCH")).length, 2);
    const message = 'MountVolume.NodeExpandVolume succeeded for volume "pv" n1';
    assert.deepEqual(s.events, [`FileSystemResizeSuccessful: ${message}`]);
    assert.deepEqual(s.claimEvents, ["c FileSystemResizeSuccessful"]);
  });

  it("is reported to the claim and retried if it fails", async () => {
    const s = setUp(claim(pending("NodeResizePending")));
    await assert.rejects(s.run(new ExpansionError("failed", "input/output error")), {
      message: "input/output error",
    });
    assert.deepEqual(s.status()?.allocatedResourceStatuses, { storage: "NodeResizeInProgress" });
    const [condition] = s.status()?.conditions ?? [];
    assert.deepEqual(
      [condition?.type, condition?.message],
      ["NodeResizeError", "failed to expand pvc with input/output error"],
    );
    await s.run();
    assert.deepEqual(s.status()?.capacity, { storage: "2Gi" });
    assert.deepEqual(s.status()?.conditions, []);
  });

  it("is marked as infeasible if it is", async () => {
    const s = setUp(claim(pending("NodeResizePending")));
    await assert.rejects(s.run(new ExpansionError("infeasible", "too large")));
    assert.deepEqual(s.status()?.allocatedResourceStatuses, { storage: "NodeResizeInfeasible" });
  });

  it("is marked infeasible if it keeps failing for an outdated size", async () => {
    const s = setUp(claim(pending("NodeResizePending"), { requested: "1500Mi" }));
    await assert.rejects(s.run(new ExpansionError("failed", "no")));
    assert.deepEqual(s.status()?.allocatedResourceStatuses, { storage: "NodeResizeInProgress" });
    await assert.rejects(s.run(new ExpansionError("failed", "no")));
    assert.deepEqual(s.status()?.allocatedResourceStatuses, { storage: "NodeResizeInfeasible" });
  });

  it("is not reported as failed while it may still be in progress", async () => {
    const s = setUp(claim(pending("NodeResizePending")));
    await assert.rejects(s.run(new ExpansionError("uncertain", "no response")));
    assert.equal(s.status()?.conditions, undefined);
  });

  it("neither blocks the pod nor is retried if it is not possible online", async () => {
    const s = setUp(claim(pending("NodeResizePending")));
    await s.run(new ExpansionError("in-use", "not now"));
    assert.equal(s.expander.mayBeNeeded(spec("2Gi", "1Gi")), false);
    await s.run();
    assert.equal(s.sizes.length, 1);
  });

  it("is skipped for a driver without support", async () => {
    const s = setUp(claim({ capacity: { storage: "1Gi" } }));
    await s.run(new ExpansionError("not-supported", "no"));
    assert.deepEqual(s.status(), { capacity: { storage: "1Gi" } });
  });

  // parity: event FileSystemResizeFailed
  it("is skipped for a read-only volume", async () => {
    const s = setUp(claim(pending("NodeResizePending")));
    await s.run(undefined, spec("2Gi", "1Gi", true));
    assert.deepEqual(s.sizes, []);
    assert.match(s.events[0] ?? "", /^FileSystemResizeFailed: .* requested read-only file system$/);
    assert.deepEqual(s.claimEvents, ["c FileSystemResizeFailed"]);
  });

  it("is done once by each node that uses the volume", async () => {
    const s = setUp(claim(reported, { accessModes: ["ReadWriteMany"] }));
    s.expander.markInUse(spec("1Gi", "1Gi"));
    assert.equal(s.expander.mayBeNeeded(spec("2Gi", "2Gi")), true);
    await s.run(undefined, spec("2Gi", "2Gi"));
    assert.equal(s.expander.mayBeNeeded(spec("2Gi", "2Gi")), false);
    assert.deepEqual(s.sizes, ["2Gi"]);
  });

  it("stops when the claim was modified in the meantime", async () => {
    const s = setUp(claim(pending("NodeResizePending")));
    s.api.request = (async (call: { method: string }) => {
      if (call.method === "PATCH") throw new Error("the object has been modified");
      return s.api.get(path);
    }) as never;
    await assert.rejects(
      s.run(),
      /update PVC status failed : patchPVCStatus failed to patch PVC "c": the object has/,
    );
    assert.deepEqual(s.sizes, []);
  });
});
