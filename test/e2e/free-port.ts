import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** Below the range from which the kernel takes ports for connections, of which a busy machine has many. */
const [first, count] = [21_000, 9_000];
const held: Server[] = [];

/**
 * A free port of 127.0.0.1 that no other test process gets while this one runs: servers on it may start
 * later, and may be restarted.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 1000; tries++) {
    const port = first + Math.floor(Math.random() * count);
    const server = await listens({ port, host: "127.0.0.1" });
    if (!server) continue;
    server.close();
    await once(server, "close");
    // A socket without a file: the kernel gives its name to one process, and takes it back when that ends.
    const claim = await listens({ path: `\0kubelet-ts test port ${port}` });
    if (!claim) continue;
    held.push(claim.unref());
    return port;
  }
  throw new Error("no free port");
}

async function listens(
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
