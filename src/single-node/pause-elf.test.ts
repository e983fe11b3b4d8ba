import assert from "node:assert/strict";
import { test } from "node:test";
import { pauseElf } from "./pause-elf.ts";

for (const [arch, machine] of [
  ["x64", 62],
  ["arm64", 183],
] as const) {
  test(`the pause program for ${arch} is a small static ELF file with its entry inside its one segment`, () => {
    const elf = pauseElf(arch);
    assert.equal(elf.toString("latin1", 0, 4), "\x7fELF");
    assert.equal(elf.readUInt16LE(18), machine);
    const [entry, start, size] = [24, 80, 96].map((at) => elf.readBigUInt64LE(at));
    assert.ok(entry! > start! && entry! < start! + size!);
    assert.equal(size, BigInt(elf.length));
    assert.ok(elf.length < 512);
  });
}

// The instructions as an assembler would write them, so that a slip in one of them is seen without such a machine.
test("arm64: branches jump to their labels", () => {
  const words = [...Array((pauseElf("arm64").length - 176) / 4).keys()].map((i) =>
    pauseElf("arm64").readUInt32LE(176 + i * 4),
  );
  const branches = words.flatMap((word, at) =>
    (word & 0xff000010) >>> 0 === 0x54000000 ? [at + (((word >> 5) << 13) >> 13)] : [],
  );
  const calls = words.flatMap((word, at) => (word === 0xd4000001 ? [(words[at - 1]! >> 5) & 0xffff] : []));
  assert.deepEqual(calls, [135, 137, 260, 94]);
  for (const target of branches) assert.ok(target >= 0 && target < words.length);
});

test("another architecture is rejected", () => {
  assert.throws(() => pauseElf("riscv64"), { code: "Architecture" });
});
