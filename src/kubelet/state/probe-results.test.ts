import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ContainerId } from "../../lib/clients/cri/cri.ts";
import type { PodUid } from "../../lib/model/pod.ts";
import { type ProbeResultChange, ProbeResults } from "./probe-results.ts";

const uid = "u" as PodUid;
const a = "a" as ContainerId;
const b = "b" as ContainerId;

describe("probe results", () => {
  it("are kept by kind and container", () => {
    const results = new ProbeResults();
    results.set({ uid, id: a, kind: "liveness", outcome: "success" });
    assert.equal(results.get("liveness", a), "success");
    assert.equal(results.get("readiness", a), undefined);
    assert.equal(results.get("liveness", b), undefined);
  });

  it("are reported only when they change", () => {
    const results = new ProbeResults();
    const reported: ProbeResultChange[] = [];
    const stop = results.onChange((change) => reported.push(change));
    const first: ProbeResultChange = { uid, id: a, kind: "readiness", outcome: "failure" };
    const second: ProbeResultChange = { ...first, outcome: "success" };
    for (const change of [first, first, second, second]) results.set(change);
    stop();
    results.set(first);
    assert.deepEqual(reported, [first, second]);
  });

  it("are reported after they are stored", () => {
    const results = new ProbeResults();
    let held: unknown;
    results.onChange(({ kind, id }) => {
      held = results.get(kind, id);
    });
    results.set({ uid, id: a, kind: "startup", outcome: "success" });
    assert.equal(held, "success");
  });

  it("are gone when they are deleted, which is not reported", () => {
    const results = new ProbeResults();
    results.set({ uid, id: a, kind: "liveness", outcome: "failure" });
    results.onChange(() => assert.fail("reported"));
    results.delete("liveness", a);
    assert.equal(results.get("liveness", a), undefined);
    assert.equal(results.size, 0);
  });
});
