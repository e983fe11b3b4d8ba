import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isPreemptable } from "../../../lib/model/critical-pod.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import { annotationSource, type Pod, type PodUid } from "../../../lib/model/pod.ts";
import { podQos } from "../../../lib/model/qos.ts";
import { choosePreempted, type Requirement, requestsOf } from "./preemption.ts";

const options = { podLevel: true };
const numRuns = Number(process.env.PROPERTY_RUNS ?? 500);

const priorities = fc.constantFrom(undefined, 0, 1000, 2_000_000_000, 2_000_001_000);
const somePods = fc
  .array(
    fc.record({
      cpu: fc.nat(5),
      memory: fc.nat(5),
      guaranteed: fc.boolean(),
      priority: priorities,
      isStatic: fc.boolean(),
    }),
    { maxLength: 9 },
  )
  .map((all) =>
    all.map(({ cpu, memory, guaranteed, priority, isStatic }, i) => {
      const requests = {
        ...(cpu > 0 && { cpu: `${cpu}00m` }),
        ...(memory > 0 && { memory: `${memory}00` }),
      };
      return fakePod({
        metadata: {
          uid: `${i}` as PodUid,
          annotations: { [annotationSource]: isStatic && i % 4 === 0 ? "file" : "api" },
        },
        spec: {
          ...(priority !== undefined && { priority }),
          containers: [{ resources: { requests, ...(guaranteed && { limits: requests }) } }],
        },
      });
    }),
  );
const preemptors = fc
  .constantFrom(2_000_000_000, 2_000_001_000)
  .map((priority) => fakePod({ spec: { priority } }));
const quantity = fc.integer({ min: 1, max: 1200 }).map(BigInt);
const requirements: fc.Arbitrary<Requirement[]> = fc.uniqueArray(
  fc.oneof(
    fc.record({ resource: fc.constantFrom("cpu", "memory"), quantity }),
    fc.record({ resource: fc.constant("pods"), quantity: fc.integer({ min: 1, max: 4 }).map(BigInt) }),
  ),
  { selector: ({ resource }) => resource, minLength: 1 },
);

const freed = (victims: readonly Pod[], resource: string) =>
  victims.reduce((sum, pod) => sum + requestsOf(pod, options)(resource), 0n);
const lacks = (required: readonly Requirement[], victims: readonly Pod[]) =>
  required
    .map((r) => ({ resource: r.resource, quantity: r.quantity - freed(victims, r.resource) }))
    .filter((r) => r.quantity > 0n);
const ofClass = (pods: readonly Pod[], ...classes: string[]) =>
  pods.filter((pod) => classes.includes(podQos(pod, options)));

test("those that are preempted free enough, are preemptable, and if they cannot, what they lack is named", () =>
  fc.assert(
    fc.property(preemptors, somePods, requirements, (preemptor, pods, required) => {
      const choice = choosePreempted(preemptor, pods, required, options);
      const candidates = pods.filter((pod) => isPreemptable(pod, preemptor));
      if ("unmet" in choice) {
        assert.deepEqual(choice.unmet, lacks(required, candidates));
        assert.ok(choice.unmet.length > 0);
        return;
      }
      const { victims } = choice;
      assert.deepEqual(lacks(required, victims), []);
      assert.ok(victims.every((victim) => candidates.includes(victim)));
      assert.equal(new Set(victims).size, victims.length);
      // A pod of a class is preempted only for what the lower classes do not free.
      const low = ofClass(candidates, "BestEffort", "Burstable");
      if (lacks(required, low).length === 0) assert.deepEqual(ofClass(victims, "Guaranteed"), []);
      const best = ofClass(candidates, "BestEffort");
      if (lacks(required, best).length === 0) assert.deepEqual(ofClass(victims, "Burstable"), []);
    }),
    { numRuns },
  ));

test("as few pods of each class as possible are preempted for one missing resource, and none unnecessarily", () =>
  fc.assert(
    fc.property(preemptors, somePods, requirements, (preemptor, pods, [one]) => {
      assert.ok(one);
      const choice = choosePreempted(preemptor, pods, [one], options);
      if ("unmet" in choice) return;
      const candidates = pods.filter((pod) => isPreemptable(pod, preemptor));
      const [best, burstable, guaranteed] = (["BestEffort", "Burstable", "Guaranteed"] as const).map(
        (qos) => ({
          all: ofClass(candidates, qos),
          chosen: ofClass(choice.victims, qos),
        }),
      ) as { all: Pod[]; chosen: Pod[] }[];
      assert.ok(best && burstable && guaranteed);
      const need = (...gone: Pod[][]) => one.quantity - freed(gone.flat(), one.resource);
      const rows: [Pod[], Pod[], bigint][] = [
        [guaranteed.all, guaranteed.chosen, need(best.all, burstable.all)],
        [burstable.all, burstable.chosen, need(best.all, guaranteed.chosen)],
        [best.all, best.chosen, need(burstable.chosen, guaranteed.chosen)],
      ];
      for (const [all, chosen, needed] of rows)
        assert.equal(chosen.length, fewest(all, one.resource, needed));
      for (const victim of choice.victims)
        assert.ok(
          lacks(
            [one],
            choice.victims.filter((other) => other !== victim),
          ).length > 0,
          `${victim.metadata.uid} was preempted unnecessarily`,
        );
    }),
    { numRuns },
  ));

/** How many of the largest pods free that much. */
function fewest(pods: readonly Pod[], resource: string, needed: bigint): number {
  const amounts = pods.map((pod) => requestsOf(pod, options)(resource)).sort((a, b) => Number(b - a));
  let count = 0;
  for (let rest = needed; rest > 0n; count++) rest -= amounts[count] ?? rest;
  return count;
}
