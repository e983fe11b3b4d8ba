import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";

/**
 * The port of the last run if it is free, or the preferred one, or any; it is stored in the file. No other process gets the
 * same one, even before this process listens.
 */
export async function persistentPort(file: string, host: string, preferred: number): Promise<number> {
  const candidates = [readPort(file), preferred, 0].filter((port) => port !== undefined);
  for (const candidate of candidates) {
    const port = await freePort(candidate, host);
    if (port === undefined || !(await reserve(`${host}:${port}`))) continue;
    writeFileSync(file, `${port}\n`);
    return port;
  }
  throw new Error(`no free port on ${host}`);
}

/** The port, or for 0 any, if it can be listened on now. */
function freePort(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(port, host, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" ? address?.port : undefined));
    });
  });
}

/** Ports that this process has reserved until it exits. */
const reservations = new Map<string, Server>();

/**
 * An abstract socket reserves the port: the kernel lets one process bind its name, and releases it when that exits.
 */
async function reserve(address: string): Promise<boolean> {
  if (reservations.has(address)) return true;
  const server = createServer((socket) => socket.destroy());
  const isReserved = await new Promise<boolean>((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(`\0kubelet-ts port ${address}`, () => resolve(true));
  });
  if (isReserved) reservations.set(address, server.unref());
  return isReserved;
}

function readPort(file: string): number | undefined {
  try {
    const port = Number(readFileSync(file, "utf8"));
    return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
  } catch {
    return undefined;
  }
}
