import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { describe, test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { metricValues } from "../../../lib/base/fixtures.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { KubeApiError, TransportError } from "../../../lib/clients/kube/api-error.ts";
import { ConnectionLost } from "../../../lib/clients/kube/server-connection.ts";
import { fakeReviews } from "../fixtures.ts";
import { HttpError } from "../http-error.ts";
import { type AccessOptions, attributesOf, nodeAccess } from "./node-access.ts";
import { bearerToken } from "./tokens.ts";

const request = (headers: Record<string, string> = {}) => ({ headers, socket: {} }) as IncomingMessage;
const withToken = request({ authorization: "Bearer t" });
const permission = { verb: "get", subresources: ["pods", "proxy"] };

function access(o: Partial<AccessOptions> & { anonymous?: boolean; clock?: FakeClock } = {}) {
  return nodeAccess({
    nodeName: "n",
    authentication: { anonymous: o.anonymous ?? false, webhook: true, cacheTtlMs: 120_000 },
    authorization: { mode: "Webhook", allowedTtlMs: 300_000, deniedTtlMs: 30_000 },
    clientCa: () => undefined,
    logger: silentLogger,
    ...o,
    clock: o.clock ?? new FakeClock(),
  });
}

const status = (error: unknown) => (error instanceof HttpError ? error.status : undefined);
const rejected = (code: number) => (error: unknown) => status(error) === code;
const known = { authenticated: true, user: { username: "u", groups: ["g"] } };

describe("without a cluster", () => {
  test("a token is not accepted", async () => {
    await assert.rejects(access().authorize(withToken, permission), rejected(401));
  });

  test("no one is authorized, not even anonymous clients", async () => {
    await assert.rejects(access({ anonymous: true }).authorize(request(), permission), rejected(403));
  });

  // parity: field authorization.mode as mode, field authentication.anonymous.enabled as anonymous
  test("a client that the configuration allows is authorized", async () => {
    const authorization = { mode: "AlwaysAllow", allowedTtlMs: 0, deniedTtlMs: 0 } as const;
    const filter = access({ anonymous: true, authorization });
    assert.deepEqual(await filter.authorize(request(), permission), {
      name: "system:anonymous",
      groups: ["system:unauthenticated"],
    });
    await assert.rejects(access({ authorization }).authorize(request(), permission), rejected(401));
  });
});

describe("reviews of the cluster", () => {
  // parity: field authentication.webhook.enabled as webhook, field authentication.webhook.cacheTTL as cacheTtlMs
  test("a token is reviewed again after two minutes", async () => {
    const clock = new FakeClock();
    const { transport, requests } = fakeReviews({ token: () => known, access: () => ({ allowed: true }) });
    const filter = access({ transport, clock });
    const reviews = () => requests.filter(({ path }) => path.endsWith("/tokenreviews")).length;
    await filter.authorize(withToken, permission);
    await clock.advance(119_999);
    await filter.authorize(withToken, permission);
    assert.equal(reviews(), 1);
    await clock.advance(1);
    await filter.authorize(withToken, permission);
    assert.equal(reviews(), 2);
  });

  // parity: field authorization.webhook.cacheAuthorizedTTL as allowedTtlMs, field authorization.webhook.cacheUnauthorizedTTL as deniedTtlMs
  test("an allowed review is cached for five minutes, a denied one for thirty seconds", async () => {
    const clock = new FakeClock();
    let allowed = false;
    const { transport, requests } = fakeReviews({ token: () => known, access: () => ({ allowed }) });
    const filter = access({ transport, clock });
    const one = { verb: "get", subresources: ["stats"] };
    const reviews = () => requests.filter(({ path }) => path.endsWith("/subjectaccessreviews")).length;
    await assert.rejects(filter.authorize(withToken, one), rejected(403));
    allowed = true;
    await clock.advance(29_999);
    await assert.rejects(filter.authorize(withToken, one), rejected(403));
    await clock.advance(1);
    await filter.authorize(withToken, one);
    allowed = false;
    await clock.advance(299_999);
    await filter.authorize(withToken, one);
    assert.equal(reviews(), 2);
    await clock.advance(1);
    await assert.rejects(filter.authorize(withToken, one), rejected(403));
  });

  test("a review names the node, the most specific subresource, and the user with its groups", async () => {
    const user = { username: "u", groups: ["g"], uid: "1" };
    const { transport, requests } = fakeReviews({
      token: () => ({ authenticated: true, user }),
      access: () => ({ allowed: true }),
    });
    await access({ transport }).authorize(withToken, permission);
    const resource = { verb: "get", version: "v1", resource: "nodes", subresource: "pods", name: "n" };
    assert.deepEqual(requests.at(-1)?.spec, {
      resourceAttributes: resource,
      user: "u",
      groups: ["g", "system:authenticated"],
      uid: "1",
      extra: undefined,
    });
  });

  test("concurrent requests of one client share its reviews", async () => {
    const { transport, requests } = fakeReviews({ token: () => known, access: () => ({ allowed: true }) });
    const filter = access({ transport });
    await Promise.all(Array.from({ length: 20 }, () => filter.authorize(withToken, permission)));
    assert.equal(requests.length, 2);
  });

  test("reviews are counted, and so are cached results", async () => {
    const metrics = createMetrics();
    let down = true;
    const { transport } = fakeReviews({
      token: () => (down ? new Error("down") : known),
      access: () => ({ allowed: true }),
    });
    const filter = access({ transport, metrics });
    await assert.rejects(filter.authorize(withToken, permission), rejected(401));
    down = false;
    await filter.authorize(withToken, permission);
    await filter.authorize(withToken, permission);
    const value = (name: string) => metricValues(metrics, name);
    assert.deepEqual(await value("authentication_token_cache_request_total"), {
      "status=miss": 2,
      "status=hit": 1,
    });
    assert.deepEqual(await value("authentication_token_cache_fetch_total"), {
      "status=error": 1,
      "status=ok": 1,
    });
    assert.deepEqual(await value("apiserver_delegated_authn_request_total"), {
      "code=<error>": 1,
      "code=201": 1,
    });
    assert.deepEqual(await value("apiserver_delegated_authz_request_total"), { "code=201": 1 });
  });

  for (const status of [
    { authenticated: "false", user: { username: "admin" } },
    { authenticated: 1, user: { username: "admin" } },
    { authenticated: true, user: { username: ["admin"] } },
    { authenticated: true, user: { username: "admin", groups: "system:masters" } },
    { authenticated: true, user: null },
    { authenticated: true },
  ])
    test(`a token review with the status ${JSON.stringify(status)} authenticates no one`, async () => {
      const { transport } = fakeReviews({ token: () => status, access: () => ({ allowed: true }) });
      await assert.rejects(access({ transport }).authorize(withToken, permission), rejected(401));
    });

  test("a failed review is not cached", async () => {
    let down = true;
    const { transport } = fakeReviews({
      token: () => (down ? new Error("down") : known),
      access: () => ({ allowed: true }),
    });
    const filter = access({ transport });
    await assert.rejects(filter.authorize(withToken, permission), rejected(401));
    down = false;
    await filter.authorize(withToken, permission);
  });

  const lost = () =>
    new TransportError("lost", { cause: new ConnectionLost("reset", { unprocessed: false, reused: true }) });
  const failed = (code: number) => new KubeApiError({ status: code, reason: "", message: "no" });
  const failures: [string, () => Error, number][] = [
    ["a connection that was lost", lost, 5],
    ["too many requests", () => failed(429), 5],
    ["a server error", () => failed(500), 5],
    ["an unreachable server", () => new TransportError("connection refused"), 1],
    ["a rejection", () => failed(403), 1],
  ];
  for (const [name, failure, attempts] of failures)
    test(`after ${name} a review is sent ${attempts === 1 ? "once" : `up to ${attempts} times`}`, async () => {
      const clock = new FakeClock();
      const { transport, requests } = fakeReviews({ token: failure });
      const rejection = assert.rejects(
        access({ transport, clock }).authorize(withToken, permission),
        rejected(401),
      );
      for (let second = 0; second < 10; second++) await clock.advance(1000);
      await rejection;
      assert.equal(requests.length, attempts);
    });

  test("a review that succeeds on retry is used", async () => {
    const clock = new FakeClock();
    const reviews = [lost(), { allowed: true }];
    const { transport } = fakeReviews({ token: () => known, access: () => reviews.shift() ?? {} });
    const authorized = access({ transport, clock }).authorize(withToken, permission);
    for (let step = 0; step < 10; step++) await clock.advance(100);
    assert.equal((await authorized).name, "u");
  });

  test("denied takes precedence over allowed, and the next subresource is checked", async () => {
    const { transport, requests } = fakeReviews({
      token: () => known,
      access: ({ resourceAttributes: { subresource } }) => ({
        allowed: true,
        denied: subresource === "pods",
      }),
    });
    await access({ transport }).authorize(withToken, permission);
    assert.equal(requests.length, 3);
  });

  test("a client with an invalid token is not anonymous", async () => {
    const { transport } = fakeReviews({ token: () => ({}), access: () => ({ allowed: true }) });
    const filter = access({ transport, anonymous: true });
    await assert.rejects(filter.authorize(withToken, permission), rejected(401));
    assert.equal((await filter.authorize(request(), permission)).name, "system:anonymous");
  });
});

describe("the token of a request", () => {
  const tokens: [Record<string, string>, string | undefined][] = [
    [{ authorization: "Bearer abc" }, "abc"],
    [{ authorization: "bearer abc" }, "abc"],
    [{ authorization: "  Bearer abc  " }, "abc"],
    [{ authorization: "Bearer" }, undefined],
    [{ authorization: "Basic abc" }, undefined],
    [{ authorization: "" }, undefined],
    [{}, undefined],
    [
      {
        upgrade: "websocket",
        "sec-websocket-protocol": "v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.YWJj",
      },
      "abc",
    ],
    [{ upgrade: "websocket", "sec-websocket-protocol": "base64url.bearer.authorization.k8s.io." }, undefined],
    [{ "sec-websocket-protocol": "base64url.bearer.authorization.k8s.io.YWJj" }, undefined],
  ];
  for (const [headers, token] of tokens)
    test(`${JSON.stringify(headers)}: ${token}`, () => assert.equal(bearerToken(request(headers)), token));

  test("is removed from the WebSocket protocols", () => {
    const upgrade = request({
      upgrade: "websocket",
      "sec-websocket-protocol": "a, base64url.bearer.authorization.k8s.io.YWJj, b",
    });
    bearerToken(upgrade);
    assert.equal(upgrade.headers["sec-websocket-protocol"], "a, b");
  });
});

// parity: gate KubeletFineGrainedAuthz=true as subresources
describe("the permissions that a request needs", () => {
  const permissions: [string, string, string, string[]][] = [
    ["GET", "/pods", "get", ["pods", "proxy"]],
    ["HEAD", "/pods", "", ["pods", "proxy"]],
    ["GET", "/runningpods/", "get", ["pods", "proxy"]],
    ["GET", "/healthz/ping", "get", ["healthz", "proxy"]],
    ["GET", "/configz", "get", ["configz", "proxy"]],
    ["GET", "/flagz", "get", ["configz"]],
    ["GET", "/statusz", "get", ["statusz"]],
    ["GET", "/stats/summary", "get", ["stats"]],
    ["GET", "/metrics/cadvisor", "get", ["metrics"]],
    ["GET", "/logs/x", "get", ["log"]],
    ["POST", "/checkpoint/a/b/c", "create", ["checkpoint"]],
    ["POST", "/exec/a/b/c", "create", ["proxy"]],
    ["GET", "/exec/a/b/c", "get", ["proxy"]],
    ["PUT", "/debug/flags/v", "update", ["proxy"]],
    ["DELETE", "/manifests/x", "delete", ["manifests", "proxy"]],
    ["GET", "/podsx", "get", ["proxy"]],
    ["GET", "/constructor", "get", ["proxy"]],
    ["BREW", "/pods", "", ["pods", "proxy"]],
  ];
  for (const [method, path, verb, subresources] of permissions)
    test(`${method} ${path}: ${verb} ${subresources}`, () =>
      assert.deepEqual(attributesOf(method, path), { verb, subresources }));
});
