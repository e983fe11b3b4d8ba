import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import {
  archOf,
  defaultIdentityFiles,
  type IdentityFiles,
  osImageOf,
  readSystemIdentity,
} from "./system-identity.ts";

async function identityOf(files: Record<string, string>, named: Partial<IdentityFiles> = {}) {
  const root = await mkdtemp(join(tmpdir(), "identity-"));
  try {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
    const { machineId, systemUuid, bootId, osImage } = await readSystemIdentity(
      { ...defaultIdentityFiles, ...named },
      root,
    );
    return { machineId, systemUuid, bootId, osImage };
  } finally {
    await rm(root, { recursive: true });
  }
}

describe("the identity of the machine", () => {
  it("comes from the firmware, the system and the kernel", async () => {
    const identity = await identityOf({
      "etc/machine-id": "m1\n",
      "sys/class/dmi/id/product_uuid": "U-1\n",
      "proc/sys/kernel/random/boot_id": "b1\n",
      "etc/os-release": 'NAME=x\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    });
    const osImage = "Debian GNU/Linux 12 (bookworm)";
    assert.deepEqual(identity, { machineId: "m1", systemUuid: "U-1", bootId: "b1", osImage });
  });

  it("without firmware the device tree is used, then the machine ID", async () => {
    assert.equal((await identityOf({ "etc/machine-id": "m1" })).systemUuid, "m1");
    const files = { "etc/machine-id": "m1", "proc/device-tree/vm,uuid": "vm-1\0" };
    assert.equal((await identityOf(files)).systemUuid, "vm-1");
  });

  // parity: flag machine-id-file, flag boot-id-file
  it("--machine-id-file and --boot-id-file: the first named file that exists counts, even if it is empty", async () => {
    const files = { "a/id": "\n", "b/id": "b\n", boot: "x\n", "etc/machine-id": "m1\n" };
    const ids = async (machineId: string, bootId: string) => {
      const identity = await identityOf(files, { machineId, bootId });
      return [identity.machineId, identity.bootId];
    };
    assert.deepEqual(await ids("/none,/b/id,/a/id", "/boot"), ["b", "x"]);
    assert.deepEqual(await ids("/a/id,/b/id", "/none"), ["", ""]);
  });

  it("missing files are not an error", async () => {
    assert.deepEqual(await identityOf({}), { machineId: "", systemUuid: "", bootId: "", osImage: "Unknown" });
  });

  const images: [string, string][] = [
    ["PRETTY_NAME='A b'", "A b"],
    ["PRETTY_NAME=Arch", "Arch"],
    ["NAME=x", "Linux"],
    ["", "Unknown"],
  ];
  for (const [text, image] of images)
    it(`${text || "nothing"} is "${image}"`, () => assert.equal(osImageOf(text), image));

  it("architectures have the names of Kubernetes", () => {
    assert.deepEqual(["x64", "arm64", "ia32", "riscv64"].map(archOf), ["amd64", "arm64", "386", "riscv64"]);
  });

  it("the identity of this machine can be read", async () => {
    const { bootId, kernelVersion } = await readSystemIdentity(defaultIdentityFiles);
    assert.match(bootId, /^[0-9a-f-]{36}$/);
    assert.match(kernelVersion, /^\d+\./);
  });
});
