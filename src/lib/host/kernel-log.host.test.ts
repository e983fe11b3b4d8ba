import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { KubeletError } from "../base/errors.ts";
import { openKernelLog } from "./kernel-log.ts";

test("the kernel log of this machine is read from its end, without waiting", async (t) => {
  const before = `kubelet-ts test ${randomUUID()}`;
  const after = `kubelet-ts test ${randomUUID()}`;
  writeFileSync("/dev/kmsg", `${before}\n`);
  const log = await openKernelLog();
  t.after(() => log.close());
  writeFileSync("/dev/kmsg", `${after}\n`);
  const texts = log.read().map(({ text }) => text);
  assert.ok(texts.includes(after));
  assert.ok(!texts.includes(before));
  assert.ok(!log.read().some(({ text }) => text === after), "a message is read once");
});

test("records have their text, and a gap in their numbers is visible", async () => {
  const records = [
    "6,339,5140900,-;NET: Registered protocol family 10\n",
    "30,340,5690716,-;udevd[80]: starting version 181\n SUBSYSTEM=acpi\n DEVICE=+acpi:PNP0A03:00\n",
    "",
    "not a record",
    new KubeletError("EPIPE", "broken pipe"),
    "6,351,5700000,-;caller=T1; more\n",
  ];
  const log = await openKernelLog(async () => ({
    read: () => {
      const next = records.shift() ?? new KubeletError("EAGAIN", "again");
      if (next instanceof Error) throw next;
      return next;
    },
    close() {},
  }));
  assert.deepEqual(log.read(), [
    { text: "NET: Registered protocol family 10", afterGap: false },
    { text: "udevd[80]: starting version 181", afterGap: false },
    { text: "caller=T1; more", afterGap: true },
  ]);
});
