import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import type { SandboxId } from "../../lib/clients/cri/cri.ts";
import { CriError } from "../../lib/clients/cri/cri-error.ts";
import { PodSandboxStatusResponseSchema } from "../../lib/gen/runtime/v1/api_pb.js";
import { FakeCgroups, fakeStatsOptions } from "./fake-stats.ts";
import { SandboxImages } from "./sandbox-images.ts";

const [a, b, c] = ["a", "b", "c"] as SandboxId[] as [SandboxId, SandboxId, SandboxId];
const pause = JSON.stringify({ image: "example.com/pause:3", runtimeSpec: {} });

/** The information that the runtime has of each sandbox; errors are thrown. */
function setUp(info: ReadonlyMap<SandboxId, string | Error>) {
  const requests: string[] = [];
  const { runtime } = fakeStatsOptions(new FakeClock(0), new FakeCgroups());
  const images = new SandboxImages({
    ...runtime,
    podSandboxStatus: async (id, o) => {
      assert.equal(o?.verbose, true);
      requests.push(id);
      const found = info.get(id);
      if (found instanceof Error) throw found;
      return create(PodSandboxStatusResponseSchema, { info: found === undefined ? {} : { info: found } });
    },
  });
  return { images, requests };
}

describe("pause images", () => {
  it("each sandbox is requested once, and forgotten when it is gone", async () => {
    const { images, requests } = setUp(new Map([a, b].map((id) => [id, pause])));
    assert.deepEqual([...(await images.of([a])).values()], ["example.com/pause:3"]);
    assert.deepEqual([...(await images.of([a, b])).keys()], [a, b]);
    assert.deepEqual(requests, ["a", "b"]);
    await images.of([b]);
    await images.of([a, b]);
    assert.deepEqual(requests, ["a", "b", "a"]);
  });

  it("a response without an image is not requested again", async () => {
    for (const info of [undefined, "", "no JSON", "null", "[]", '{"image":7}', '{"runtimeSpec":{}}']) {
      const { images, requests } = setUp(new Map(info === undefined ? [] : [[a, info]]));
      for (let i = 0; i < 2; i++) assert.equal((await images.of([a])).get(a), "", info);
      assert.deepEqual(requests, ["a"]);
    }
  });

  it("a runtime that does not respond is requested once for all sandboxes, and again with the next scrape", async () => {
    const info = new Map<SandboxId, string | Error>([
      [a, new CriError("NOT_FOUND", "PodSandboxStatus", "gone")],
      [b, pause],
    ]);
    const down = new CriError("UNAVAILABLE", "PodSandboxStatus", "down");
    const others = Array.from({ length: 40 }, (_, i) => `x${i}` as SandboxId);
    const { images, requests } = setUp(info);
    assert.deepEqual([...(await images.of([a, b]))], [[b, "example.com/pause:3"]]);
    for (const id of [c, ...others]) info.set(id, down);
    assert.deepEqual([...(await images.of([b, c, ...others]))], [[b, "example.com/pause:3"]]);
    assert.ok(requests.length < 10, `${requests.length} requests`);
    info.set(c, pause);
    assert.equal((await images.of([c])).get(c), "example.com/pause:3");
  });
});
