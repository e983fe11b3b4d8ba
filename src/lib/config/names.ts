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
