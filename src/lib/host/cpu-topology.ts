import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export interface CpuTopology {
  readonly sockets: number;
  readonly cores: number;
}

/** How many sockets and cores the logical CPUs belong to. */
export async function readCpuTopology(dir = "/sys/devices/system/cpu"): Promise<CpuTopology> {
  const names = (await readdir(dir).catch(() => [])).filter((name) => /^cpu\d+$/.test(name));
  const logicalCpus = await Promise.all(
    names.map(async (name) => {
      const read = (file: string) => readFile(join(dir, name, "topology", file), "utf8").catch(() => "");
      const [socket, core] = await Promise.all([read("physical_package_id"), read("core_id")]);
      return { socket: socket.trim(), core: core.trim() };
    }),
  );
  // An offline CPU has no topology.
  const known = logicalCpus.filter(({ socket, core }) => socket !== "" && core !== "");
  return {
    sockets: Math.max(1, new Set(known.map(({ socket }) => socket)).size),
    cores: Math.max(1, new Set(known.map(({ socket, core }) => `${socket}/${core}`)).size),
  };
}
