import assert from "node:assert/strict";
import { test } from "node:test";
import { assertGrowth } from "../../../../test/growth.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import { conflictingHostPort } from "./host-ports.ts";

type Ports = readonly [hostPort: number, hostIP?: string, protocol?: string][];

const podWith = (name: string, ports: Ports) =>
  fakePod({
    metadata: { name },
    spec: {
      containers: [
        {
          ports: ports.map(([hostPort, hostIP, protocol]) => ({
            containerPort: 1,
            hostPort,
            ...(hostIP !== undefined && { hostIP }),
            ...(protocol !== undefined && { protocol: protocol as "TCP" }),
          })),
        },
      ],
    },
  });

const rows: [rule: string, requested: Ports, others: readonly Ports[], by: number | undefined][] = [
  ["another port is free", [[80]], [[[81]]], undefined],
  ["another protocol is free", [[80]], [[[80, "", "UDP"]]], undefined],
  ["another address is free", [[80, "10.0.0.1"]], [[[80, "10.0.0.2"]]], undefined],
  ["the same address conflicts", [[80, "10.0.0.1"]], [[[80, "10.0.0.2"]], [[80, "10.0.0.1"]]], 1],
  ["no address conflicts with any", [[80]], [[[81]], [[80, "10.0.0.2"]], [[80]]], 1],
  [
    "any conflicts with no address",
    [[80, "10.0.0.1"]],
    [[[80, "10.0.0.2"]], [[80, "0.0.0.0"]], [[80, "10.0.0.1"]]],
    1,
  ],
  ["the first pod is reported", [[80, "10.0.0.1"]], [[[80, "10.0.0.1"]], [[80]]], 0],
  ["0 is no host port", [[0]], [[[0]]], undefined],
];
for (const [rule, requested, others, by] of rows)
  test(rule, () => {
    const pods = others.map((ports, index) => podWith(`p${index}`, ports));
    const found = conflictingHostPort(podWith("new", requested), pods);
    assert.equal(found?.by.metadata.name, by === undefined ? undefined : `p${by}`);
  });

test("any number of ports is compared in linear time", () => {
  const address = (index: number) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
  for (const ports of [
    (size: number, from: number): Ports => Array.from({ length: size }, (_, i) => [from + i]),
    (size: number, from: number): Ports =>
      Array.from({ length: size }, (_, i) => [80, address(from * 2 + i)]),
  ])
    assertGrowth(1, 200, (size) => {
      const [pod, other] = [podWith("new", ports(size, 1)), podWith("p", ports(size, 500_001))];
      return () => conflictingHostPort(pod, [other]);
    });
});
