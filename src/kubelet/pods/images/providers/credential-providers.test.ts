import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../../../test/builders/pods.ts";
import { isAbort } from "../../../../lib/base/errors.ts";
import { FakeClock, settle } from "../../../../lib/base/fake-clock.ts";
import { metricValues } from "../../../../lib/base/fixtures.ts";
import { type Logger, silentLogger } from "../../../../lib/base/logger.ts";
import { createMetrics } from "../../../../lib/base/metrics.ts";
import { CredentialProviders } from "./credential-providers.ts";
import type { ProviderConfig, TokenAttributes } from "./load-providers.ts";
import type { ProgramRun } from "./run-program.ts";
import type { TokenQuestion, TokenSource } from "./token-source.ts";

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
const answer = (more: object = {}) =>
  JSON.stringify({
    kind: "CredentialProviderResponse",
    apiVersion,
    cacheKeyType: "Image",
    auth: { "r.io": { username: "u", password: "p" } },
    ...more,
  });

function setUp(
  configs: ProviderConfig[],
  more: { tokens?: TokenSource; answer?: (run: ProgramRun) => string | Promise<string>; env?: object } = {},
) {
  const clock = new FakeClock();
  const runs: ProgramRun[] = [];
  const lines: string[] = [];
  const note = (...words: unknown[]) => void lines.push(JSON.stringify(words));
  const logger: Logger = { ...silentLogger, error: note, warn: note, info: note, debug: note };
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
      return (more.answer ?? (() => answer()))(run);
    },
  });
  const users = async (image: string, pod = aPod()) =>
    (await providers.lookup(pod, image)).map(({ username }) => username);
  return { clock, runs, lines, metrics, providers, users };
}

const matches: [pattern: string, image: string, fits: boolean][] = [
  ["r.io", "r.io/app", true],
  ["*.r.io", "eu.r.io/app", true],
  ["*.r.io", "r.io/app", false],
  ["r.io:5000/team", "r.io:5000/team/app", true],
  ["r.io:5000/team", "r.io/team/app", false],
  ["r.io/team", "r.io/other/app", false],
];
for (const [pattern, image, fits] of matches)
  test(`a program for ${pattern} is ${fits ? "" : "not "}asked about ${image}`, async () => {
    const { runs, users } = setUp([config({ matchImages: ["other.io", pattern] })]);
    await users(image);
    assert.equal(runs.length, fits ? 1 : 0);
  });

