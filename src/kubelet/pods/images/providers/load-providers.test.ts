import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { KubeletError } from "../../../../lib/base/errors.ts";
import { loadProviders } from "./load-providers.ts";

let dir = "";
before(async () => {
  dir = await mkdtemp(join(tmpdir(), "providers-"));
  await mkdir(join(dir, "bin"));
  for (const name of ["one", "two"]) await writeFile(join(dir, "bin", name), "#!/bin/sh\n", { mode: 0o755 });
  await writeFile(join(dir, "bin", "plain"), "");
  await chmod(join(dir, "bin", "plain"), 0o644);
});
after(() => rm(dir, { recursive: true, force: true }));

const good = {
  name: "one",
  matchImages: ["*.r.io:5000/team"],
  defaultCacheDuration: "10m",
  apiVersion: "credentialprovider.kubelet.k8s.io/v1",
};
const tokens = { serviceAccountTokenAudience: "a", cacheType: "Token", requireServiceAccount: true };
const config = (providers: unknown, version = "v1") =>
  JSON.stringify({
    kind: "CredentialProviderConfig",
    apiVersion: `kubelet.config.k8s.io/${version}`,
    providers,
  });

let files = 0;
async function load(text: string, allowTokens = true) {
  const configPath = join(dir, `c${++files}.yaml`);
  await writeFile(configPath, text);
  return loadProviders({ configPath, binDir: join(dir, "bin") }, { tokens: allowTokens });
}

for (const version of ["v1", "v1beta1", "v1alpha1"])
  test(`${version}: all fields of a provider are read`, async () => {
    const more = { args: ["-x"], env: [{ name: "A", value: "b" }] };
    const { providers } = await load(config([{ ...good, ...more }], version));
    assert.deepEqual(providers, [
      {
        name: "one",
        path: join(dir, "bin", "one"),
        matchImages: ["*.r.io:5000/team"],
        defaultCacheMs: 600_000,
        apiVersion: good.apiVersion,
        ...more,
        tokens: undefined,
      },
    ]);
  });

// parity: gate KubeletServiceAccountTokenForCredentialProviders=true
test("v1: tokenAttributes of a provider are read", async () => {
  const keys = {
    requiredServiceAccountAnnotationKeys: ["a.io/x"],
    optionalServiceAccountAnnotationKeys: ["Y"],
  };
  const { providers } = await load(config([{ ...good, tokenAttributes: { ...tokens, ...keys } }]));
  assert.deepEqual(providers[0]?.tokens, {
    audience: "a",
    cacheType: "Token",
    requireServiceAccount: true,
    requiredAnnotations: ["a.io/x"],
    optionalAnnotations: ["Y"],
  });
});

const broken: [rule: string, text: string, messages: string[]][] = [
  [
    "not YAML",
    "a: [",
    ["c.yaml:1: Flow sequence in block collection must be sufficiently indented and end with a ]"],
  ],
  [
    "another kind",
    JSON.stringify({ kind: "Pod" }),
    ['kind: must be "CredentialProviderConfig"', "apiVersion: must be"],
  ],
  ["no providers", config([]), ["providers: needs at least one item"]],
  [
    "an unknown field",
    config([{ ...good, matchImage: [] }]),
    ["providers[0].matchImage: is not a known field"],
  ],
  ["a wrong type", config([{ ...good, args: "x" }]), ["providers[0].args: must be a list"]],
  [
    "tokens in an older version",
    config([{ ...good, tokenAttributes: tokens }], "v1beta1"),
    ["providers[0].tokenAttributes: is not a known field"],
  ],
  [
    "all required fields missing",
    config([{}]),
    [
      "providers[0].name: is required",
      "providers[0].apiVersion: is required",
      "providers[0].matchImages: needs at least one item",
      "providers[0].defaultCacheDuration: is required",
    ],
  ],
  ["a path for a name", config([{ ...good, name: "../x" }]), ["providers[0].name: must not contain '/'"]],
  ["a space in a name", config([{ ...good, name: "a b" }]), ["providers[0].name: must not contain spaces"]],
  ["a directory for a name", config([{ ...good, name: ".." }]), ["providers[0].name: must not be '..'"]],
  ["the same name twice", config([good, good]), ['providers[1].name: "one" is specified more than once']],
  ["another API", config([{ ...good, apiVersion: "v1" }]), ['providers[0].apiVersion: "v1" is not one of']],
  [
    "not a duration",
    config([{ ...good, defaultCacheDuration: "1 day" }]),
    ["providers[0].defaultCacheDuration:"],
  ],
  ["a negative duration", config([{ ...good, defaultCacheDuration: "-1s" }]), ["must not be negative"]],
  ["an invalid port", config([{ ...good, matchImages: ["r.io:x"] }]), ["providers[0].matchImages[0]:"]],
  [
    "a space in a host",
    config([{ ...good, matchImages: ["r.io", "r .io"] }]),
    ["providers[0].matchImages[1]:"],
  ],
  [
    "token attributes without required fields",
    config([{ ...good, tokenAttributes: {} }]),
    [
      "providers[0].tokenAttributes.serviceAccountTokenAudience: is required",
      "providers[0].tokenAttributes.requireServiceAccount: is required",
      "providers[0].tokenAttributes.cacheType: is required",
    ],
  ],
  [
    "contradictory token attributes",
    config([
      {
        ...good,
        apiVersion: "credentialprovider.kubelet.k8s.io/v1beta1",
        tokenAttributes: {
          ...tokens,
          cacheType: "Pod",
          requireServiceAccount: false,
          requiredServiceAccountAnnotationKeys: ["x", "x", "a b"],
          optionalServiceAccountAnnotationKeys: ["x"],
        },
      },
    ]),
    [
      "tokenAttributes: is only supported with apiVersion credentialprovider.kubelet.k8s.io/v1",
      "requiredServiceAccountAnnotationKeys: needs requireServiceAccount to be true",
      'requiredServiceAccountAnnotationKeys[1]: "x" is specified more than once',
      'requiredServiceAccountAnnotationKeys[2]: "a b": name part',
      "tokenAttributes: annotation keys cannot be both required and optional: x",
      'cacheType: "Pod" is not one of ServiceAccount, Token',
    ],
  ],
  ["a missing plugin", config([{ ...good, name: "none" }]), ["/bin/none did not exist"]],
  [
    "a plugin that is not executable",
    config([{ ...good, name: "plain" }]),
    ["/bin/plain: it is not executable"],
  ],
];
for (const [rule, text, messages] of broken)
  test(`rejected: ${rule}`, async () => {
    await assert.rejects(load(text), (error) => {
      assert.ok(error instanceof KubeletError && error.code === "CredentialProviders");
      const text = error.message.replaceAll(/c\d+\.yaml/g, "c.yaml");
      for (const message of messages)
        assert.ok(text.includes(message), `${text}\ndoes not contain ${message}`);
      return true;
    });
  });

