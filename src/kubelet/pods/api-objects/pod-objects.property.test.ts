import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../../test/faults/seeded-random.ts";
import { httpStatusOf } from "../../../lib/base/errors.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { KubeApiError, TransportError } from "../../../lib/clients/kube/api-error.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { FakeObjectApi } from "./fake-object-api.ts";
import { type ChangeDetection, PodObjects } from "./pod-objects.ts";

const runs = 150;
const steps = 60;
const names = ["a", "b", "c", "d", "e"];
const uids = ["1", "2", "3", "4"];
const pathOf = (name: string) => `secrets/default/${name}`;

async function run(seed: number, strategy: ChangeDetection): Promise<void> {
  const { below } = seededRandom(seed);
  const clock = new FakeClock();
  const api = new FakeObjectApi(clock);
  let healthy = false;
  const faultPercent = below(2) * 20;
  api.fault = () => {
    if (healthy || below(100) >= faultPercent) return undefined;
    return below(2) === 0
      ? new TransportError("connection reset")
      : new KubeApiError({ status: 503, reason: "ServiceUnavailable", message: "busy" });
  };
  api.delayMs = () => (healthy || below(3) > 0 ? 0 : below(4000));
  api.lag = () => below(6);
  const stop = new AbortController();
  const objects = new PodObjects({ api, strategy, clock, logger: silentLogger });
  await objects.start(stop.signal);
  const referred = new Map<string, Set<string>>();
  const isReferred = (name: string) => [...referred.values()].some((refs) => refs.has(name));
  const immutable = new Set<string>();
  /** The latest version that a caller has received. */
  const served = new Map<string, number>();
  const pending: Promise<void>[] = [];
  const problems: unknown[] = [];

  const read = async (name: string) => {
    const atLeast = served.get(name) ?? 0;
    const requestedAt = api.version;
    try {
      const object = await objects.get("Secret", "default", name, stop.signal);
      const version = Number(object.metadata.resourceVersion);
      assert.equal(object.metadata.name, name);
      assert.ok(version >= atLeast, `${name}: version ${version} after ${atLeast} was served`);
      served.set(name, Math.max(served.get(name) ?? 0, version));
    } catch (error) {
      if (httpStatusOf(error) !== 404) return;
      // Then it did not exist at some time between the last served version and now.
      const gone = Array.from(
        { length: api.version - atLeast + 1 },
        (_, i) => api.at(pathOf(name), atLeast + i) === undefined,
      );
      assert.ok(gone.includes(true), `${name}: not found at ${requestedAt}, but it always existed`);
    }
  };
  for (let i = 0; i < steps; i++) {
    const name = names[below(names.length)]!;
    const uid = uids[below(uids.length)]!;
    switch (below(6)) {
      case 0: {
        const refs = new Set(names.filter(() => below(3) === 0));
        referred.set(uid, refs);
        const [toStart, inVolumes] = [[...refs].filter((n) => n < "c"), [...refs].filter((n) => n >= "c")];
        objects.register(
          fakePod({
            metadata: { uid: uid as PodUid },
            spec: {
              imagePullSecrets: toStart.map((n) => ({ name: n })),
              volumes: inVolumes.map((n) => ({ name: n, secret: { secretName: n } })),
            },
          }),
        );
        break;
      }
      case 1:
        referred.delete(uid);
        objects.unregister({ metadata: { uid: uid as PodUid } });
        break;
      case 2:
        if (below(4) === 0) api.delete(pathOf(name));
        else api.put(pathOf(name), below(12) === 0 ? { immutable: true } : {});
        break;
      case 3:
        if (below(3) === 0) api.disconnect();
        // Long enough for idle watches to be stopped.
        if (below(8) === 0) await clock.advance(7 * 60_000);
        break;
      default:
        pending.push(read(name).catch((error) => void problems.push(error)));
    }
    await clock.advance(below(3) === 0 ? below(5000) : 0);
  }

  // Without faults, everything that pods refer to is as in the API.
  healthy = true;
  await clock.advance(120_000);
  await Promise.all(pending);
  for (const problem of problems) throw problem;
  for (const name of names) {
    const now = api.at(pathOf(name), api.version);
    const found = objects.find("Secret", "default", name, stop.signal).then(
      (object) => object?.metadata.resourceVersion ?? "gone",
      (error: Error) => error.message,
    );
    await clock.advance(5000);
    const got = await found;
    if (!isReferred(name) && strategy !== "Get") {
      assert.equal(got, `object "default"/"${name}" not registered`);
      continue;
    }
    // An object that was immutable is not read again.
    const version = api.at(pathOf(name), Number(got));
    if (strategy === "Watch" && version?.immutable) immutable.add(name);
    else if (strategy !== "Cache") assert.equal(got, now?.metadata.resourceVersion ?? "gone");
  }
  await clock.advance(0);
  const expected = names.filter((name) => isReferred(name) && !immutable.has(name)).map(pathOf);
  assert.deepEqual(api.watching, strategy === "Watch" ? expected : []);
  for (const uid of uids) objects.unregister({ metadata: { uid: uid as PodUid } });
  await clock.advance(0);
  assert.deepEqual(api.watching, []);
  stop.abort();
  await objects.done;
  assert.equal(clock.pending, 0);
}

for (const strategy of ["Watch", "Cache", "Get"] as const)
  test(`${strategy}: exactly the objects that pods refer to are available, and versions never go backwards`, async () => {
    for (let seed = 1; seed <= runs; seed++)
      await run(seed, strategy).catch((error) => {
        throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
      });
  });
