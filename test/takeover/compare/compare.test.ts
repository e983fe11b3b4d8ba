import assert from "node:assert/strict";
import { test } from "node:test";
import { unexplainedDifferences, unintendedDifferences } from "./accepted.ts";
import { anonymizer, differences, type Facts, leaves, unexplained } from "./facts.ts";
import {
  criFacts,
  eventFacts,
  iptablesFacts,
  listFacts,
  metricFacts,
  mountFacts,
  nodeFacts,
  podFacts,
  summaryFacts,
} from "./kinds.ts";

const uid = "24d3078f-f4b5-4f42-a823-b1b5f135683b";
const id = "ab".repeat(32);
const pod = {
  metadata: { name: "web", uid },
  status: {
    podIP: "10.88.0.3",
    hostIP: "192.0.2.10",
    containerStatuses: [{ name: "c", containerID: `containerd://${id}`, restartCount: 3, lastState: null }],
  },
};
const anonymize = anonymizer([pod]);

const texts: [text: string, want: string][] = [
  [`/pods/${uid}/volumes`, "/pods/{web}/volumes"],
  [`kubepods-pod${uid.replaceAll("-", "_")}.slice`, "kubepods-pod{web}.slice"],
  [`cri-containerd-${id}.scope`, "cri-containerd-{web/c}.scope"],
  [`${"cd".repeat(32)} of another pod`, "{id} of another pod"],
  ["10.88.0.3 on 192.0.2.10", "{pod IP} on {node IP}"],
  ["at 2026-11-18T15:34:36.123Z", "at {time}"],
  [`pods/${uid}/containers/c/8ed4dce7 file`, "pods/{web}/containers/c/{random} file"],
  ["kube-api-access-t44j4/..2026_11_18_15_34_36.123", "kube-api-access/..{time}"],
];
for (const [text, want] of texts)
  test(`"${text}" has no identity of its run`, () => assert.equal(anonymize(text), want));

test("the leaves of a JSON value are named by its items, without null and empty lists", () => {
  assert.deepEqual(
    leaves({ a: [{ name: "x", b: 1 }, { b: null }], c: {}, d: [], e: [{ type: "Ready", f: "g" }, 7] }),
    {
      ".a[x].name": '"x"',
      ".a[x].b": "1",
      ".c": "{}",
      ".e[Ready].type": '"Ready"',
      ".e[Ready].f": '"g"',
      ".e[1]": "7",
    },
  );
});

const rows: [what: string, expected: Facts, actual: Facts, found: string[]][] = [
  ["nothing", { a: "1" }, { a: "1" }, []],
  ["another value", { a: "1" }, { a: "x" }, ["a: x instead of 1"]],
  ["a missing one", { a: "1" }, {}, ["a: - instead of 1"]],
  ["one too many", {}, { a: "1" }, ["a: 1 instead of -"]],
  ["a number within the tolerance", { a: "100" }, { a: "105" }, []],
  ["a number beyond the tolerance", { a: "100" }, { a: "106" }, ["a: 106 instead of 100"]],
  ["a text where a number is expected", { a: "100" }, { a: "100x" }, ["a: 100x instead of 100"]],
];
for (const [what, expected, actual, found] of rows)
  test(`a difference: ${what}`, () => {
    assert.deepEqual(unexplained(differences(expected, actual, { relative: 0.05 }), []), found);
  });

test("a difference is accepted only in the direction that is stated", () => {
  const own = "/metrics kubelet_ts_tokens";
  assert.deepEqual(unintendedDifferences("metrics", {}, { [own]: "gauge {}" }), []);
  assert.equal(unintendedDifferences("metrics", { [own]: "gauge {}" }, {}).length, 1);
  const psi = { ".node.cpu.psi.some.avg10": "number" };
  assert.equal(unintendedDifferences("/stats/summary", psi, {}).length, 1);
  assert.deepEqual(unexplainedDifferences("/stats/summary", psi, {}), []);
});

test("of a node, what the machine is counts by its type", () => {
  const node = {
    metadata: { uid, name: "n" },
    status: {
      capacity: { cpu: "2" },
      conditions: [{ type: "Ready", status: "True" }],
      images: [{ names: ["a"] }],
    },
  };
  assert.deepEqual(nodeFacts(node, anonymize), {
    ".metadata.name": '"n"',
    ".status.capacity.cpu": "string",
    ".status.conditions[Ready].type": '"Ready"',
    ".status.conditions[Ready].status": '"True"',
    ".status.images": "list",
  });
});

test("of a pod, the status counts, without the number of restarts", () => {
  assert.deepEqual(podFacts(pod, anonymize), {
    "web.podIP": '"{pod IP}"',
    "web.hostIP": '"{node IP}"',
    "web.containerStatuses[c].name": '"c"',
    "web.containerStatuses[c].containerID": '"containerd://{web/c}"',
  });
});

