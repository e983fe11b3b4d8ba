import assert from "node:assert/strict";
import { globSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { test } from "node:test";
import koffi from "koffi";
import { silentLogger } from "../../lib/base/logger.ts";
import { makeNodeDirectories } from "./node-directories.ts";

const recorded = {
  "custom/root": "750",
  "custom/root/checkpoints": "700",
  "custom/root/plugins": "750",
  "custom/root/plugins_registry": "750",
  "custom/root/pod-resources": "750",
  "custom/root/pods": "750",
  "var/lib/kubelet": "755",
  "var/lib/kubelet/device-plugins": "755",
  "var/log/containers": "755",
  "var/log/pods": "750",
};

async function make(dir: string, o: { checkpoints?: boolean; selinux?: boolean } = {}) {
  await makeNodeDirectories(
    {
      rootDir: join(dir, "custom/root"),
      devicePluginDir: join(dir, "var/lib/kubelet/device-plugins"),
      containerLogsDir: join(dir, "var/log/containers"),
      config: { podLogsDir: join(dir, "var/log/pods") },
      gates: { enabled: (name) => name === "ContainerCheckpoint" && (o.checkpoints ?? true) },
      logger: silentLogger,
    },
    { selinux: o.selinux ?? false },
  );
}

const modesIn = (dir: string) =>
  Object.fromEntries(
    globSync(join(dir, "**/*"))
      .map((path): [string, string] => [relative(dir, path), (statSync(path).mode & 0o777).toString(8)])
      .filter(([path]) => !["", "custom", "var", "var/lib", "var/log"].includes(path))
      .sort(),
  );

const inTmp = (run: (dir: string) => Promise<void>) => async () => {
  const dir = mkdtempSync(join(tmpdir(), "directories-"));
  try {
    await run(dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
};

// parity: gate ContainerCheckpoint=true
test(
  "a fresh node has the directories of the reference, with its modes",
  inTmp(async (dir) => {
    await make(dir);
    assert.deepEqual(modesIn(dir), recorded);
  }),
);

// parity: gate ContainerCheckpoint=false
test(
  "without the gate ContainerCheckpoint there is no directory for checkpoints",
  inTmp(async (dir) => {
    await make(dir, { checkpoints: false });
    const { "custom/root/checkpoints": _, ...others } = recorded;
    assert.deepEqual(modesIn(dir), others);
  }),
);

test(
  "existing directories keep their modes",
  inTmp(async (dir) => {
    mkdirSync(join(dir, "custom/root/plugins"), { recursive: true, mode: 0o711 });
    mkdirSync(join(dir, "var/log/pods"), { recursive: true, mode: 0o755 });
    await make(dir);
    const modes = modesIn(dir);
    assert.deepEqual([modes["custom/root/plugins"], modes["var/log/pods"]], ["711", "755"]);
  }),
);

test(
  "with SELinux, containers of plugins may write to the directories of sockets",
  { skip: process.getuid?.() === 0 ? false : "needs root" },
  inTmp(async (dir) => {
    await make(dir, { selinux: true });
    const getxattr = koffi
      .load(null)
      .func("long getxattr(const char *path, const char *name, _Out_ void *value, size_t size)");
    const labelOf = (path: string) => {
      const value = Buffer.alloc(100);
      const length = Number(getxattr(join(dir, path), "security.selinux", value, value.length));
      return length < 0 ? undefined : value.toString("utf8", 0, length);
    };
    const label = "system_u:object_r:container_file_t:s0";
    assert.deepEqual(
      ["custom/root/plugins", "custom/root/plugins_registry", "var/lib/kubelet/device-plugins"].map(labelOf),
      [label, label, label],
    );
    assert.notEqual(labelOf("custom/root/pods"), label);
  }),
);