test("a program is told the image, with its arguments, and with its variables over the node's", async () => {
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
  ["Image: for the same image", { cacheKeyType: "Image" }, 60_000, "r.io/app", 0, 1],
  ["Image: not for another", { cacheKeyType: "Image" }, 60_000, "r.io/other", 0, 2],
  ["Registry: for all of the registry", { cacheKeyType: "Registry" }, 60_000, "r.io/other", 0, 1],
  ["Registry: not for another", { cacheKeyType: "Registry" }, 60_000, "r2.io/app", 0, 2],
  ["Global: for all", { cacheKeyType: "Global" }, 60_000, "r2.io/app", 0, 1],
  ["as long as configured", {}, 60_000, "r.io/app", 60_000, 1],
  ["not longer than configured", {}, 60_000, "r.io/app", 60_001, 2],
  ["as long as the answer says", { cacheDuration: "2m" }, 60_000, "r.io/app", 120_000, 1],
  ["not longer than the answer says", { cacheDuration: "1s" }, 60_000, "r.io/app", 1001, 2],
  ["not at all if the answer says so", { cacheDuration: "0s" }, 60_000, "r.io/app", 0, 2],
  ["not at all if configured so", {}, 0, "r.io/app", 0, 2],
];
for (const [rule, more, defaultCacheMs, second, afterMs, expected] of cacheTable)
  test(`an answer is kept: ${rule}`, async () => {
    const matchImages = ["r.io", "r2.io"];
    const { runs, users, clock } = setUp([config({ defaultCacheMs, matchImages })], {
      answer: () => answer(more),
    });
    await users("r.io/app");
    await clock.advance(afterMs);
    await users(second);
    assert.equal(runs.length, expected);
  });

test("those who ask the same at the same time share one run; who gives up does not end it", async () => {
  const ends: (() => void)[] = [];
  const { runs, users, providers } = setUp([config()], {
    answer: () => new Promise((resolve) => ends.push(() => resolve(answer()))),
  });
  const stop = new AbortController();
  const gaveUp = assert.rejects(providers.lookup(aPod(), "r.io/app", stop.signal), isAbort);
  const same = [users("r.io/app"), users("r.io/app")];
  const other = users("r.io/other");
  await settle();
  stop.abort();
  await gaveUp;
  assert.equal(runs.length, 2);
  for (const end of ends) end();
  assert.deepEqual(await Promise.all([...same, other]), [["u"], ["u"], ["u"]]);
  assert.equal(runs.length, 2);
});

test("longer paths first, then programs in their order; one that fails keeps no other from giving", async () => {
  const auths: Record<string, object> = {
    "/bin/a": { "r.io": { username: "a", password: "" } },
    "/bin/b": { "r.io/team": { username: "b", password: "" }, "r.io": { username: "b2", password: "" } },
    "/bin/c": { "else.io": { username: "c", password: "" } },
  };
  const names = ["a", "broken", "b", "c"];
  const { users, lines, metrics } = setUp(
    names.map((name) => config({ name, path: `/bin/${name}` })),
    {
      answer: ({ path }) => {
        if (path === "/bin/broken") throw new Error("exit status 1: no luck");
        return answer({ auth: auths[path] });
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

const badAnswers: [rule: string, text: string, why: RegExp][] = [
  ["no JSON", "hunter2", /error reading GVK from response/],
  ["no object", '["hunter2"]', /error reading GVK from response/],
  [
    "another version",
    answer({ apiVersion: "credentialprovider.kubelet.k8s.io/v1beta1" }),
    /actual apiVersion:credentialprovider.kubelet.k8s.io\/v1beta1/,
  ],
  [
    "another kind",
    answer({ kind: "hunter2" }),
    /error decoding credential provider plugin response from stdout/,
  ],
  ["an unknown field", answer({ hunter2: 1 }), /error decoding/],
  ["no cacheKeyType", answer({ cacheKeyType: undefined }), /did not return a valid cacheKeyType: /],
  [
    "an unknown cacheKeyType",
    answer({ cacheKeyType: "hunter2 hunter2" }),
    /did not return a valid cacheKeyType: "/,
  ],
  ["no duration", answer({ cacheDuration: "hunter2" }), /error decoding/],
  ["auth is no map", answer({ auth: ["hunter2"] }), /error decoding/],
  ["an entry with more", answer({ auth: { "r.io": { auth: "hunter2" } } }), /error decoding/],
  ["a password that is no text", answer({ auth: { "r.io": { password: ["hunter2"] } } }), /error decoding/],
];
for (const [rule, text, why] of badAnswers)
  test(`an answer that is no answer gives nothing, and is not quoted: ${rule}`, async () => {
    const { users, lines } = setUp([config()], { answer: () => text });
    assert.deepEqual(await users("r.io/app"), []);
    assert.equal(lines.length, 1);
    assert.match(lines[0]!, why);
    assert.doesNotMatch(lines[0]!, /hunter2/);
  });

const wanted: TokenAttributes = {
  audience: "registry",
  cacheType: "ServiceAccount",
  requireServiceAccount: true,
  requiredAnnotations: ["r.io/role"],
  optionalAnnotations: ["r.io/zone"],
};
function tokenSource(annotations: Record<string, string> = { "r.io/role": "puller", other: "x" }) {
  const questions: TokenQuestion[] = [];
  const source: TokenSource = {
    serviceAccount: async (namespace, name) => {
      if (name === "none") throw new Error(`serviceaccounts "${name}" not found`);
      return { uid: `uid of ${namespace}/${name}`, annotations };
    },
    token: async (question) => {
      questions.push(question);
      return `token ${questions.length}`;
    },
  };
  return { source, questions };
}
const robot = aPod({ serviceAccountName: "robot" });

test("a program that wants it is told a token of the pod's service account, and its annotations", async () => {
  const { source, questions } = tokenSource();
  const { providers, runs } = setUp([config({ tokens: wanted })], { tokens: source });
  const [found] = await providers.lookup(robot, "r.io/app");
  const { uid, name, namespace } = robot.metadata;
  assert.deepEqual(questions, [
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
  ["ServiceAccount: another pod of it shares the answer", "ServiceAccount", robot, 1],
  ["ServiceAccount: another account does not", "ServiceAccount", aPod({ serviceAccountName: "other" }), 2],
  ["Token: another token does not", "Token", robot, 2],
];
for (const [rule, cacheType, second, expected] of tokenCache)
  test(`an answer for a token is kept by ${rule}`, async () => {
    const { source } = tokenSource();
    const { users, runs } = setUp([config({ tokens: { ...wanted, cacheType } })], { tokens: source });
    await users("r.io/app", robot);
    await users("r.io/app", second);
    assert.equal(runs.length, expected);
  });

const accountTable: [
  rule: string,
  more: Partial<TokenAttributes>,
  pod: typeof robot,
  annotations: object,
  asked: boolean,
  log: RegExp | undefined,
][] = [
  ["no account, and one is required: not asked", {}, aPod(), {}, false, undefined],
  [
    "no account, none required: asked without a token",
    { requireServiceAccount: false },
    aPod(),
    {},
    true,
    undefined,
  ],
  ["a required annotation is missing: not asked", {}, robot, {}, false, undefined],
  [
    "no such account: not asked",
    {},
    aPod({ serviceAccountName: "none" }),
    {},
    false,
    /failed to get service account: serviceaccounts/,
  ],
];
for (const [rule, more, pod, annotations, asked, log] of accountTable)
  test(`a program with tokens: ${rule}`, async () => {
    const { source } = tokenSource(annotations as Record<string, string>);
    const { users, runs, lines } = setUp([config({ tokens: { ...wanted, ...more } })], { tokens: source });
    await users("r.io/app", pod);
    assert.equal(runs.length, asked ? 1 : 0);
    assert.doesNotMatch(runs[0]?.input ?? "", /serviceAccountToken/);
    assert.equal(lines.length, log ? 1 : 0);
    if (log) assert.match(lines[0]!, log);
  });

test("a token is no password, unless answers are kept by token; and it is never logged", async () => {
  const echo = ({ input }: ProgramRun) =>
    answer({ auth: { "r.io": { username: "u", password: JSON.parse(input).serviceAccountToken } } });
  for (const [cacheType, expected] of [
    ["ServiceAccount", []],
    ["Token", ["u"]],
  ] as const) {
    const { source } = tokenSource();
    const { users, lines } = setUp([config({ tokens: { ...wanted, cacheType } })], {
      tokens: source,
      answer: echo,
    });
    assert.deepEqual(await users("r.io/app", robot), expected);
    assert.doesNotMatch(lines.join(), /token 1/);
  }
  const { source } = tokenSource();
  const { users, lines } = setUp([config({ tokens: wanted })], {
    tokens: source,
    answer: ({ input }) => {
      throw new Error(`exit status 1: refused ${JSON.parse(input).serviceAccountToken}`);
    },
  });
  await users("r.io/app", robot);
  assert.match(lines[0]!, /refused \[token\]/);
});
