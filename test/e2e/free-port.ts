import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** Below the range of ephemeral ports: a busy machine uses many of these. */
const [first, count] = [21_000, 9_000];
const reserved: Server[] = [];

/**
 * A free port of 127.0.0.1 that no other test process gets while this one runs, so that servers on it may start
 * later and be restarted.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 1000; tries++) {
    const port = first + Math.floor(Math.random() * count);
    const server = await tryListen({ port, host: "127.0.0.1" });
    if (!server) continue;
    server.close();
    await once(server, "close");
    // The name of an abstract socket can be bound by one process at a time, and is released when that exits.
    const claim = await tryListen({ path: `\0kubelet-ts test port ${port}` });
    if (!claim) continue;
    reserved.push(claim.unref());
    return port;
  }
  throw new Error("no free port");
}

async function tryListen(
  options: { port: number; host: string } | { path: string },
): Promise<Server | undefined> {
  const server = createServer();
  server.listen(options);
  try {
    await once(server, "listening");
    return server;
  } catch {
    return undefined;
  }
}
