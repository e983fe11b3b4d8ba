import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { aPod } from "../../../../../test/builders/pods.ts";
import { systemClock } from "../../../../lib/base/clock.ts";
import { type Logger, silentLogger } from "../../../../lib/base/logger.ts";
import { CredentialProviders } from "./credential-providers.ts";
import { execPlugin } from "./exec-plugin.ts";
import { loadProviders } from "./load-providers.ts";

let dir = "";
before(async () => {
  dir = await mkdtemp(join(tmpdir(), "plugins-"));
});
after(() => rm(dir, { recursive: true, force: true }));

const script = (name: string, ...lines: string[]) =>
  writeFile(join(dir, name), ["#!/bin/sh", ...lines, ""].join("\n"), { mode: 0o755 });

const response = (version: string, password: string) =>
  `{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/${version}","cacheKeyType":"Registry","cacheDuration":"5m","auth":{"*.r.io":{"username":"u","password":"${password}"}}}`;

// parity: field CredentialProviderConfig.providers[].name, field CredentialProviderConfig.providers[].matchImages, field CredentialProviderConfig.providers[].defaultCacheDuration, field CredentialProviderConfig.providers[].apiVersion, field CredentialProviderConfig.providers[].args, field CredentialProviderConfig.providers[].env[].name, field CredentialProviderConfig.providers[].env[].value, flag image-credential-provider-config as configPath, flag image-credential-provider-bin-dir as binDir
test("a plugin of each version provides credentials as configured", async () => {
  for (const version of ["v1", "v1beta1", "v1alpha1"]) {
    const name = `p-${version}`;
    await script(
      name,
      `cat > "${join(dir, name)}.request.$$"`,
      `echo run >> "${join(dir, name)}.runs"`,
      "echo 'all is well' >&2",
      `echo '${response(version, "'$1.$SUFFIX.$HOME'")}'`,
    );
    const configPath = join(dir, `${version}.yaml`);
    await writeFile(
      configPath,
      [
        `apiVersion: kubelet.config.k8s.io/${version}`,
        "kind: CredentialProviderConfig",
        "providers:",
        `- name: ${name}`,
        "  matchImages: ['*.r.io']",
        "  defaultCacheDuration: 1m",
        `  apiVersion: credentialprovider.kubelet.k8s.io/${version}`,
        "  args: [arg]",
        "  env: [{ name: SUFFIX, value: env }]",
      ].join("\n"),
    );
    const providers = new CredentialProviders({
      loaded: await loadProviders({ configPath, binDir: dir }, { tokens: true }),
      clock: systemClock,
      logger: silentLogger,
      environment: () => ({ PATH: process.env.PATH, HOME: "/home", SUFFIX: "node" }),
    });
    const images = ["eu.r.io/team/app", "eu.r.io/team/app", "us.r.io/app", "r.io/app"];
    const found = await Promise.all(images.map((image) => providers.lookup(aPod(), image)));
    const credential = { username: "u", password: "arg.env./home" };
    assert.deepEqual(found, [[credential], [credential], [credential], []]);
    assert.deepEqual(await providers.lookup(aPod(), "eu.r.io/other"), [credential]);
    const runs = await readFile(join(dir, `${name}.runs`), "utf8");
    assert.equal(runs, "run\nrun\n");
    const files = (await readdir(dir)).filter((file) => file.startsWith(`${name}.request.`));
    const requests = await Promise.all(
      files.map(async (file) => JSON.parse(await readFile(join(dir, file), "utf8"))),
    );
    const request = {
      kind: "CredentialProviderRequest",
      apiVersion: `credentialprovider.kubelet.k8s.io/${version}`,
    };
    requests.sort((a, b) => (a.image < b.image ? -1 : 1));
    assert.deepEqual(requests, [
      { ...request, image: "eu.r.io/team/app" },
      { ...request, image: "us.r.io/app" },
    ]);
  }
});

test("stderr of a failed plugin is logged, stdout is not", async () => {
  await script("fails", "echo hunter2", "echo 'no network' >&2", "exit 3");
  const lines: string[] = [];
  const logger: Logger = { ...silentLogger, error: (...args) => void lines.push(JSON.stringify(args)) };
  const providers = new CredentialProviders({
    loaded: {
      hash: "",
      providers: [
        {
          name: "fails",
          path: join(dir, "fails"),
          matchImages: ["r.io"],
          defaultCacheMs: 0,
          apiVersion: "credentialprovider.kubelet.k8s.io/v1",
          args: [],
          env: [],
          tokens: undefined,
        },
      ],
    },
    clock: systemClock,
    logger,
  });
  assert.deepEqual(await providers.lookup(aPod(), "r.io/app"), []);
  assert.match(lines.join(), /plugin fails for image r.io\/app: exit status 3: no network/);
  assert.doesNotMatch(lines.join(), /hunter2/);
});

const env = { PATH: process.env.PATH };
const run = (name: string, timeoutMs = 60_000, input = "") =>
  execPlugin({ path: join(dir, name), args: [], env, input, clock: systemClock, timeoutMs });

test("no part of the token is in an error, even if stderr was cut within it", async () => {
  await script("token", "cat >&2", "printf '%01900d' 0 >&2", "exit 1");
  const token = "abcdefghij".repeat(100);
  const run = { path: join(dir, "token"), args: [], env: { PATH: process.env.PATH } };
  const failed = execPlugin({
    ...run,
    input: `request ${token} end`,
    secret: token,
    clock: systemClock,
    timeoutMs: 60_000,
  });
  await assert.rejects(failed, (error: Error) => {
    assert.ok(!error.message.includes("abcdefghij"), error.message);
    return /\[token\] end0{1900}$/.test(error.message);
  });
});

test("a plugin that times out is killed with its children", async () => {
  await script("hangs", 'sleep 300 & echo $! > "$0.pid"; echo waiting >&2; wait');
  await assert.rejects(run("hangs", 300), /^Error: did not exit within 0.3 s: waiting$/);
  const pid = Number(await readFile(join(dir, "hangs.pid"), "utf8"));
  const isGone = async () => {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "gone");
    return stat === "gone" || / [ZX] /.test(stat);
  };
  const until = Date.now() + 10_000;
  while (!(await isGone())) {
    assert.ok(Date.now() < until, `process ${pid} is still running`);
    await new Promise((resolve) => setImmediate(resolve));
  }
});

test("a plugin need not read its input, however long", async () => {
  await script("ignores-input", "exec 0<&-; echo ok");
  assert.equal(await run("ignores-input", 60_000, "x".repeat(1024 * 1024)), "ok\n");
});

test("a plugin that writes without end is killed", async () => {
  await script("verbose", "yes hunter2");
  await assert.rejects(run("verbose"), /^Error: wrote more than 1048576 bytes$/);
});

test("the error of a file that cannot be executed names the errno", async () => {
  await writeFile(join(dir, "text"), "no program", { mode: 0o644 });
  await assert.rejects(run("text"), /EACCES/);
  await assert.rejects(run("none"), /ENOENT/);
});
