// Runs in a guest: the usage of a volume as the kernel counts it and as the directories show it, printed as JSON. The first argument is a directory on
// a filesystem with project quotas, the second one on another filesystem.
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DiskQuotas } from "../../src/kubelet/pods/volumes/empty-dir/disk-quotas.ts";
import { ProjectReservations } from "../../src/kubelet/pods/volumes/empty-dir/project-reservations.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { type Logger, silentLogger } from "../../src/lib/base/logger.ts";
import { diskUsage } from "../../src/lib/host/disk-usage.ts";
import { projectQuotas } from "../../src/lib/host/project-quotas.ts";
import type { Pod } from "../../src/lib/model/pod.ts";

const [counted = "", other = ""] = process.argv.slice(2);
const pod = { metadata: { uid: "u" }, spec: { hostUsers: false, containers: [] } } as unknown as Pod;
const warnings: unknown[] = [];
const logger: Logger = { ...silentLogger, warn: (message, fields) => void warnings.push([message, fields]) };
const newAgent = () =>
  new DiskQuotas({
    quotas: projectQuotas,
    reservations: new ProjectReservations("/etc", systemClock),
    logger,
  });
const reservations = () => ["/etc/projects", "/etc/projid"].map((path) => readFileSync(path, "utf8"));

function write(path: string, bytes: number): number {
  const fd = openSync(path, "w");
  writeFileSync(fd, Buffer.alloc(bytes, 1));
  fsyncSync(fd);
  return fd;
}

const agent = newAgent();
const [a, b, plain] = [join(counted, "a"), join(counted, "b"), join(other, "plain")];
for (const dir of [a, b, plain]) {
  mkdirSync(dir);
  await agent.assign(dir, pod, { isEmpty: true });
}
const reserved = reservations();
mkdirSync(join(a, "deep/er"), { recursive: true });
for (let i = 0; i < 20; i++) closeSync(write(join(a, "deep/er", `${i}`), 50_000));
closeSync(write(join(a, "large"), 3 << 20));
closeSync(write(join(b, "small"), 1 << 20));
const written = { kernel: await agent.usage(a), walk: await diskUsage(a), neighbor: await agent.usage(b) };

const open = write(join(a, "deleted"), 1 << 20);
unlinkSync(join(a, "deleted"));
const deleted = { kernel: await agent.usage(a), walk: await diskUsage(a) };
closeSync(open);

const next = newAgent();
await next.assign(a, pod, { isEmpty: false });
const restarted = { kernel: await next.usage(a), walk: await diskUsage(a) };
const withoutQuota = await agent.usage(plain);

for (const dir of [a, b, plain]) {
  await next.release(dir);
  rmSync(dir, { recursive: true });
}
console.log(
  JSON.stringify({ reserved, written, deleted, restarted, withoutQuota, released: reservations(), warnings }),
);
