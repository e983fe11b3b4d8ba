import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { FakeClock, settle } from "../../../../../lib/base/fake-clock.ts";
import { metricValues } from "../../../../../lib/base/fixtures.ts";
import { type Logger, silentLogger } from "../../../../../lib/base/logger.ts";
import { createMetrics, type Metrics } from "../../../../../lib/base/metrics.ts";
import { epochMs } from "../../../../../lib/base/time.ts";
import { KubeApiError } from "../../../../../lib/clients/kube/api-error.ts";
import type { KubeRequest } from "../../../../../lib/clients/kube/transport-interface.ts";
import { fakePod } from "../../../../../lib/model/fake-pod.ts";
import type { PodUid } from "../../../../../lib/model/pod.ts";
import { ServiceAccountTokens } from "./service-account-tokens.ts";
import { renewAfterMs, type TokenRequest } from "./token-request.ts";

const minute = 60_000;
const hour = 60 * minute;
const pod = { name: "web", namespace: "shop", uid: "uid-1" as PodUid };
const request: TokenRequest = {
  namespace: "shop",
  serviceAccount: "cart",
  audiences: ["vault"],
  expirationSeconds: 3600,
  pod,
};

describe("service account tokens", () => {
  let clock: FakeClock;
  let requests: KubeRequest[];
  let respond: (call: KubeRequest) => unknown;
  let logged: string[];
  let metrics: Metrics;
  let tokens: ServiceAccountTokens;

  beforeEach(() => {
    clock = new FakeClock();
    requests = [];
    logged = [];
    metrics = createMetrics();
    respond = (call) => {
      const { expirationSeconds } = (call.body as { spec: { expirationSeconds: number } }).spec;
      const expirationTimestamp = new Date(epochMs(clock.wall()) + expirationSeconds * 1000).toISOString();
      return {
        spec: { expirationSeconds },
        status: { token: `token-${requests.length}`, expirationTimestamp },
      };
    };
    const log = (message: string, fields: unknown) => logged.push(`${message} ${JSON.stringify(fields)}`);
    const logger: Logger = { ...silentLogger, error: log };
    const api = {
      request: async <T>(call: KubeRequest): Promise<T> => {
        requests.push(call);
        return (await respond(call)) as T;
      },
    };
    tokens = new ServiceAccountTokens({ api, clock, logger, metrics, random: () => 0 });
  });

  it("requests a token that is bound to the pod", async () => {
    const { token, expirationTimestamp } = await tokens.token({ ...request, serviceAccountUid: "sa-uid" });
    assert.deepEqual([token, expirationTimestamp], ["token-1", "2026-01-01T01:00:00.000Z"]);
    const { method, path, body } = requests[0] ?? {};
    assert.deepEqual([method, path], ["POST", "/api/v1/namespaces/shop/serviceaccounts/cart/token"]);
    assert.deepEqual(body, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata: { uid: "sa-uid" },
      spec: {
        audiences: ["vault"],
        expirationSeconds: 3600,
        boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "web", uid: "uid-1" },
      },
    });
  });

  it("get returns a token of the pod's service account", async () => {
    const owner = fakePod({ metadata: pod, spec: { serviceAccountName: "cart" } });
    const { token } = await tokens.get(owner, { audiences: ["vault"], expirationSeconds: 3600 });
    assert.equal((await tokens.token(request)).token, token);
  });

  const others: [string, Partial<TokenRequest>][] = [
    ["account", { serviceAccount: "x" }],
    ["account of the same name", { serviceAccountUid: "x" }],
    ["namespace", { namespace: "x" }],
    ["audience", { audiences: ["x"] }],
    ["lifetime", { expirationSeconds: 7200 }],
    ["pod", { pod: { ...pod, uid: "uid-2" as PodUid } }],
  ];
  for (const [what, other] of others)
    it(`a token for another ${what} is a separate one`, async () => {
      const first = await tokens.token(request);
      const second = await tokens.token({ ...request, ...other });
      assert.notEqual(first.token, second.token);
      assert.equal((await tokens.token(request)).token, first.token);
      assert.equal(requests.length, 2);
    });

  const renewals: [string, number, number, number][] = [
    ["80 % of an hour", 3600, 48 * minute, 0],
    ["10 s earlier at most", 3600, 48 * minute - 10_000, 1],
    ["80 % of ten minutes", 600, 8 * minute, 0],
    ["a day, if it is valid for a week", 7 * 24 * 3600, 24 * hour, 0],
    ["80 % of a day", 24 * 3600, 19.2 * hour, 0],
  ];
  for (const [what, seconds, at, random] of renewals)
    it(`is renewed after ${what}`, () => {
      assert.equal(
        renewAfterMs(seconds * 1000, () => random),
        at,
      );
    });

  it("returns the cached token until it has to be renewed", async () => {
    await tokens.token(request);
    await clock.advance(48 * minute - 1);
    assert.equal((await tokens.token(request)).token, "token-1");
    await clock.advance(1);
    assert.equal((await tokens.token(request)).token, "token-2");
  });

  it("is renewed in time when the clock is set back, and immediately when it jumps past the expiry", async () => {
    await tokens.token(request);
    clock.jump(-hour);
    await clock.advance(48 * minute);
    assert.equal((await tokens.token(request)).token, "token-2");
    clock.suspend(24 * hour);
    assert.equal((await tokens.token(request)).token, "token-3");
  });

  it("while the renewal fails, the old token is returned until it expires", async () => {
    await tokens.token(request);
    respond = () => {
      throw new KubeApiError({ status: 500, reason: "InternalError", message: "etcd is slow" });
    };
    await clock.advance(50 * minute);
    assert.equal((await tokens.token(request)).token, "token-1");
    assert.equal(logged.length, 1);
    assert.match(logged[0] ?? "", /^Couldn't update token .*etcd is slow/);
    // Within a minute of the last sweep: the expired token is still cached.
    await clock.advance(10 * minute - 30_000);
    assert.equal((await tokens.token(request)).token, "token-1");
    await clock.advance(30_001);
    await assert.rejects(tokens.token(request), {
      message: 'token "cart"/"shop"/["vault"]/3600/"web:uid-1"/"" expired and refresh failed: etcd is slow',
    });
    assert.doesNotMatch(logged.join(), /token-1/);
    assert.deepEqual(await metricValues(metrics, "kubelet_ts_token_requests_total"), {
      "result=success": 1,
      "result=failure": 3,
    });
  });

  for (const [message, expected] of [
    ["node requested token bound to a pod scheduled on a different node", 2],
    ["no relationship found between node 'n1' and this object", 2],
    ["serviceaccounts is forbidden", 1],
  ] as const)
    it(`after "${message}" it is requested ${expected === 2 ? "once more, silently" : "no more"}`, async () => {
      const first = respond;
      respond = (call) => {
        if (requests.length === 1) throw new KubeApiError({ status: 403, reason: "Forbidden", message });
        return first(call);
      };
      const token = tokens.token(request);
      if (expected === 2) assert.equal((await token).token, "token-2");
      else await assert.rejects(token, { message: `failed to fetch token: ${message}` });
      assert.equal(requests.length, expected);
      assert.deepEqual(logged, []);
    });

  it("a token that is rejected twice is not requested a third time", async () => {
    const message = "node requested token bound to a pod scheduled on a different node";
    respond = () => {
      throw new KubeApiError({ status: 403, reason: "Forbidden", message });
    };
    await assert.rejects(tokens.token(request), { message: `failed to fetch token: ${message}` });
    assert.equal(requests.length, 2);
  });

  it("a failed request is an error with its cause", async () => {
    const notFound = new KubeApiError({
      status: 404,
      reason: "NotFound",
      message: 'serviceaccounts "cart" not found',
    });
    respond = (call) => {
      if (call.method === "GET") return { resources: [{ name: "serviceaccounts/token" }] };
      throw notFound;
    };
    await assert.rejects(tokens.token(request), {
      message: 'failed to fetch token: serviceaccounts "cart" not found',
    });
  });

  it("an API server without TokenRequest is a separate error", async () => {
    respond = (call) => {
      if (call.method === "GET") return { resources: [{ name: "pods" }] };
      throw new KubeApiError({ status: 404, reason: "NotFound", message: "page not found" });
    };
    await assert.rejects(tokens.token(request), {
      message: "failed to fetch token: the API server does not have TokenRequest endpoints enabled",
    });
  });

  it("a token request fails if there is no API server", async () => {
    const standalone = new ServiceAccountTokens({ api: undefined, clock, logger: silentLogger });
    await assert.rejects(standalone.token(request), {
      message: "failed to fetch token: cannot use TokenManager when kubelet is in standalone mode",
    });
  });

  it("a response without a token is an error", async () => {
    respond = () => ({ status: {} });
    await assert.rejects(tokens.token(request), {
      message: "failed to fetch token: the API server's response contains no token",
    });
  });

  it("concurrent callers share one request; an aborted one does not cancel it", async () => {
    let release = () => {};
    const good = respond;
    respond = async (call) => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return good(call);
    };
    const stop = new AbortController();
    const first = tokens.token(request, stop.signal);
    const second = tokens.token(request);
    const aborted = assert.rejects(first, { name: "AbortError" });
    await settle();
    stop.abort();
    await aborted;
    release();
    assert.equal((await second).token, "token-1");
    assert.equal(requests.length, 1);
  });

  it("deletes the tokens of a pod, including that of a pending request, and no others", async () => {
    const other = { ...request, pod: { ...pod, uid: "uid-2" as PodUid } };
    await tokens.token(request);
    await tokens.token(other);
    tokens.delete(pod.uid);
    await tokens.token(other);
    assert.equal(requests.length, 2);
    const pending = tokens.token(request);
    tokens.delete(pod.uid);
    await pending;
    await tokens.token(request);
    assert.equal(requests.length, 4);
  });

  it("removes expired tokens", async () => {
    await tokens.token(request);
    await clock.advance(2 * hour);
    await tokens.token({ ...request, audiences: [] });
    assert.deepEqual(await metricValues(metrics, "kubelet_ts_tokens"), { "": 1 });
  });
});
