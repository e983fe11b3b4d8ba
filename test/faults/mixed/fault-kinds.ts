import { setTimeout as pause } from "node:timers/promises";
import { faults as networkFaults } from "../../cluster/faulty-proxy.ts";
import type { CriFault } from "../cri-proxy.ts";
import type { Random } from "../seeded-random.ts";
import { type FaultNode, kill } from "./fault-node.ts";

/** A fault with its parameters: what it is, and what it does until it is over. */
export interface ChosenFault {
  /** Faults of one lane do not overlap. */
  readonly lane: string;
  readonly description: string;
  readonly run: () => Promise<void>;
}

const methods = [
  "RunPodSandbox",
  "StopPodSandbox",
  "RemovePodSandbox",
  "PodSandboxStatus",
  "ListPodSandbox",
  "CreateContainer",
  "StartContainer",
  "StopContainer",
  "RemoveContainer",
  "ContainerStatus",
  "ListContainers",
  "ExecSync",
  "ImageStatus",
  "Status",
  "GetContainerEvents",
];
/** UNKNOWN, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, INTERNAL, UNAVAILABLE. Not NOT_FOUND: a runtime that denies what it has is not trusted. */
const codes = [2, 4, 8, 13, 14];
const second = 1000;
const hour = 3600 * second;
const clockOffsets = [0, -40 * second, 40 * second, -hour, hour, 26 * hour];

type Kind = (node: FaultNode, random: Random) => ChosenFault;

const kinds: readonly Kind[] = [
  (node, { below }) => {
    const awayMs = below(2500);
    return {
      lane: "agent",
      description: `agent killed, back after ${awayMs} ms`,
      run: async () => {
        await node.apiNode.agent.end("SIGKILL");
        await pause(awayMs);
        node.startAgent();
      },
    };
  },
  (node, { below }) => {
    const awayMs = below(2000);
    return {
      lane: "containerd",
      description: `containerd killed, back after ${awayMs} ms`,
      run: async () => {
        await node.killContainerd();
        await pause(awayMs);
        await node.apiNode.node.startRuntime();
      },
    };
  },
  (node, { below }) => {
    const which = below(1000);
    return {
      lane: "shim",
      description: `shim ${which} killed`,
      run: async () => {
        const { shims } = node.processes();
        if (shims.length > 0) kill(shims[which % shims.length]!.pid);
      },
    };
  },
  (node, { below }) => {
    const which = below(1000);
    return {
      lane: "process",
      description: `process ${which} in a container killed`,
      run: async () => {
        const { containers } = node.processes();
        if (containers.length > 0) kill(containers[which % containers.length]!.pid);
      },
    };
  },
  (node, { below }) => {
    const awayMs = below(2000);
    return {
      lane: "api",
      description: `API killed, back after ${awayMs} ms`,
      run: async () => {
        await node.apiNode.api.kill();
        await pause(awayMs);
        node.apiNode.api.start();
      },
    };
  },
  (node, { below }) => {
    const stoppedMs = below(5000);
    return {
      lane: "api",
      description: `API stopped for ${stoppedMs} ms`,
      run: async () => {
        node.apiNode.api.signal("SIGSTOP");
        await pause(stoppedMs);
        node.apiNode.api.signal("SIGCONT");
      },
    };
  },
  (node, { below }) => {
    const count = 1 + below(30);
    return {
      lane: "errors",
      description: `${count} API requests fail`,
      run: async () => node.errors.fail(count),
    };
  },
  (node, { below }) => {
    const direction = below(2) ? "down" : "up";
    const [fault, at] = [networkFaults[below(networkFaults.length)]!, below(20_000)];
    return {
      lane: "network",
      description: `API connection: ${fault} ${at} bytes ${direction}`,
      run: async () => node.network.add({ direction, at, fault }),
    };
  },
  (node) => ({
    lane: "network",
    description: "API connections reset",
    run: async () => node.network.reset(),
  }),
  (node, random) => criCalls(node, random),
  (node, random) => criCalls(node, random),
  (node, random) => criCalls(node, random),
  (node) => ({
    lane: "cri-connection",
    description: "connections to the runtime cut",
    run: async () => node.cri.reset(),
  }),
  (node, { below }) => {
    const fullMs = below(5000);
    return {
      lane: "disk",
      description: `disk full for ${fullMs} ms`,
      run: async () => {
        node.fillDisk();
        await pause(fullMs);
        node.freeDisk();
      },
    };
  },
  (node, { below }) => {
    const offsetMs = clockOffsets[below(clockOffsets.length)]!;
    return {
      lane: "clock",
      description: `wall clock set to ${offsetMs / second} s from now`,
      run: async () => node.setClock(offsetMs),
    };
  },
];

function criCalls(node: FaultNode, { below }: Random): ChosenFault {
  const kind = (["delay", "hang", "hang-response", "fail", "fail-response"] as const)[below(5)]!;
  const faulty = Array.from({ length: 1 + below(3) }, () => methods[below(methods.length)]!);
  const [times, code, ms, lastsMs] = [1 + below(4), codes[below(codes.length)]!, below(6000), below(14_000)];
  const effect = { kind, code, ms } as CriFault["effect"];
  return {
    lane: "cri",
    description: `${faulty.join(", ")}: ${kind} (${times} times, code ${code}, ${ms} ms), over after ${lastsMs} ms`,
    run: async () => {
      for (const method of faulty) node.cri.add({ method, times, effect });
      await pause(lastsMs);
      node.cri.release();
    },
  };
}

export function chooseFault(node: FaultNode, random: Random): ChosenFault {
  return kinds[random.below(kinds.length)]!(node, random);
}
