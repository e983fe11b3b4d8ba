import assert from "node:assert/strict";
import { test } from "node:test";
import { builtIns } from "./built-ins.ts";

test("the API has endpoints if the machine has a reachable address", () => {
  const rows: [string | undefined, unknown, unknown][] = [
    ["192.0.2.7", [{ ip: "192.0.2.7" }], ["192.0.2.7"]],
    [undefined, undefined, undefined],
  ];
  for (const [apiAddress, addresses, sliced] of rows) {
    const objects = builtIns({ apiAddress, apiPort: 6443, serviceRange: "10.96.0.0/16", servicePort: 443 });
    const draft = (resource: string) => objects.find(({ ref }) => ref.resource === resource)?.draft;
    assert.deepEqual(draft("endpoints")?.subsets?.[0].addresses, addresses);
    assert.deepEqual(draft("endpointslices.discovery.k8s.io")?.endpoints[0]?.addresses, sliced);
    assert.equal(draft("services")?.spec.clusterIP, "10.96.0.1");
  }
});