test("events of the kubelet count, with their messages but not how often they were sent", () => {
  const involvedObject = { kind: "Pod", name: "web", fieldPath: "spec.containers{c}" };
  const event = { reason: "Pulled", type: "Normal", message: "pulled in 1.5s", involvedObject };
  assert.deepEqual(
    eventFacts(
      [
        { ...event, source: { component: "kubelet" } },
        { ...event, source: { component: "kubelet" }, message: "pulled in 20ms" },
        { ...event, source: { component: "scheduler" } },
      ],
      anonymize,
    ),
    { "Pod web spec.containers{c} Normal Pulled: pulled in {duration}": "sent" },
  );
});

test("of a summary, fields and capacities count, without devices of the host", () => {
  const network = {
    interfaces: [
      { name: "eth0", rxBytes: 1 },
      { name: "up0", rxBytes: 1 },
    ],
  };
  const summary = {
    node: { fs: { capacityBytes: 10, usedBytes: 3 } },
    pods: [{ podRef: { name: "web" }, network }],
  };
  assert.deepEqual(summaryFacts(summary), {
    ".node.fs.capacityBytes": "10",
    ".node.fs.usedBytes": "number",
    ".pods[web].podRef.name": "string",
    ".pods[web].network.interfaces[eth0].name": "string",
    ".pods[web].network.interfaces[eth0].rxBytes": "number",
  });
});

test("of metrics, types and labels count, and values that state a setting", () => {
  const text =
    '# HELP machine_cpu_cores x\n# TYPE machine_cpu_cores gauge\nmachine_cpu_cores{machine_id=""} 2\n' +
    '# HELP a_total x\n# TYPE a_total counter\na_total{b="1"} 7\n';
  assert.deepEqual(metricFacts("/m", text, anonymize), {
    "/m machine_cpu_cores": "gauge {machine_id}",
    '/m machine_cpu_cores{"machine_id":""}': "2",
    "/m a_total": "counter {b}",
  });
});

test("cgroup files and files are named by path, with their value or mode", () => {
  assert.deepEqual(listFacts([`kubepods/pod${uid} cpu.max max 100000`, "pods directory 750"], anonymize), {
    "kubepods/pod{web} cpu.max": "max 100000",
    "pods directory": "750",
  });
});

test("mounts of pods count, with the filesystem and the size of a tmpfs", () => {
  const of = (path: string, rest: string) => `36 25 0:37 / ${path} rw,relatime shared:1 - ${rest}`;
  assert.deepEqual(
    mountFacts(
      [
        of(`/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~secret/s`, "tmpfs tmpfs rw,size=64k"),
        of(`/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~secret/t`, "tmpfs tmpfs rw,size=2568740k"),
        of(`/var/lib/kubelet/pods/${uid}/volume-subpaths/v/c/0`, "ext4 /dev/vda rw"),
        of("/proc", "proc proc rw"),
      ],
      anonymize,
    ),
    {
      "{web}/volumes/kubernetes.io~secret/s": "tmpfs rw,relatime rw,size=64k",
      "{web}/volumes/kubernetes.io~secret/t": "tmpfs rw,relatime rw,size={allocatable}",
      "{web}/volume-subpaths/v/c/0": "bind rw,relatime",
    },
  );
});

test("chains and rules of the kubelet count, without counters", () => {
  const saved =
    "*filter\n:INPUT ACCEPT [1:2]\n:KUBE-FIREWALL - [0:0]\n-A INPUT -j KUBE-FIREWALL\n-A INPUT -j OTHER\nCOMMIT\n";
  assert.deepEqual(iptablesFacts([saved, ""]), {
    "iptables filter :KUBE-FIREWALL -": "set",
    "iptables filter -A INPUT -j KUBE-FIREWALL": "set",
  });
});

test("of CRI requests, those that create sandboxes and containers count", () => {
  const sandboxConfig = { metadata: { name: "web", uid } };
  assert.deepEqual(
    criFacts(
      [
        { method: "RunPodSandbox", request: { config: sandboxConfig } },
        { method: "CreateContainer", request: { config: { metadata: { name: "c" } }, sandboxConfig } },
        {
          method: "CreateContainer",
          request: {
            config: { metadata: { name: "d" } },
            sandboxConfig: { metadata: { uid: "0", name: "web" } },
          },
        },
        { method: "ListContainers", request: {} },
      ],
      anonymize,
    ),
    {
      "RunPodSandbox web .config.metadata.name": '"web"',
      "RunPodSandbox web .config.metadata.uid": '"{web}"',
      "CreateContainer web c .config.metadata.name": '"c"',
      "CreateContainer web c .sandboxConfig": '"as created"',
      "CreateContainer web d .config.metadata.name": '"d"',
      "CreateContainer web d .sandboxConfig.metadata.name": '"web"',
      "CreateContainer web d .sandboxConfig.metadata.uid": '"0"',
    },
  );
});
