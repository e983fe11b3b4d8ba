import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Unstructured } from "../../definition.ts";
import { StatusError } from "../../status-error.ts";
import type { ApiObject } from "../../storage/object.ts";
import { testKinds, updateErrors, validationErrors } from "../fixtures.ts";
import { AddressRange } from "./address-range.ts";
import type { ServiceSpec } from "./service.ts";

type TestKinds = ReturnType<typeof testKinds>;

const port = { port: 80 };

async function createService({ objects }: TestKinds, name: string, spec: ServiceSpec): Promise<Unstructured> {
  const draft = { metadata: { name, namespace: "default" }, spec };
  return await objects.create("services", draft);
}

async function change(
  { objects }: TestKinds,
  name: string,
  edit: (spec: ServiceSpec) => void,
): Promise<ApiObject> {
  const ref = { resource: "services", namespace: "default", name };
  return (await objects.change(ref, (draft) => edit(draft.spec)))!;
}

async function rejection(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof StatusError);
    assert.equal(error.status, 422);
    return error.message;
  }
  return "none";
}

describe("ranges of addresses", () => {
  test("leave the low part to clients that choose an address", () => {
    const range = new AddressRange("10.96.0.0/24");
    assert.equal(range.first, "10.96.0.1");
    assert.equal(range.free(new Set(), 0), "10.96.0.17");
    assert.equal(range.free(new Set(["10.96.0.254"]), 0.999), "10.96.0.17");
  });

  test("use the low part when the rest is full", () => {
    const range = new AddressRange("10.96.0.0/28");
    const taken = new Set<string>();
    for (let i = 0; i < 14; i++) taken.add(range.free(taken, 0.5) ?? "none");
    assert.equal(taken.size, 14);
    assert.equal(range.free(taken, 0.5), undefined);
    assert.ok([...taken].every((address) => range.has(address)));
    assert.equal(range.has("10.96.0.0"), false);
    assert.equal(range.has("10.96.0.15"), false);
  });
});

describe("new services", () => {
  test("new services get an address and all defaults", async () => {
    const { spec, status } = await createService(testKinds(), "a", { ports: [port] });
    assert.deepEqual(spec, {
      type: "ClusterIP",
      clusterIP: "10.96.1.1",
      clusterIPs: ["10.96.1.1"],
      internalTrafficPolicy: "Cluster",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
      sessionAffinity: "None",
    });
    assert.deepEqual(status, { loadBalancer: {} });
  });

  test("services never share an address, even when created concurrently", async () => {
    const kinds = testKinds();
    const names = ["a", "b", "c", "d"];
    const all = await Promise.all(names.map((name) => createService(kinds, name, { ports: [port] })));
    assert.equal(new Set(all.map(({ spec }) => spec.clusterIP)).size, names.length);
  });

  test("headless services have no address", async () => {
    const { spec } = await createService(testKinds(), "a", { clusterIP: "None" });
    assert.deepEqual([spec.clusterIP, spec.clusterIPs], ["None", ["None"]]);
  });

  test("ExternalName services have no address", async () => {
    const { spec } = await createService(testKinds(), "a", {
      type: "ExternalName",
      externalName: "example.com.",
    });
    assert.equal(spec.clusterIP, undefined);
    assert.equal(spec.internalTrafficPolicy, undefined);
  });

  test("a requested address is allocated once", async () => {
    const kinds = testKinds();
    const { spec } = await createService(kinds, "a", { clusterIP: "10.96.0.10", ports: [port] });
    assert.equal(spec.clusterIP, "10.96.0.10");
    assert.equal(
      await rejection(createService(kinds, "b", { clusterIP: "10.96.0.10", ports: [port] })),
      'Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.10"]: failed to allocate IP 10.96.0.10: provided IP is already allocated',
    );
    assert.equal(
      await rejection(createService(kinds, "b", { clusterIP: "10.0.0.1", ports: [port] })),
      'Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.1"]: failed to allocate IP 10.0.0.1: the provided IP (10.0.0.1) is not in the valid range. The range of valid IPs is 10.96.0.0/16',
    );
  });

  test("rejected services may request the same address again", async () => {
    const kinds = testKinds();
    await rejection(createService(kinds, "a", { clusterIP: "10.96.0.10" }));
    assert.equal(
      (await createService(kinds, "a", { clusterIP: "10.96.0.10", ports: [port] })).spec.clusterIP,
      "10.96.0.10",
    );
  });

  test("NodePort services get ports, the same for TCP and UDP", async () => {
    const kinds = testKinds();
    const { spec } = await createService(kinds, "a", {
      type: "NodePort",
      ports: [
        { name: "a", port: 53, protocol: "UDP" },
        { name: "b", port: 53 },
        { name: "c", port: 80 },
      ],
    });
    assert.deepEqual(
      spec.ports.map((each: { nodePort: number }) => each.nodePort),
      [30000, 30000, 30001],
    );
    assert.equal(spec.externalTrafficPolicy, "Cluster");
    assert.equal(
      await rejection(
        createService(kinds, "b", { type: "NodePort", ports: [{ port: 80, nodePort: 30001 }] }),
      ),
      'Service "b" is invalid: spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated',
    );
    assert.equal(
      await rejection(createService(kinds, "b", { type: "NodePort", ports: [{ port: 80, nodePort: 80 }] })),
      'Service "b" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767',
    );
  });

  const cases: [string, object, string[]][] = [
    ["a service needs a port", {}, ["spec.ports: Required value"]],
    [
      "several ports need names",
      { ports: [port, { port: 81 }] },
      ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
    ],
    [
      "ports are unique",
      {
        ports: [
          { ...port, name: "a" },
          { ...port, name: "b" },
        ],
      },
      ['spec.ports[1]: Duplicate value: {"protocol":"TCP","port":80}'],
    ],
    [
      "check ports",
      { ports: [{ port: 0, targetPort: 1 }] },
      ["spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"],
    ],
    [
      "check types",
      { type: "Other", ports: [port] },
      [
        'spec.type: Unsupported value: "Other": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
      ],
    ],
    [
      "a ClusterIP service has no node port",
      { ports: [{ ...port, nodePort: 30000 }] },
      ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    ],
    ["an ExternalName service needs a name", { type: "ExternalName" }, ["spec.externalName: Required value"]],
    [
      "a NodePort service has an address",
      { type: "NodePort", clusterIP: "None", ports: [port] },
      ["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"],
    ],
    [
      "check affinity",
      { ports: [port], sessionAffinity: "Mine" },
      ['spec.sessionAffinity: Unsupported value: "Mine": supported values: "ClientIP", "None"'],
    ],
  ];
  for (const [rule, spec, expected] of cases)
    test(rule, async () => assert.deepEqual(await validationErrors("services", { spec }), expected));
});

