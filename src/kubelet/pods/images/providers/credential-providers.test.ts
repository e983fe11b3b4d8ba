import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../../../test/builders/pods.ts";
import { isAbort } from "../../../../lib/base/errors.ts";
import { FakeClock, settle } from "../../../../lib/base/fake-clock.ts";
import { metricValues } from "../../../../lib/base/fixtures.ts";
import { type Logger, silentLogger } from "../../../../lib/base/logger.ts";
import { createMetrics } from "../../../../lib/base/metrics.ts";
import { CredentialProviders } from "./credential-providers.ts";
import type { PluginRun } from "./exec-plugin.ts";
import type { ProviderConfig, TokenAttributes } from "./load-providers.ts";
import type { TokenRequest, TokenSource } from "./token-source.ts";

const apiVersion = "credentialprovider.kubelet.k8s.io/v1";
const config = (more: Partial<ProviderConfig> = {}): ProviderConfig => ({
  name: "one",
  path: "/bin/one",
  matchImages: ["r.io"],
  defaultCacheMs: 60_000,
  apiVersion,
  args: [],
  env: [],
  tokens: undefined,
  ...more,
});
const response = (more: object = {}) =>
  JSON.stringify({
    kind: "CredentialProviderResponse",
    apiVersion,
    cacheKeyType: "Image",
    auth: { "r.io": { username: "u", password: "p" } },
    ...more,
  });

function setUp(
  configs: ProviderConfig[],
  more: { tokens?: TokenSource; response?: (run: PluginRun) => string | Promise<string>; env?: object } = {},
) {
  const clock = new FakeClock();
  const runs: PluginRun[] = [];
  const lines: string[] = [];
  const log = (...args: unknown[]) => void lines.push(JSON.stringify(args));
  const logger: Logger = { ...silentLogger, error: log, warn: log, info: log, debug: log };
  const metrics = createMetrics();
  const providers = new CredentialProviders({
    loaded: { providers: configs, hash: "sha256:1" },
    clock,
    logger,
    metrics,
    tokens: more.tokens,
    environment: () => ({ PATH: "/bin", ...more.env }),
    run: async (run) => {
      runs.push(run);
      return (more.response ?? (() => response()))(run);
    },
  });
  const users = async (image: string, pod = aPod()) =>
    (await providers.lookup(pod, image)).map(({ username }) => username);
  return { clock, runs, lines, metrics, providers, users };
}

const matches: [pattern: string, image: string, matches: boolean][] = [
  ["r.io", "r.io/app", true],
  ["*.r.io", "eu.r.io/app", true],
  ["*.r.io", "r.io/app", false],
  ["r.io:5000/team", "r.io:5000/team/app", true],
  ["r.io:5000/team", "r.io/team/app", false],
  ["r.io/team", "r.io/other/app", false],
];
for (const [pattern, image, expected] of matches)
  test(`a plugin for ${pattern} is ${expected ? "" : "not "}executed for ${image}`, async () => {
    const { runs, users } = setUp([config({ matchImages: ["other.io", pattern] })]);
    await users(image);
    assert.equal(runs.length, expected ? 1 : 0);
  });

test("a plugin gets the image, its arguments, and its variables in addition to the node's", async () => {
  const env = [{ name: "PATH", value: "/opt" }, { name: "A", value: "b" }]; // biome-ignore format: one line
  const { runs, users } = setUp([config({ args: ["-x"], env })], { env: { HOME: "/root" } });
  assert.deepEqual(await users("r.io/app"), ["u"]);
  const [run] = runs;
  assert.deepEqual([run?.path, run?.args, run?.timeoutMs], ["/bin/one", ["-x"], 60_000]);
  assert.deepEqual(run?.env, { PATH: "/opt", A: "b", HOME: "/root" });
  assert.deepEqual(JSON.parse(run?.input ?? ""), {
    kind: "CredentialProviderRequest",
    apiVersion,
    image: "r.io/app",
  });
});

const cacheTable: [
  rule: string,
  more: object,
  defaultMs: number,
  second: string,
  afterMs: number,
  runs: number,
][] = [
  ["with type Image for the same image", { cacheKeyType: "Image" }, 60_000, "r.io/app", 0, 1],
  ["with type Image not for another image", { cacheKeyType: "Image" }, 60_000, "r.io/other", 0, 2],
  [
    "with type Registry for all images of the registry",
    { cacheKeyType: "Registry" },
    60_000,
    "r.io/other",
    0,
    1,
  ],
  ["with type Registry not for another registry", { cacheKeyType: "Registry" }, 60_000, "r2.io/app", 0, 2],
  ["with type Global for all images", { cacheKeyType: "Global" }, 60_000, "r2.io/app", 0, 1],
  ["as long as configured", {}, 60_000, "r.io/app", 60_000, 1],
  ["not longer than configured", {}, 60_000, "r.io/app", 60_001, 2],
  ["as long as the response specifies", { cacheDuration: "2m" }, 60_000, "r.io/app", 120_000, 1],
  ["not longer than the response specifies", { cacheDuration: "1s" }, 60_000, "r.io/app", 1001, 2],
  ["not at all if the response specifies so", { cacheDuration: "0s" }, 60_000, "r.io/app", 0, 2],
  ["not at all if configured so", {}, 0, "r.io/app", 0, 2],
];
for (const [rule, more, defaultCacheMs, second, afterMs, expected] of cacheTable)
  test(`a response is cached ${rule}`, async () => {
    const matchImages = ["r.io", "r2.io"];
    const { runs, users, clock } = setUp([config({ defaultCacheMs, matchImages })], {
      response: () => response(more),
    });
    await users("r.io/app");
    await clock.advance(afterMs);
    await users(second);
    assert.equal(runs.length, expected);
  });

