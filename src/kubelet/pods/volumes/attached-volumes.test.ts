import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { AttachedVolumes, type NodeAttachments } from "./attached-volumes.ts";

const never = new AbortController().signal;
const volume = "kubernetes.io/csi/d^h";

function nodeWith(...attached: string[]): NodeAttachments {
  return { status: { volumesAttached: attached.map((name) => ({ name })) } };
}

function bench() {
  const clock = new FakeClock();
  const state = { seen: nodeWith(), real: nodeWith(), pokes: 0 };
  const volumes = new AttachedVolumes({
    clock,
    seen: () => state.seen,
    get: async () => state.real,
    onAttached: () => state.pokes++,
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

describe("a volume that a controller attaches may be used", () => {
  it("once the API knows that it is in use and says that it is attached, and without a pause then", async () => {
    const { clock, state, volumes, outcome } = bench();
    const result = outcome();
    await clock.advance(1);
    state.seen = state.real = nodeWith(volume);
    volumes.changed();
    await clock.advance(1);
    assert.equal(result.text, "waits", "it could still be detached");
    volumes.reported([volume]);
    await clock.advance(0);
    assert.equal(result.text, "attached");
  });

  it("not if it is attached only by what was seen a while ago", async () => {
    const { clock, state, volumes, outcome } = bench();
    state.seen = nodeWith(volume);
    volumes.reported([volume]);
    const result = outcome();
    await clock.advance(9_999);
    assert.equal(result.text, "waits");
    await clock.advance(1);
    assert.equal(result.text, "Volume not attached according to node status");
  });

  it("not before that was reported, and says so", async () => {
    const { clock, state, outcome } = bench();
    state.seen = state.real = nodeWith(volume);
    const result = outcome();
    await clock.advance(10_000);
    assert.match(result.text, /^Volume has not been added to the list of VolumesInUse/);
  });

  it("by nobody who does not want it any more", async () => {
    const { clock, outcome } = bench();
    const abort = new AbortController();
    const result = outcome(abort.signal);
    await clock.advance(1);
    abort.abort();
    await clock.advance(1);
    assert.notEqual(result.text, "waits");
    assert.equal(clock.pending, 0);
  });

  it("and what has failed before is tried again when something is attached", () => {
    const { state, volumes } = bench();
    for (const [attached, pokes] of [
      [[], 0],
      [["a"], 1],
      [["a"], 1],
      [["a", "b"], 2],
      [["b"], 2],
    ] as const) {
      state.seen = nodeWith(...attached);
      volumes.changed();
      assert.equal(state.pokes, pokes, attached.join());
    }
  });
});
