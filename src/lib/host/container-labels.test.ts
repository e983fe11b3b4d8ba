import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { readContainerLabels } from "./container-labels.ts";

/** As the package container-selinux installs it. */
const contexts = `process = "system_u:system_r:container_t:s0"
file = "system_u:object_r:container_file_t:s0"
ro_file="system_u:object_r:container_ro_file_t:s0"
kvm_process = "system_u:system_r:container_kvm_t:s0"
`;

describe("the SELinux labels of containers are read from", () => {
  let root: string;
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  };

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "selinux-"));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  it("the contexts of the container package", async () => {
    await write("usr/share/containers/selinux/contexts", contexts);
    await write("etc/selinux/config", "SELINUXTYPE=targeted\n");
    await write("etc/selinux/targeted/contexts/lxc_contexts", 'file = "other"\n');
    assert.deepEqual(await readContainerLabels(root), {
      process: "system_u:system_r:container_t:s0",
      file: "system_u:object_r:container_file_t:s0",
    });
  });

  it("the contexts of the policy without them", async () => {
    await write("etc/selinux/config", "# SELINUXTYPE=mls\nSELINUX=enforcing\nSELINUXTYPE=targeted\n\n");
    await write(
      "etc/selinux/targeted/contexts/lxc_contexts",
      'process = "system_u:system_r:svirt_lxc_net_t:s0"\nfile = "system_u:object_r:svirt_lxc_file_t:s0"\n; content = "c"\n',
    );
    assert.deepEqual(await readContainerLabels(root), {
      process: "system_u:system_r:svirt_lxc_net_t:s0",
      file: "system_u:object_r:svirt_lxc_file_t:s0",
    });
  });

  it("nowhere if the host has neither: they are empty", async () => {
    assert.deepEqual(await readContainerLabels(root), { process: "", file: "" });
  });
});
