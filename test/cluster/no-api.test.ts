import assert from "node:assert/strict";
import { test } from "node:test";
import { FeatureGates } from "../../src/lib/config/feature-gates.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { container, TestCluster } from "./cluster-node.ts";

test("a volume that needs a Secret names it on a node without an API server", async (t) => {
  const gates = new FeatureGates({ PreventStaticPodAPIReferences: false });
  const cluster = await TestCluster.start(t, { cluster: undefined, gates });
  const iscsi = {
    targetPortal: "192.0.2.1",
    iqn: "iqn.2001-04.com.example:disk",
    lun: 0,
    chapAuthSession: true,
    secretRef: { name: "chap" },
  };
  await cluster.placeManifest("web", {
    volumes: [{ name: "disk", iscsi }],
    containers: [container({ volumeMounts: [{ name: "disk", mountPath: "/data" }] })],
  });
  await cluster.startAgent();
  const missing = "Secret default/chap: not available without an API server";
  await waitFor(() => {
    const text = JSON.stringify(cluster.agent.overview.rows());
    assert.ok(text.includes(missing), text);
  });
});