// parity: gate KubeletServiceAccountTokenForCredentialProviders=false
test("tokenAttributes are rejected while the feature gate is disabled", async () => {
  await assert.rejects(
    load(config([{ ...good, tokenAttributes: tokens }]), false),
    /providers\[0\]\.tokenAttributes: needs the feature gate KubeletServiceAccountTokenForCredentialProviders/,
  );
});

test("problems name file, line and field", async () => {
  const text = [
    "apiVersion: kubelet.config.k8s.io/v1",
    "kind: CredentialProviderConfig",
    "providers:",
    "- name: one",
    "  matchImages: [r.io]",
    "  apiVersion: credentialprovider.kubelet.k8s.io/v1",
    "  defaultCacheDuration: -1s",
  ].join("\n");
  await assert.rejects(
    load(text),
    /c\d+\.yaml:7: providers\[0\]\.defaultCacheDuration: must not be negative$/,
  );
});

test("the files of a directory are read in order and hashed each with its length; a name may occur only once", async () => {
  const configPath = join(dir, "configs");
  await mkdir(join(configPath, "z.json"), { recursive: true });
  const [one, two] = [config([good]), config([{ ...good, name: "two" }])];
  await writeFile(join(configPath, "b.json"), one);
  await writeFile(join(configPath, "a.yml"), two);
  await writeFile(join(configPath, "README"), "ignored");
  const flags = { configPath, binDir: join(dir, "bin") };
  const { providers, hash } = await loadProviders(flags, { tokens: true });
  assert.deepEqual(
    providers.map(({ name }) => name),
    ["two", "one"],
  );
  const sum = createHash("sha256");
  for (const text of [two, one]) {
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(text.length));
    sum.update(length).update(text);
  }
  assert.equal(hash, `sha256:${sum.digest("hex")}`);
  await writeFile(join(configPath, "c.yaml"), one);
  await assert.rejects(
    loadProviders(flags, { tokens: true }),
    /c\.yaml:1: providers\[0\]\.name: "one" is specified more/,
  );
});

test("missing paths are named in the error", async () => {
  const none = join(dir, "none");
  const bin = join(dir, "bin");
  const tried = (configPath: string, binDir: string) =>
    loadProviders({ configPath, binDir }, { tokens: true });
  await assert.rejects(tried(none, none), { message: `plugin binary directory ${none} did not exist` });
  await assert.rejects(tried(none, bin), /none: cannot be read: ENOENT/);
  await assert.rejects(tried("", bin), /--image-credential-provider-config/);
  await assert.rejects(tried(bin, ""), /--image-credential-provider-bin-dir/);
  await assert.rejects(tried(bin, bin), /bin: has no configuration files/);
});
