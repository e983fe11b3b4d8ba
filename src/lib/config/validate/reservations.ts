import { parseQuantity } from "../../model/quantity.ts";
import type { KubeletConfiguration } from "../kubelet-configuration.ts";
import { isCpuList, isMemoryResource } from "../names.ts";
import type { Problem } from "../problems.ts";

/** Reserved resources, and how they are enforced. */
export function reservationProblems(config: KubeletConfiguration): Problem[] {
  return [
    ...reserved("systemReserved", config.systemReserved),
    ...reserved("kubeReserved", config.kubeReserved),
    ...qosReserved(config),
    ...enforcement(config),
    ...cpus(config),
    ...memory(config),
  ];
}

const reservable = ["cpu", "memory", "ephemeral-storage", "pid"];

function reserved(field: string, amounts: Record<string, string>): Problem[] {
  const problems: Problem[] = [];
  for (const [resource, amount] of Object.entries(amounts)) {
    const note = (message: string) => problems.push({ path: [field, resource], message });
    const quantity = parseQuantity(amount);
    if (!reservable.includes(resource)) note(`cannot be reserved, only ${reservable.join(", ")} can`);
    else if (quantity === undefined) note(`${JSON.stringify(amount)} is not a quantity`);
    else if (quantity < 0n) note(`must not be negative, not ${JSON.stringify(amount)}`);
  }
  return problems;
}

function qosReserved({ qosReserved: shares }: KubeletConfiguration): Problem[] {
  const problems: Problem[] = [];
  for (const [resource, share] of Object.entries(shares)) {
    const path = ["qosReserved", resource];
    const percent = /^(\d+)%$/.exec(share)?.[1];
    if (resource !== "memory") problems.push({ path, message: "cannot be reserved, only memory can" });
    else if (percent === undefined || Number(percent) > 100) {
      problems.push({ path, message: `${JSON.stringify(share)} is not a percentage from 0% to 100%` });
    }
  }
  return problems;
}

const neededCgroup: Record<string, "systemReservedCgroup" | "kubeReservedCgroup" | undefined> = {
  pods: undefined,
  "system-reserved": "systemReservedCgroup",
  "system-reserved-compressible": "systemReservedCgroup",
  "kube-reserved": "kubeReservedCgroup",
  "kube-reserved-compressible": "kubeReservedCgroup",
};

function enforcement(config: KubeletConfiguration): Problem[] {
  const levels: readonly string[] = config.enforceNodeAllocatable;
  const problems: Problem[] = [];
  for (const [index, level] of levels.entries()) {
    const note = (message: string) => problems.push({ path: ["enforceNodeAllocatable", index], message });
    if (levels.indexOf(level) < index) {
      note(`${JSON.stringify(level)} is listed twice`);
      continue;
    }
    if (level === "none") {
      if (levels.length > 1) note('"none" must stand alone');
      continue;
    }
    if (!Object.hasOwn(neededCgroup, level)) {
      const choices = [...Object.keys(neededCgroup), "none"].map((choice) => JSON.stringify(choice));
      note(`${JSON.stringify(level)} is not one of ${choices.join(", ")}`);
      continue;
    }
    if (levels.includes(`${level}-compressible`)) note(`cannot be combined with "${level}-compressible"`);
    const cgroup = neededCgroup[level];
    if (cgroup && config[cgroup] === "") note(`${JSON.stringify(level)} needs ${cgroup}`);
    if (!config.cgroupsPerQOS) note(`${JSON.stringify(level)} needs cgroupsPerQOS`);
  }
  return problems;
}

function cpus(config: KubeletConfiguration): Problem[] {
  const { reservedSystemCPUs } = config;
  if (reservedSystemCPUs === "") return [];
  const problems: Problem[] = [];
  const note = (message: string) => problems.push({ path: ["reservedSystemCPUs"], message });
  if (config.systemReservedCgroup !== "" || config.kubeReservedCgroup !== "") {
    note("cannot be combined with systemReservedCgroup or kubeReservedCgroup");
  }
  if (!isCpuList(reservedSystemCPUs)) note(`${JSON.stringify(reservedSystemCPUs)} is not a list of CPUs`);
  return problems;
}

function memory({ reservedMemory }: KubeletConfiguration): Problem[] {
  const problems: Problem[] = [];
  const seen = new Set<string>();
  reservedMemory.forEach(({ numaNode, limits }, index) => {
    for (const [resource, amount] of Object.entries(limits)) {
      const note = (message: string) =>
        problems.push({ path: ["reservedMemory", index, "limits", resource], message });
      if (!isMemoryResource(resource)) note('cannot be reserved, only "memory" and "hugepages-<size>" can');
      if (parseQuantity(amount) === 0n) note("must not be zero");
      const key = `${numaNode}/${resource}`;
      if (seen.has(key)) note(`is listed twice for NUMA node ${numaNode}`);
      seen.add(key);
    }
  });
  return problems;
}
