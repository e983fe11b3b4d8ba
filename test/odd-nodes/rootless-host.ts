// Runs on an isolated host: gives its cgroups and state directories to an unprivileged user, and runs a node in a user namespace of that
// user. The node prints the report.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chownSync, globSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { cgroupMounts, readMounts } from "../../src/lib/host/mount-table.ts";
import { waitFor } from "../e2e/wait-for.ts";

/** The user that is root inside, and those after it. */
const [first, count] = [100_000, 65_536];

/** As an init system delegates cgroups to a user. */
function delegate(): void {
  const own = (path: string) => chownSync(path, first, first);
  for (const mount of cgroupMounts(readMounts()))
    for (const path of [mount, ...globSync(join(mount, "*"))]) own(path);
  for (const dir of ["/run", "/var/log", "/var/lib/kubelet", "/var/lib/kubelet-ts", "/var/lib/cni"])
    for (const path of [dir, ...readdirSync(dir).map((name) => join(dir, name))]) own(path);
}

/** A process that ends with its input, in a new user namespace. */
async function userNamespace(): Promise<{ path: string; end(): void }> {
  const holder = spawn("unshare", ["--user", "cat"], { stdio: ["pipe", "ignore", "inherit"] });
  const path = `/proc/${holder.pid}/ns/user`;
  await waitFor(() => assert.notEqual(readlinkSync(path), readlinkSync("/proc/self/ns/user")));
  for (const file of ["gid_map", "uid_map"])
    writeFileSync(`/proc/${holder.pid}/${file}`, `0 ${first} ${count}\n`);
  return { path, end: () => holder.stdin.end() };
}

delegate();
const namespace = await userNamespace();
const program = fileURLToPath(new URL("rootless-node.ts", import.meta.url));
const prepare = "mount -t proc proc /proc\nip link set lo up";
const child = spawn(
  "nsenter",
  [
    ...[`--user=${namespace.path}`, "--setuid=0", "--setgid=0"],
    ...["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"],
    ...["sh", "-ec", `${prepare}\nexec "$@"`, "sh", process.execPath, program],
  ],
  { stdio: ["ignore", "pipe", "inherit"] },
);
process.stdout.write(await text(child.stdout));
namespace.end();
