import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isExtendedResourceName } from "../../../lib/model/extended-resource.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import { containerRequests, podDeviceRequests } from "./device-requests.ts";

describe("names of device resources", () => {
  const rows: [name: string, isValid: boolean][] = [
    ["vendor.example/gpu", true],
    ["vendor.example/gpu-shared_1.x", true],
    ["gpu", false],
    ["kubernetes.io/gpu", false],
    ["sub.kubernetes.io/gpu", false],
    ["requests.vendor.example/gpu", false],
    ["vendor.example/", false],
    ["/gpu", false],
    ["Vendor.Example/gpu", false],
    ["vendor.example/a/b", false],
    ["vendor.example/g pu", false],
    ["", false],
    ["hugepages-2Mi", false],
  ];
  for (const [name, isValid] of rows)
    it(`${JSON.stringify(name)} is ${isValid ? "valid" : "invalid"}`, () =>
      assert.equal(isExtendedResourceName(name), isValid));
});

describe("device requests", () => {
  const limits = (amounts: Record<string, string>) => ({ resources: { limits: amounts } });
  // parity: gate DRAExtendedResource=true as extendedResourcesByDra, gate DRAExtendedResource=false as extendedResourcesByDra
  it("a container requests the extended resources of its limits, unless DRA allocates them", () => {
    const pod = fakePod({
      spec: {
        containers: [
          limits({
            cpu: "1",
            "v.example/b": "2",
            "v.example/a": "1",
            "v.example/c": "0",
            "v.example/d": "1",
          }),
        ],
      },
      status: {
        extendedResourceClaimStatus: {
          requestMappings: [{ containerName: "c0", resourceName: "v.example/d" }],
        },
      } as never,
    });
    const [container] = pod.spec.containers;
    assert.ok(container);
    assert.deepEqual(containerRequests(pod, container), [
      { resource: "v.example/a", count: 1 },
      { resource: "v.example/b", count: 2 },
    ]);
    const extendedResourcesByDra = false;
    const all = containerRequests(pod, container, extendedResourcesByDra);
    assert.deepEqual(
      all.map(({ resource }) => resource),
      ["v.example/a", "v.example/b", "v.example/d"],
    );
  });

  it("a pod requests the maximum of its init containers, or the sum of containers and sidecars", () => {
    const pod = fakePod({
      spec: {
        initContainers: [
          { name: "i", ...limits({ "v.example/a": "3" }) },
          { name: "s", restartPolicy: "Always", ...limits({ "v.example/a": "1" }) },
        ],
        containers: [limits({ "v.example/a": "1" }), limits({ "v.example/a": "2" })],
      },
    });
    assert.deepEqual(podDeviceRequests(pod), [{ resource: "v.example/a", count: 4 }]);
  });
});
