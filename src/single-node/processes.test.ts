import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeFiles } from "./node-files.ts";
import { type ProcessInfo, processesOfNode, readProcess } from "./processes.ts";

const files = nodeFiles("demo");
const info = (pid: number, parent: number, args: string, more: Partial<ProcessInfo> = {}): ProcessInfo => ({
  pid,
  parent,
  startTime: "1",
  zombie: false,
  args: args.split(" "),
  cgroups: ["0::/"],
  rootMount: undefined,
  ...more,
});
const shim = "containerd-shim-runc-v2 -namespace k8s.io -id x -address /run/kubelet-ts/demo/containerd.sock";
const pidsOf = (all: ProcessInfo[], self = 999) => {
  const { containerd, shims, containers } = processesOfNode(files, all, self);
  return [containerd, shims, containers].map((list) => list.map((p) => p.pid));
};

test("containerd is identified by its config, shims by the socket, containers by descent from a shim", () => {
  const all = [
    info(10, 1, "/usr/bin/containerd --config /run/kubelet-ts/demo/containerd.toml"),
    info(20, 1, shim),
    info(21, 20, "/pause"),
    info(22, 21, "sh"),
    info(30, 1, "bash"),
  ];
  assert.deepEqual(pidsOf(all), [[10], [20], [21, 22]]);
});

test("the API is identified by its directory", () => {
  const all = [
    info(10, 1, "node kubelet.cjs api --dir /var/lib/kubelet-ts/demo/api --port 0"),
    info(11, 1, "node kubelet.cjs api --dir /var/lib/kubelet-ts/demo-2/api --port 0"),
  ];
  assert.deepEqual(
    processesOfNode(files, all, 999).api.map((p) => p.pid),
    [10],
  );
});

test("the host's containerd, another node's shims and their containers are not ours", () => {
  const all = [
    info(10, 1, "/usr/bin/containerd"),
    info(20, 1, shim.replace("/demo/", "/demo-2/")),
    info(21, 20, "/pause", { cgroups: ["0::/kubelet-ts-demo-2/kubepods"] }),
    info(30, 1, shim.replace("/run/kubelet-ts/demo", "/run/containerd")),
    info(31, 30, "/pause", { cgroups: ["4:memory:/k8s.io/abc"] }),
    info(40, 1, "vi /run/kubelet-ts/demo/containerd.toml"),
  ];
  assert.deepEqual(pidsOf(all), [[], [], []]);
});

const orphans: [string, Partial<ProcessInfo>][] = [
  ["its cgroup", { cgroups: ["4:memory:/kubelet-ts-demo/kubepods/podx/y"] }],
  [
    "a root on the node's disk",
    {
      rootMount:
        "1 2 0:3 / / rw - overlay overlay rw,upperdir=/var/lib/kubelet-ts/demo/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/5/fs",
    },
  ],
];
for (const [how, more] of orphans) {
  test(`a container whose shim was killed is known by ${how}`, () => {
    assert.deepEqual(pidsOf([info(50, 1, "sleep 1000", more)]), [[], [], [50]]);
  });
}

test("the calling process is never one of them", () => {
  assert.deepEqual(pidsOf([info(50, 1, "node", { cgroups: ["0::/kubelet-ts-demo"] })], 50), [[], [], []]);
});

test("/proc has parent and start time of this process, and nothing of one that has exited", () => {
  const self = readProcess(process.pid);
  assert.equal(self?.parent, process.ppid);
  assert.match(self?.startTime ?? "", /^\d+$/);
  assert.equal(readProcess(0x7fffffff), undefined);
});
