import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, anObservedContainer, aPod } from "../../../../test/builders/pods.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { ObservedContainer } from "../../state/observed-pods.ts";
import { graceSecondsOf } from "./grace.ts";

const a = anObservedContainer("a");
const probe = (terminationGracePeriodSeconds: number) => ({ terminationGracePeriodSeconds });
const pod = (grace: number | undefined, deletion?: number) =>
  aPod(
    {
      terminationGracePeriodSeconds: grace,
      containers: [
        aContainer("a", { startupProbe: probe(11), livenessProbe: probe(12) }),
        aContainer("b", { startupProbe: {}, livenessProbe: {} }),
      ],
      initContainers: [aContainer("s", { restartPolicy: "Always", livenessProbe: probe(13) })],
    },
    { deletionGracePeriodSeconds: deletion },
  );

type Options = Parameters<typeof graceSecondsOf>[2];
const table: [rule: string, pod: Pod | undefined, c: ObservedContainer, options: Options, seconds: number][] =
  [
    ["the pod sets it", pod(40), a, {}, 40],
    ["the pod has none", pod(undefined), a, {}, 30],
    ["the pod sets it to 0", pod(0), a, {}, 0],
    ["a deletion may shorten it", pod(40, 5), a, {}, 5],
    ["the caller may override both", pod(40, 5), a, { override: 7 }, 7],
    ["the caller may override it with 0", pod(40, 5), a, { override: 0 }, 0],
    ["a negative override is 0", pod(40), a, { override: -1 }, 0],
    ["a startup probe may have its own", pod(40), a, { cause: "startup-probe" }, 11],
    ["a liveness probe may have its own", pod(40), a, { cause: "liveness-probe" }, 12],
    [
      "the probe of a sidecar may have its own",
      pod(40),
      anObservedContainer("s"),
      { cause: "liveness-probe" },
      13,
    ],
    [
      "a probe without its own uses that of the pod",
      pod(40),
      anObservedContainer("b"),
      { cause: "liveness-probe" },
      40,
    ],
    ["that of a probe does not apply to other causes", pod(40), a, { cause: "changed" }, 40],
    ["a deletion takes precedence over a probe", pod(40, 5), a, { cause: "liveness-probe" }, 5],
    ["the caller takes precedence over a probe", pod(40), a, { cause: "liveness-probe", override: 3 }, 3],
    ["all containers are restarted", pod(40, 5), a, { cause: "restart-all" }, 0],
    ["an orphan has 1 s", undefined, a, {}, 1],
    ["the caller overrides that of an orphan", undefined, a, { override: 3 }, 3],
  ];
for (const [rule, of, container, options, seconds] of table)
  test(`the grace period is ${seconds} s: ${rule}`, () =>
    assert.equal(graceSecondsOf(of, container.name, options), seconds));