describe("changes of services", () => {
  test("updates that omit allocated fields keep them", async () => {
    const kinds = testKinds();
    const { spec } = await createService(kinds, "a", { type: "NodePort", ports: [{ name: "p", port: 80 }] });
    const changed = await change(kinds, "a", (spec) => {
      delete spec.clusterIP;
      delete spec.clusterIPs;
      spec.ports = [{ name: "p", port: 81 }];
    });
    assert.equal(changed.spec.clusterIP, spec.clusterIP);
    assert.equal(changed.spec.ports[0].nodePort, spec.ports[0].nodePort);
  });

  test("a change to ExternalName releases the address", async () => {
    const kinds = testKinds();
    await createService(kinds, "a", { ports: [port] });
    const { spec } = await change(kinds, "a", (spec) => {
      spec.type = "ExternalName";
      spec.externalName = "example.com";
    });
    assert.deepEqual([spec.clusterIP, spec.clusterIPs, spec.ipFamilies], [undefined, undefined, undefined]);
  });

  test("a change to NodePort and back releases the node ports", async () => {
    const kinds = testKinds();
    await createService(kinds, "a", { ports: [port] });
    const there = await change(kinds, "a", (spec) => {
      spec.type = "NodePort";
    });
    assert.equal(there.spec.ports[0].nodePort, 30000);
    const back = await change(kinds, "a", (spec) => {
      spec.type = "ClusterIP";
    });
    assert.deepEqual([back.spec.ports[0].nodePort, back.spec.externalTrafficPolicy], [undefined, undefined]);
  });

  test("the address is immutable", async () => {
    const spec = { type: "ClusterIP", clusterIP: "10.96.0.7", clusterIPs: ["10.96.0.7"], ports: [port] };
    assert.deepEqual(
      await updateErrors("services", { spec }, { spec: { ...spec, clusterIP: "10.96.0.8" } }),
      ['spec.clusterIPs[0]: Invalid value: ["10.96.0.8"]: may not change once set'],
    );
  });
});
