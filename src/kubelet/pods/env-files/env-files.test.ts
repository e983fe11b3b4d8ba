import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:fs";
import { mkdir, mkdtemp, open, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, test } from "node:test";
import { assertGrowth } from "../../../../test/growth.ts";
import { envFileValues } from "./parse.ts";
import { readEnvFile } from "./read.ts";

describe("envFileValues", () => {
  const rows: [rule: string, text: string, expected: string | undefined][] = [
    ["a value in quotes", "K='v'\n", "v"],
    ["no newline at the end", "K='v'", "v"],
    ["whitespace before the name", "  \tK='v'", "v"],
    ["blank lines and comments before it", "# c\n\n  \n  # K='x'\nA='1'\nK='v'\n", "v"],
    ["a value is not expanded", "K='$(A) $B \\n \"q\" #'", '$(A) $B \\n "q" #'],
    ["a comment after the value", "K='v' # c", "v"],
    ["several lines", "K='one\n  two\n\nthree'\n", "one\n  two\n\nthree"],
    ["other values may have several lines too", "A='K=\nK='\nK='v'", "v"],
    ["CRLF line endings", "A='1'\r\nK='v'\r\n", "v"],
    ["the first of two values is used", "K='1'\nK='2'", "1"],
    ["an equals sign in the value", "K='a=b'", "a=b"],
    ["an empty value", "K=''", ""],
    ["whitespace after = means no value", "K= 'v'", ""],
    ["whitespace after = is not an error for another name", "A= x\nK='v'", "v"],
    ["a missing name", "A='1'\n", undefined],
    ["a name with the key as suffix", "AK='1'\n", undefined],
    ["an empty file", "", undefined],
    ["lines after the key are not parsed", "K='v'\n???", "v"],
    ["lines after the key may be long", `K='v'\n#${"x".repeat(65_536)}`, "v"],
  ];
  for (const [rule, text, expected] of rows) it(rule, () => assert.equal(envFileValues(text)("K"), expected));

  const errors: [rule: string, text: string, message: RegExp][] = [
    ["no =", "A='1'\nfoo\n", /at line 2: missing '='/],
    ["no name", "='v'", /at line 1: empty variable name/],
    ["whitespace before =", "K ='v'", /at line 1: whitespace before '=' is not allowed/],
    ["a value without quotes", "K=v", /must be enclosed in single quotes/],
    ["a value in double quotes", 'K="v"', /must be enclosed in single quotes/],
    ["a missing value", "K=\n", /must be enclosed in single quotes/],
    ["unclosed quotes", "A='1'\nK='v\nw\n", /starting at line 2: unclosed single quote/],
    ["content after the quotes", "K='v'w", /at line 1: unexpected content after closing quote/],
    ["content after quotes of several lines", "K='v\nw'x", /at line 2: unexpected content/],
    ["a line that is too long", `A='${"x".repeat(65_536)}'`, /line 1 is too long/],
  ];
  for (const [rule, text, message] of errors)
    it(`fails for ${rule}`, () =>
      assert.throws(() => envFileValues(text)("K"), { code: "EnvFile", message }));
});

test("a value with any number of lines is read in linear time", () =>
  assertGrowth(1, 1000, (size) => {
    const text = `A='${"é\n".repeat(size)}'`;
    return () => envFileValues(text)("A");
  }));

describe("files in a volume", () => {
  let dir: string;
  let volume: string;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "env-files-"));
    volume = join(dir, "volume");
    await mkdir(join(volume, "sub"), { recursive: true });
    await mkdir(join(volume, "etc"));
    await writeFile(join(dir, "secret"), "outside");
    for (const path of ["env", "secret", "sub/env", "etc/passwd"]) await writeFile(join(volume, path), path);
    await symlink("../secret", join(volume, "up"));
    await symlink("/secret", join(volume, "top"));
    await symlink("../../..", join(volume, "sub", "away"));
    await symlink("/etc", join(volume, "system"));
    await symlink("env", join(volume, "link"));
    await symlink("loop", join(volume, "loop"));
    await symlink("/proc/self/root/etc/passwd", join(volume, "magic"));
    execFileSync("mkfifo", [join(volume, "pipe")]);
  });
  after(() => rm(dir, { recursive: true }));

  for (const [rule, path, expected] of [
    ["a plain path", "env", "env"],
    ["a path with a leading slash", "/sub/./env", "sub/env"],
    ["a path upwards remains inside", "../../secret", "secret"],
    ["a symlink within the volume", "link", "env"],
    ["a symlink upwards remains inside", "up", "secret"],
    ["an absolute symlink starts at the volume", "top", "secret"],
    ["a directory that is a symlink remains inside", "sub/away/secret", "secret"],
    ["a directory of the host is one of the volume", "system/passwd", "etc/passwd"],
  ] as const)
    it(rule, async () =>
      assert.deepEqual(await readEnvFile(volume, path), { path: join(volume, expected), text: expected }),
    );

  for (const [rule, path, message] of [
    ["a missing file", "no/such", /no such file/],
    ["a loop of symlinks", "loop", /too many symbolic links/],
    ["a symlink to another root directory", "magic", /no such file/],
    ["a directory", "sub", /is not a regular file/],
    ["a pipe", "pipe", /is not a regular file/],
  ] as const)
    it(`${rule} is an error`, () => assert.rejects(readEnvFile(volume, path), { message }));

  it("a device is an error", () => assert.rejects(readEnvFile("/dev", "zero"), /is not a regular file/));
  it("no pipe is opened: its writer still waits for a reader", async () => {
    const { O_WRONLY, O_NONBLOCK } = constants;
    // Opens the pipe as soon as it has a reader.
    const writer = spawn("sh", ["-c", "echo ready; exec 3>pipe; echo opened"], { cwd: volume });
    const closed = once(writer, "close");
    const output: Buffer[] = [];
    writer.stdout.on("data", (chunk: Buffer) => output.push(chunk));
    await once(writer.stdout, "data");
    await assert.rejects(readEnvFile(volume, "pipe"), /is not a regular file/);
    await assert.rejects(open(join(volume, "pipe"), O_WRONLY | O_NONBLOCK), { code: "ENXIO" });
    writer.kill("SIGKILL");
    await closed;
    assert.equal(Buffer.concat(output).toString(), "ready\n");
  });

  it("are not read outside of the volume while a container swaps a directory for a symlink", async () => {
    await mkdir(join(dir, "outside"));
    await writeFile(join(dir, "outside/env"), "outside");
    await mkdir(join(volume, "real"));
    await writeFile(join(volume, "real/env"), "inside");
    const swap = `while true; do mv real swap && ln -s ../outside real && echo 1 && rm real && mv swap real; done`;
    const swapper = spawn("sh", ["-c", swap], { cwd: volume, stdio: ["ignore", "pipe", "ignore"] });
    let swaps = 0;
    swapper.stdout.on("data", (chunk: Buffer) => {
      swaps += chunk.length / 2;
    });
    const texts = new Set<string>();
    try {
      while (swaps < 60 || texts.size === 0)
        await readEnvFile(volume, "real/env").then(
          ({ text }) => texts.add(text),
          () => {},
        );
    } finally {
      swapper.kill("SIGKILL");
      await once(swapper, "close");
    }
    assert.deepEqual([...texts], ["inside"]);
  });

  it("are not read if they are too large", async () => {
    await writeFile(join(volume, "large"), "");
    await truncate(join(volume, "large"), (1 << 20) + 1);
    await assert.rejects(readEnvFile(volume, "large"), /more than 1048576/);
  });
});
