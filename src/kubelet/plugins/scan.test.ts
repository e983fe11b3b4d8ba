import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { scanSockets } from "./scan.ts";

describe("the scan for sockets", () => {
  let dir: string;
  const servers: Server[] = [];
  const socket = async (path: string) => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(path, resolve));
    servers.push(server);
  };
  before(async () => {
    dir = await mkdtemp("/tmp/scan-");
    await mkdir(join(dir, "deep/er"), { recursive: true });
    await mkdir(join(dir, ".hidden"));
    await Promise.all(
      ["a.sock", ".dot.sock", "deep/er/b.sock", ".hidden/c.sock"].map((name) => socket(join(dir, name))),
    );
    await writeFile(join(dir, "file.sock"), "");
    await symlink(join(dir, "a.sock"), join(dir, "link.sock"));
    await symlink(join(dir, "nowhere"), join(dir, "broken.sock"));
  });
  after(async () => {
    for (const server of servers) server.close();
    await rm(dir, { recursive: true, force: true });
  });

  it("finds sockets at any depth, and neither plain files nor dot names", async () => {
    const { sockets, dirs } = await scanSockets(dir);
    const found = [...sockets.keys()]
      .map((path) => path.slice(dir.length + 1))
      .sort((a, b) => (a < b ? -1 : 1));
    assert.deepEqual(found, ["a.sock", "deep/er/b.sock", "link.sock"]);
    assert.deepEqual(
      dirs.map((path) => path.slice(dir.length)),
      ["", "/deep", "/deep/er"],
    );
  });

  it("finds nothing in a missing directory", async () => {
    assert.deepEqual([...(await scanSockets(join(dir, "none"))).sockets], []);
  });
});
