import { execFileSync } from "node:child_process";

export const address = "192.0.2.10";

/** The Go kubelet does not start without a global unicast address. */
export function addAddress(): void {
  const ip = (...args: string[]) => execFileSync("ip", args);
  ip("link", "add", "up0", "type", "veth", "peer", "name", "up1");
  ip("addr", "add", `${address}/24`, "dev", "up0");
  for (const name of ["up0", "up1"]) ip("link", "set", name, "up");
}
