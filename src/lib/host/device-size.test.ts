import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { deviceBytes, deviceNumbers } from "./device-size.ts";

test("the numbers of a device are in two parts each", () => {
  const table: [bigint, bigint, bigint][] = [
    [0x0700n, 7n, 0n],
    [0xfe02n, 254n, 2n],
    [0x0010_0812n, 8n, 0x112n],
    [0x0000_1000_0010_0812n, 0x1008n, 0x112n],
  ];
  for (const [device, major, minor] of table) assert.deepEqual(deviceNumbers(device), { major, minor });
});

test("a disk has the size that the kernel reports", async (t) => {
  const isThere = (name: string) => existsSync(`/dev/${name}`) && existsSync(`/sys/class/block/${name}/size`);
  const names = existsSync("/sys/class/block") ? readdirSync("/sys/class/block").filter(isThere) : [];
  if (names.length === 0) return t.skip("no disks");
  for (const name of names)
    assert.equal(
      await deviceBytes(`/dev/${name}`),
      Number(readFileSync(`/sys/class/block/${name}/size`, "utf8")) * 512,
    );
});

test("anything but a block device is rejected", async () => {
  await assert.rejects(deviceBytes("/dev/null"), /\/dev\/null is not a block device/);
});