test("equal requests at the same time share one execution, which an aborted request does not stop", async () => {
  const ends: (() => void)[] = [];
  const { runs, users, providers } = setUp([config()], {
    response: () => new Promise((resolve) => ends.push(() => resolve(response()))),
  });
  const stop = new AbortController();
  const aborted = assert.rejects(providers.lookup(aPod(), "r.io/app", stop.signal), isAbort);
  const same = [users("r.io/app"), users("r.io/app")];
  const other = users("r.io/other");
  await settle();
  stop.abort();
  await aborted;
  assert.equal(runs.length, 2);
  for (const end of ends) end();
  assert.deepEqual(await Promise.all([...same, other]), [["u"], ["u"], ["u"]]);
  assert.equal(runs.length, 2);
});

test("longer paths first, then plugins in their order; one that fails does not affect the others", async () => {
  const auths: Record<string, object> = {
    "/bin/a": { "r.io": { username: "a", password: "" } },
    "/bin/b": { "r.io/team": { username: "b", password: "" }, "r.io": { username: "b2", password: "" } },
    "/bin/c": { "else.io": { username: "c", password: "" } },
  };
  const names = ["a", "broken", "b", "c"];
  const { users, lines, metrics } = setUp(
    names.map((name) => config({ name, path: `/bin/${name}` })),
    {
      response: ({ path }) => {
        if (path === "/bin/broken") throw new Error("exit status 1: no luck");
        return response({ auth: auths[path] });
      },
    },
  );
  assert.deepEqual(await users("r.io/team/app"), ["b", "a", "b2"]);
  assert.equal(lines.length, 1);
  assert.match(
    lines[0]!,
    /error execing credential provider plugin broken for image r.io\/team\/app: exit status 1: no luck/,
  );
  assert.deepEqual(await metricValues(metrics, "kubelet_credential_provider_plugin_errors_total"), {
    "plugin_name=broken": 1,
  });
  const durations = await metricValues(metrics, "kubelet_credential_provider_plugin_duration");
  assert.equal(durations["plugin_name=a,count"], 1);
  assert.deepEqual(await metricValues(metrics, "kubelet_credential_provider_config_info"), {
    "hash=sha256:1": 1,
  });
});

const badResponses: [rule: string, text: string, why: RegExp][] = [
  ["not JSON", "hunter2", /error reading GVK from response/],
  ["not an object", '["hunter2"]', /error reading GVK from response/],
  [
    "another version",
    response({ apiVersion: "credentialprovider.kubelet.k8s.io/v1beta1" }),
    /actual apiVersion:credentialprovider.kubelet.k8s.io\/v1beta1/,
  ],
  [
    "another kind",
    response({ kind: "hunter2" }),
    /error decoding credential provider plugin response from stdout/,
  ],
  ["an unknown field", response({ hunter2: 1 }), /error decoding/],
  ["no cacheKeyType", response({ cacheKeyType: undefined }), /did not return a valid cacheKeyType: /],
  [
    "an unknown cacheKeyType",
    response({ cacheKeyType: "hunter2 hunter2" }),
    /did not return a valid cacheKeyType: "/,
  ],
  ["not a duration", response({ cacheDuration: "hunter2" }), /error decoding/],
  ["auth is not a map", response({ auth: ["hunter2"] }), /error decoding/],
  ["an unknown field of an entry", response({ auth: { "r.io": { auth: "hunter2" } } }), /error decoding/],
  [
    "a password that is not a string",
    response({ auth: { "r.io": { password: ["hunter2"] } } }),
    /error decoding/,
  ],
];
for (const [rule, text, why] of badResponses)
  test(`an invalid response is ignored and not quoted in the log: ${rule}`, async () => {
    const { users, lines } = setUp([config()], { response: () => text });
    assert.deepEqual(await users("r.io/app"), []);
    assert.equal(lines.length, 1);
    assert.match(lines[0]!, why);
    assert.doesNotMatch(lines[0]!, /hunter2/);
  });

