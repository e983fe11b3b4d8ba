import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";

/** The port that was taken the last time if it is free, or the usual one, or any; it is noted in the file. */
export async function rememberedPort(file: string, host: string, usual: number): Promise<number> {
  const candidates = [notedIn(file), usual, 0].filter((port) => port !== undefined);
  for (const candidate of candidates) {
    const port = await freePort(candidate, host);
    if (port === undefined) continue;
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

function notedIn(file: string): number | undefined {
  try {
    const port = Number(readFileSync(file, "utf8"));
    return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
  } catch {
    return undefined;
  }
}
