import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { msBetween } from "../../../lib/base/time.ts";
import { AttachedVolumes, type NodeAttachments } from "./attached-volumes.ts";

const never = new AbortController().signal;
const volume = "kubernetes.io/csi/d^h";

function nodeWith(...attached: string[]): NodeAttachments {
  return { status: { volumesAttached: attached.map((name) => ({ name })) } };
}

function setUp() {
  const clock = new FakeClock();
  const state = { observed: nodeWith(), real: nodeWith(), retries: 0 };
  const volumes = new AttachedVolumes({
    clock,
    observed: () => state.observed,
    get: async () => state.real,
    onAttached: () => state.retries++,
  });
  const outcome = (signal = never) => {
    const result = { text: "waits" };
    volumes.verify(volume, signal).then(
      () => (result.text = "attached"),
      (error: Error) => (result.text = error.message),
    );
    return result;
  };
  return { clock, state, volumes, outcome };
}

describe("a volume that a controller attaches", () => {
  it("can be used immediately when it is reported in use and attached", async () => {
    const { clock, state, volumes, outcome } = setUp();
    const result = outcome();
    await clock.advance(1);
    state.observed = state.real = nodeWith(volume);
    volumes.changed();
    await clock.advance(1);
    assert.equal(result.text, "waits", "it could still be detached");
    volumes.reported([volume]);
    await clock.advance(0);
    assert.equal(result.text, "attached");
  });

  it("cannot be used if only an outdated Node object lists it as attached", async () => {
    const { clock, state, volumes, outcome } = setUp();
    state.observed = nodeWith(volume);
    volumes.reported([volume]);
    const result = outcome();
    await clock.advance(9_999);
    assert.equal(result.text, "waits");
    await clock.advance(1);
    assert.equal(result.text, "Volume not attached according to node status");
  });

  it("is verified with requests that are timed without the wait for the controller", async () => {
    const { clock, state, volumes } = setUp();
    const from = clock.monotonic();
    const started: number[] = [];
    const timed = <T>(request: () => Promise<T>): Promise<T> => {
      started.push(msBetween(from, clock.monotonic()));
      return request();
    };
    const verified = volumes.verify(volume, never, timed);
    await clock.advance(5_000);
    assert.deepEqual(started, []);
    state.observed = state.real = nodeWith(volume);
    volumes.reported([volume]);
    await verified;
    assert.deepEqual(started, [5_000]);
  });

  it("cannot be used before it is reported in use", async () => {
    const { clock, state, outcome } = setUp();
    state.observed = state.real = nodeWith(volume);
    const result = outcome();
    await clock.advance(10_000);
    assert.match(result.text, /^Volume has not been added to the list of VolumesInUse/);
  });

  it("is no longer awaited after an abort", async () => {
    const { clock, outcome } = setUp();
    const abort = new AbortController();
    const result = outcome(abort.signal);
    await clock.advance(1);
    abort.abort();
    await clock.advance(1);
    assert.notEqual(result.text, "waits");
    assert.equal(clock.pending, 0);
  });

  it("triggers a retry of failed mounts when it is attached", () => {
    const { state, volumes } = setUp();
    for (const [attached, retries] of [
      [[], 0],
      [["a"], 1],
      [["a"], 1],
      [["a", "b"], 2],
      [["b"], 2],
    ] as const) {
      state.observed = nodeWith(...attached);
      volumes.changed();
      assert.equal(state.retries, retries, attached.join());
    }
  });
});
