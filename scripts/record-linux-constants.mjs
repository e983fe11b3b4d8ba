// Records test/fixtures/linux/constants.json with the C headers of x64 and arm64:
//   node scripts/record-linux-constants.mjs
// Needs Debian with gcc. The compiler of arm64 is unpacked into .cache, not installed, and stops before the assembler.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { layout, linux } from "../src/lib/base/linux.ts";
import { evaluate } from "./lib/c-constants.mjs";
import { root } from "./lib/node-packages.mjs";

const cross = `${root}.cache/arm64-compiler`;
const packages = [
  "cpp-12-aarch64-linux-gnu",
  "libc6-dev-arm64-cross",
  "libgcc-12-dev-arm64-cross",
  "linux-libc-dev-arm64-cross",
  "gcc-12-aarch64-linux-gnu",
];

mkdirSync(`${cross}/debs`, { recursive: true });
execFileSync("apt-get", ["-qq", "-o", "APT::Sandbox::User=root", "download", ...packages], {
  cwd: `${cross}/debs`,
});
execFileSync("sh", ["-c", `for deb in debs/*.deb; do dpkg-deb -x "$deb" .; done`], { cwd: cross });
const gcc = `${cross}/usr/lib/gcc-cross/aarch64-linux-gnu/12`;
const arm64 = [
  `${gcc}/cc1`,
  ...[
    "-quiet",
    "-nostdinc",
    "-isystem",
    `${gcc}/include`,
    "-isystem",
    `${cross}/usr/aarch64-linux-gnu/include`,
  ],
];
// These differ: node:fs has them.
const differing = ["O_DIRECTORY", "O_NOFOLLOW"];
const expressions = [...Object.keys(linux), ...Object.keys(layout), ...differing];
const recorded = {
  x64: evaluate(["gcc", "-S"], expressions),
  arm64: evaluate(arm64, expressions),
};
const file = `${root}test/fixtures/linux/constants.json`;
mkdirSync(`${root}test/fixtures/linux`, { recursive: true });
writeFileSync(file, `${JSON.stringify(recorded, null, 2)}\n`);
