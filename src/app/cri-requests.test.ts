import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { aContainer, aPod, testUid } from "../../test/builders/pods.ts";
import { fakeNode, fakeSettings } from "../pipeline/pod-runtime/config/fake-context.ts";
import { criRequests } from "./cri-requests.ts";

async function setUp(t: TestContext, resolvConf = "nameserver 192.0.2.53\nsearch example.test\n") {
  const dir = await mkdtemp(join(tmpdir(), "cri-requests-"));
  t.after(() => rm(dir, { recursive: true }));
  await writeFile(join(dir, "resolv.conf"), resolvConf);
  const said: string[] = [];
  const requests = criRequests({
    node: fakeNode,
    settings: { ...fakeSettings, rootDir: dir },
    clusterDns: ["10.96.0.10"],
    clusterDomain: "cluster.local",
    resolvConf: join(dir, "resolv.conf"),
    cgroupParentOf: (pod) => `/kubepods/pod${pod.metadata.uid}`,
    events: { normal() {}, warning: (_pod, reason) => void said.push(reason) },
  });
  return { dir, requests, said };
}
const image = { ref: "sha256:1", user: { uid: 0n } };

test("a sandbox gets the resolver that its policy asks for, and the pod's cgroup", async (t) => {
  const { requests } = await setUp(t);
  const own = await requests.sandbox(aPod({ dnsPolicy: "Default" }), 3);
  assert.deepEqual(own.dnsConfig?.servers, ["192.0.2.53"]);
  assert.equal(own.metadata?.attempt, 3);
  assert.equal(own.linux?.cgroupParent, `/kubepods/pod${testUid}`);
  const cluster = await requests.sandbox(aPod({ dnsPolicy: "ClusterFirst" }), 0);
  assert.deepEqual(cluster.dnsConfig?.servers, ["10.96.0.10"]);
  assert.ok(cluster.dnsConfig?.searches?.includes("default.svc.cluster.local"));
});

test("what is wrong with the resolver is told once a pod", async (t) => {
  const servers = [1, 2, 3, 4].map((n) => `nameserver 192.0.2.${n}\n`).join("");
  const { requests, said } = await setUp(t, servers);
  const pod = aPod({ dnsPolicy: "Default" });
  for (let i = 0; i < 3; i++) await requests.sandbox(pod, 0);
  assert.deepEqual(said, ["DNSConfigForming"]);
});

test("a container gets a hosts file with the pod's address, and a file for its last words", async (t) => {
  const { dir, requests } = await setUp(t);
  const container = aContainer("a", { terminationMessagePath: "/dev/termination-log" });
  const pod = aPod({ containers: [container] });
  const made = { attempt: 0, image, podIPs: ["10.0.0.5"] };
  const config = await requests.container(pod, container, made);
  assert.match(await readFile(join(dir, "pods", testUid, "etc-hosts"), "utf8"), /^10\.0\.0\.5\s+p$/m);
  const last = config.mounts?.find((m) => m.containerPath === "/dev/termination-log");
  const file = await stat(last!.hostPath!);
  assert.ok(file.isFile());
  assert.equal(file.mode & 0o777, 0o666);
  const again = await requests.container(pod, container, { ...made, attempt: 1 });
  const next = again.mounts?.find((m) => m.containerPath === "/dev/termination-log");
  assert.notEqual(next?.hostPath, last?.hostPath, "each start has its own");
});

test("a pod on the node's network has the node's hosts", async (t) => {
  const { dir, requests } = await setUp(t);
  const pod = aPod({ hostNetwork: true });
  await requests.container(pod, pod.spec.containers[0]!, { attempt: 0, image, podIPs: [] });
  const hosts = await readFile(join(dir, "pods", testUid, "etc-hosts"), "utf8");
  assert.ok(hosts.includes((await readFile("/etc/hosts", "utf8")).trim()));
});
