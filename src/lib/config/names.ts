const namePart = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const dnsName = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/** A label or taint key: a name of at most 63 characters, with or without a DNS prefix. */
export function isQualifiedName(text: string): boolean {
  const [first = "", second, ...more] = text.split("/");
  if (more.length > 0) return false;
  if (second === undefined) return namePart.test(first);
  return namePart.test(second) && first.length <= 253 && dnsName.test(first);
}

export function isLabelValue(text: string): boolean {
  return text === "" || namePart.test(text);
}

export const taintEffects: readonly string[] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** "memory" or "hugepages-<size>": resources that can be reserved on a NUMA node. */
export function isMemoryResource(name: string): boolean {
  return name === "memory" || name.startsWith("hugepages-");
}

/** A list of CPUs such as "0-3,8". */
export function isCpuList(text: string): boolean {
  if (text === "") return true;
  return text.split(",").every((range) => {
    const match = /^(\d+)(?:-(\d+))?$/.exec(range.trim());
    return match !== null && (match[2] === undefined || Number(match[1]) <= Number(match[2]));
  });
}