const tokenAttributes: TokenAttributes = {
  audience: "registry",
  cacheType: "ServiceAccount",
  requireServiceAccount: true,
  requiredAnnotations: ["r.io/role"],
  optionalAnnotations: ["r.io/zone"],
};
function tokenSource(annotations: Record<string, string> = { "r.io/role": "puller", other: "x" }) {
  const requests: TokenRequest[] = [];
  const source: TokenSource = {
    serviceAccount: async (namespace, name) => {
      if (name === "none") throw new Error(`serviceaccounts "${name}" not found`);
      return { uid: `uid of ${namespace}/${name}`, annotations };
    },
    token: async (request) => {
      requests.push(request);
      return `token ${requests.length}`;
    },
  };
  return { source, requests };
}
const robot = aPod({ serviceAccountName: "robot" });

test("a plugin with tokenAttributes gets a token of the pod's service account, and its annotations", async () => {
  const { source, requests } = tokenSource();
  const { providers, runs } = setUp([config({ tokens: tokenAttributes })], { tokens: source });
  const [found] = await providers.lookup(robot, "r.io/app");
  const { uid, name, namespace } = robot.metadata;
  assert.deepEqual(requests, [
    {
      namespace: "default",
      serviceAccount: "robot",
      serviceAccountUid: "uid of default/robot",
      audience: "registry",
      pod: { uid, name, namespace },
    },
  ]);
  assert.deepEqual(JSON.parse(runs[0]?.input ?? ""), {
    kind: "CredentialProviderRequest",
    apiVersion,
    image: "r.io/app",
    serviceAccountToken: "token 1",
    serviceAccountAnnotations: { "r.io/role": "puller" },
  });
  assert.deepEqual(found?.source, {
    kind: "serviceAccount",
    uid: "uid of default/robot",
    namespace: "default",
    name: "robot",
  });
});

const tokenCache: [
  rule: string,
  cacheType: TokenAttributes["cacheType"],
  second: typeof robot,
  runs: number,
][] = [
  ["ServiceAccount: another pod of it shares the response", "ServiceAccount", robot, 1],
  ["ServiceAccount: another account does not", "ServiceAccount", aPod({ serviceAccountName: "other" }), 2],
  ["Token: another token does not", "Token", robot, 2],
];
for (const [rule, cacheType, second, expected] of tokenCache)
  test(`a response for a token is cached by ${rule}`, async () => {
    const { source } = tokenSource();
    const { users, runs } = setUp([config({ tokens: { ...tokenAttributes, cacheType } })], {
      tokens: source,
    });
    await users("r.io/app", robot);
    await users("r.io/app", second);
    assert.equal(runs.length, expected);
  });

const accountTable: [
  rule: string,
  more: Partial<TokenAttributes>,
  pod: typeof robot,
  annotations: object,
  expectRun: boolean,
  log: RegExp | undefined,
][] = [
  ["is not executed without a required account", {}, aPod(), {}, false, undefined],
  [
    "is executed without a token if no account is required",
    { requireServiceAccount: false },
    aPod(),
    {},
    true,
    undefined,
  ],
  ["is not executed if a required annotation is missing", {}, robot, {}, false, undefined],
  [
    "is not executed if the account does not exist",
    {},
    aPod({ serviceAccountName: "none" }),
    {},
    false,
    /failed to get service account: serviceaccounts/,
  ],
];
for (const [rule, more, pod, annotations, expectRun, log] of accountTable)
  test(`a plugin with tokenAttributes ${rule}`, async () => {
    const { source } = tokenSource(annotations as Record<string, string>);
    const { users, runs, lines } = setUp([config({ tokens: { ...tokenAttributes, ...more } })], {
      tokens: source,
    });
    await users("r.io/app", pod);
    assert.equal(runs.length, expectRun ? 1 : 0);
    assert.doesNotMatch(runs[0]?.input ?? "", /serviceAccountToken/);
    assert.equal(lines.length, log ? 1 : 0);
    if (log) assert.match(lines[0]!, log);
  });

test("a token is rejected as password, unless responses are cached by token; it is never logged", async () => {
  const echo = ({ input }: PluginRun) =>
    response({ auth: { "r.io": { username: "u", password: JSON.parse(input).serviceAccountToken } } });
  for (const [cacheType, expected] of [
    ["ServiceAccount", []],
    ["Token", ["u"]],
  ] as const) {
    const { source } = tokenSource();
    const { users, lines } = setUp([config({ tokens: { ...tokenAttributes, cacheType } })], {
      tokens: source,
      response: echo,
    });
    assert.deepEqual(await users("r.io/app", robot), expected);
    assert.doesNotMatch(lines.join(), /token 1/);
  }
  const { source } = tokenSource();
  const { users, lines } = setUp([config({ tokens: tokenAttributes })], {
    tokens: source,
    response: ({ input }) => {
      throw new Error(`exit status 1: rejected ${JSON.parse(input).serviceAccountToken}`);
    },
  });
  await users("r.io/app", robot);
  assert.match(lines[0]!, /rejected \[token\]/);
});

test("responses are cached for a limited number of images, which authors of pods choose", async () => {
  const { runs, users } = setUp([config()]);
  for (let i = 0; i < 1001; i++) await users(`r.io/app-${i}`);
  await users("r.io/app-1000");
  assert.equal(runs.length, 1001);
  await users("r.io/app-0");
  assert.equal(runs.length, 1002);
});
