import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { valueInEnvFile } from "./parse.ts";
import { pathInVolume, readEnvFile } from "./read.ts";

describe("valueInEnvFile", () => {
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
  ];
  for (const [rule, text, expected] of rows)
    it(rule, () => assert.equal(valueInEnvFile(text, "K"), expected));

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
      assert.throws(() => valueInEnvFile(text, "K"), { code: "EnvFile", message }));
});

describe("files in a volume", () => {
  let dir: string;
  let volume: string;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "env-files-"));
    volume = join(dir, "volume");
    await mkdir(join(volume, "sub"), { recursive: true });
    await writeFile(join(dir, "secret"), "K='outside'");
    await writeFile(join(volume, "env"), "K='inside'");
    await symlink("../secret", join(volume, "up"));
    await symlink("/secret", join(volume, "top"));
    await symlink("../../..", join(volume, "sub", "away"));
    await symlink("env", join(volume, "link"));
    await symlink("loop", join(volume, "loop"));
  });
  after(() => rm(dir, { recursive: true }));

  for (const [rule, path, expected] of [
    ["a plain path", "env", "env"],
    ["a path with a leading slash", "/sub/./x", "sub/x"],
    ["a path upwards remains inside", "../../secret", "secret"],
    ["a symlink within the volume", "link", "env"],
    ["a symlink upwards remains inside", "up", "secret"],
    ["an absolute symlink starts at the volume", "top", "secret"],
    ["a directory that is a symlink remains inside", "sub/away/secret", "secret"],
    ["a missing path", "no/such", "no/such"],
  ] as const)
    it(`${rule}`, async () => assert.equal(await pathInVolume(volume, path), join(volume, expected)));
  it("a loop of symlinks is an error", () => assert.rejects(pathInVolume(volume, "loop"), /too many links/));

  it("are read if they are regular", async () =>
    assert.equal(await readEnvFile(volume, join(volume, "env")), "K='inside'"));
  it("are not read through a symlink that was created later", () =>
    assert.rejects(readEnvFile(volume, join(volume, "up")), { code: "ELOOP" }));
  it("are not read outside of the volume", () =>
    assert.rejects(readEnvFile(volume, join(dir, "secret")), /is not in the volume/));
  it("are not read if they are directories", () =>
    assert.rejects(readEnvFile(volume, join(volume, "sub")), /is not a regular file/));
  it("are not read if they are devices", () =>
    assert.rejects(readEnvFile("/dev", "/dev/zero"), /is not a regular file/));
  it("are not read if they are too large", async () => {
    await writeFile(join(volume, "large"), "");
    await truncate(join(volume, "large"), (1 << 20) + 1);
    await assert.rejects(readEnvFile(volume, join(volume, "large")), /more than 1048576/);
  });
});
