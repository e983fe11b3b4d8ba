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
  let asked: KubeRequest[];
  let answer: (call: KubeRequest) => unknown;
  let said: string[];
  let metrics: Metrics;
  let tokens: ServiceAccountTokens;

  beforeEach(() => {
    clock = new FakeClock();
    asked = [];
    said = [];
    metrics = createMetrics();
    answer = (call) => {
      const { expirationSeconds } = (call.body as { spec: { expirationSeconds: number } }).spec;
      const expirationTimestamp = new Date(epochMs(clock.wall()) + expirationSeconds * 1000).toISOString();
      return { spec: { expirationSeconds }, status: { token: `token-${asked.length}`, expirationTimestamp } };
    };
    const note = (message: string, fields: unknown) => said.push(`${message} ${JSON.stringify(fields)}`);
    const logger: Logger = { ...silentLogger, error: note };
    const api = {
      request: async <T>(call: KubeRequest): Promise<T> => {
        asked.push(call);
        return (await answer(call)) as T;
      },
    };
    tokens = new ServiceAccountTokens({ api, clock, logger, metrics, random: () => 0 });
  });

  it("asks for a token that is bound to the pod", async () => {
    const { token, expirationTimestamp } = await tokens.token({ ...request, serviceAccountUid: "sa-uid" });
    assert.deepEqual([token, expirationTimestamp], ["token-1", "2026-01-01T01:00:00.000Z"]);
    const { method, path, body } = asked[0] ?? {};
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

  it("gives a pod one of its own account", async () => {
    const owner = fakePod({ metadata: pod, spec: { serviceAccountName: "cart" } });
    const { token } = await tokens.get(owner, { audiences: ["vault"], expirationSeconds: 3600 });
    assert.equal((await tokens.token(request)).token, token);
  });

  const others: [string, Partial<TokenRequest>][] = [
    ["account", { serviceAccount: "x" }],
    ["account of the same name", { serviceAccountUid: "x" }],
    ["namespace", { namespace: "x" }],
    ["audience", { audiences: ["x"] }],
    ["life", { expirationSeconds: 7200 }],
    ["pod", { pod: { ...pod, uid: "uid-2" as PodUid } }],
  ];
  for (const [what, other] of others)
    it(`keeps tokens of another ${what} apart`, async () => {
      const first = await tokens.token(request);
      const second = await tokens.token({ ...request, ...other });
      assert.notEqual(first.token, second.token);
      assert.equal((await tokens.token(request)).token, first.token);
      assert.equal(asked.length, 2);
    });

  const renewals: [string, number, number, number][] = [
    ["80 % of an hour", 3600, 48 * minute, 0],
    ["10 s earlier at most", 3600, 48 * minute - 10_000, 1],
    ["80 % of ten minutes", 600, 8 * minute, 0],
    ["a day, if it lives for a week", 7 * 24 * 3600, 24 * hour, 0],
    ["80 % of a day", 24 * 3600, 19.2 * hour, 0],
  ];
  for (const [what, seconds, at, random] of renewals)
    it(`is renewed after ${what}`, () => {
      assert.equal(
        renewAfterMs(seconds * 1000, () => random),
        at,
      );
    });

  it("gives the same one until it is due, then another", async () => {
    await tokens.token(request);
    await clock.advance(48 * minute - 1);
    assert.equal((await tokens.token(request)).token, "token-1");
    await clock.advance(1);
    assert.equal((await tokens.token(request)).token, "token-2");
  });

  it("gives another in time when the clock is set back, and at once when it leaps past the end", async () => {
    await tokens.token(request);
    clock.jump(-hour);
    await clock.advance(48 * minute);
    assert.equal((await tokens.token(request)).token, "token-2");
    clock.suspend(24 * hour);
    assert.equal((await tokens.token(request)).token, "token-3");
  });

  it("goes on with the old one while no new one is to be had, and not when it has expired", async () => {
    await tokens.token(request);
    answer = () => {
      throw new KubeApiError({ status: 500, reason: "InternalError", message: "etcd is slow" });
    };
    await clock.advance(50 * minute);
    assert.equal((await tokens.token(request)).token, "token-1");
    assert.equal(said.length, 1);
    assert.match(said[0] ?? "", /^Couldn't update token .*etcd is slow/);
    // Within the minute in which it was looked at last: the expired one is still known.
    await clock.advance(10 * minute - 30_000);
    assert.equal((await tokens.token(request)).token, "token-1");
    await clock.advance(30_001);
    await assert.rejects(tokens.token(request), {
      message: 'token "cart"/"shop"/["vault"]/3600/"web:uid-1"/"" expired and refresh failed: etcd is slow',
    });
    assert.doesNotMatch(said.join(), /token-1/);
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
      const first = answer;
      answer = (call) => {
        if (asked.length === 1) throw new KubeApiError({ status: 403, reason: "Forbidden", message });
        return first(call);
      };
      const token = tokens.token(request);
      if (expected === 2) assert.equal((await token).token, "token-2");
      else await assert.rejects(token, { message: `failed to fetch token: ${message}` });
      assert.equal(asked.length, expected);
      assert.deepEqual(said, []);
    });

  it("a token that is refused twice is not requested a third time", async () => {
    const message = "node requested token bound to a pod scheduled on a different node";
    answer = () => {
      throw new KubeApiError({ status: 403, reason: "Forbidden", message });
    };
    await assert.rejects(tokens.token(request), { message: `failed to fetch token: ${message}` });
    assert.equal(asked.length, 2);
  });

  it("says why there is none", async () => {
    const notFound = new KubeApiError({
      status: 404,
      reason: "NotFound",
      message: 'serviceaccounts "cart" not found',
    });
    answer = (call) => {
      if (call.method === "GET") return { resources: [{ name: "serviceaccounts/token" }] };
      throw notFound;
    };
    await assert.rejects(tokens.token(request), {
      message: 'failed to fetch token: serviceaccounts "cart" not found',
    });
  });

  it("says so if the API server has no tokens at all", async () => {
    answer = (call) => {
      if (call.method === "GET") return { resources: [{ name: "pods" }] };
      throw new KubeApiError({ status: 404, reason: "NotFound", message: "page not found" });
    };
    await assert.rejects(tokens.token(request), {
      message: "failed to fetch token: the API server does not have TokenRequest endpoints enabled",
    });
  });

  it("says so if there is no API server", async () => {
    const alone = new ServiceAccountTokens({ api: undefined, clock, logger: silentLogger });
    await assert.rejects(alone.token(request), {
      message: "failed to fetch token: cannot use TokenManager when kubelet is in standalone mode",
    });
  });

  it("refuses an answer without a token", async () => {
    answer = () => ({ status: {} });
    await assert.rejects(tokens.token(request), {
      message: "failed to fetch token: the API server's answer holds no token",
    });
  });

  it("asks once for all who ask at the same time; who gives up leaves the others their answer", async () => {
    let release = () => {};
    const good = answer;
    answer = async (call) => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return good(call);
    };
    const stop = new AbortController();
    const first = tokens.token(request, stop.signal);
    const second = tokens.token(request);
    const givenUp = assert.rejects(first, { name: "AbortError" });
    await settle();
    stop.abort();
    await givenUp;
    release();
    assert.equal((await second).token, "token-1");
    assert.equal(asked.length, 1);
  });

  it("forgets the tokens of a pod, also one that is under way, and no others", async () => {
    const other = { ...request, pod: { ...pod, uid: "uid-2" as PodUid } };
    await tokens.token(request);
    await tokens.token(other);
    tokens.forget(pod.uid);
    await tokens.token(other);
    assert.equal(asked.length, 2);
    const underWay = tokens.token(request);
    tokens.forget(pod.uid);
    await underWay;
    await tokens.token(request);
    assert.equal(asked.length, 4);
  });

  it("drops what has expired", async () => {
    await tokens.token(request);
    await clock.advance(2 * hour);
    await tokens.token({ ...request, audiences: [] });
    assert.deepEqual(await metricValues(metrics, "kubelet_ts_tokens"), { "": 1 });
  });
});
