import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import type { Clock } from "../../../lib/base/clock.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { type Logger, silentLogger } from "../../../lib/base/logger.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { HttpSource, keepsHeaders } from "./http-source.ts";
import { shownUrl } from "./manifest.ts";

const pollMs = 20_000;
type Respond = (response: ServerResponse, path: string) => void;
const body =
  (value: unknown): Respond =>
  (response) =>
    response.end(typeof value === "string" ? value : JSON.stringify(value));
const status =
  (code: number): Respond =>
  (response) => {
    response.statusCode = code;
    response.end("sorry");
  };

function pod(name: string, image: unknown = "i:1") {
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: { containers: [{ name: "c", image }] } };
}
const list = (...items: unknown[]) => ({ apiVersion: "v1", kind: "PodList", items });

/** A source that polls a server in simulated time. */
async function sourceOn(t: TestContext, first: Respond) {
  let respond = first;
  const requests: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    requests.push(request.headers);
    respond(response, request.url ?? "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pods`;
  const clock = new FakeClock();
  let pauses = 0;
  /** The source pauses when it has handled a response. */
  const counting: Clock = {
    wall: () => clock.wall(),
    monotonic: () => clock.monotonic(),
    after(ms, callback) {
      if (ms === pollMs) pauses++;
      return clock.after(ms, callback);
    },
  };
  const lines: string[] = [];
  const logger: Logger = { ...silentLogger, error: (line) => lines.push(line.replace(url, "URL")) };
  const emits: Pod[][] = [];
  const source = new HttpSource({
    url,
    headers: { "x-token": ["a", "b"] },
    nodeName: "n",
    pollMs,
    clock: counting,
    logger,
  });
  const stop = new AbortController();
  t.after(async () => {
    stop.abort();
    await source.done;
    server.closeAllConnections();
    server.close();
  });
  await source.start(stop.signal, (pods) => emits.push(pods));
  const until = async (what: string, condition: () => boolean) => {
    const due = Date.now() + 10_000;
    while (!condition()) {
      assert.ok(Date.now() < due, `timed out waiting for ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const request = async (next: Respond) => {
    respond = next;
    const before = requests.length;
    await clock.advance(pollMs);
    await until("a request", () => requests.length > before);
  };
  const poll = async (next: Respond) => {
    const before = pauses;
    await request(next);
    await until("the response to be handled", () => pauses > before);
  };
  await until("the first response", () => pauses > 0);
  return {
    source,
    clock,
    emits,
    lines,
    requests,
    request,
    poll,
    until,
    names: () => emits.at(-1)?.map((p) => p.metadata.name),
  };
}

// parity: field staticPodURL as url, field staticPodURLHeader as headers, field httpCheckFrequency as pollMs
test("a Pod, or a PodList, with the configured headers", async (t) => {
  const s = await sourceOn(t, body(pod("a")));
  assert.deepEqual(s.names(), ["a-n"]);
  assert.equal(s.requests[0]?.["x-token"], "a, b");
  await s.poll(body(list(pod("a"), { metadata: { name: "b" }, spec: pod("b").spec })));
  assert.deepEqual(s.names(), ["a-n", "b-n"], "items of a list need no kind");
  await s.poll(body(list()));
  assert.deepEqual(s.names(), []);
  await s.poll(
    body("apiVersion: v1\nkind: Pod\nmetadata: {name: z}\nspec: {containers: [{name: c, image: i}]}\n"),
  );
  assert.deepEqual(s.names(), ["z-n"]);
});

test("an unchanged body is not emitted again", async (t) => {
  const s = await sourceOn(t, body(pod("a")));
  await s.poll(body(pod("a")));
  assert.equal(s.requests.length, 2);
  assert.equal(s.emits.length, 1);
});

test("a problem is logged once, and the last valid set is kept", async (t) => {
  const s = await sourceOn(t, body(pod("a")));
  const rows: [respond: Respond, line: string | RegExp][] = [
    [status(500), "URL: 500 Internal Server Error"],
    [status(404), "URL: 404 Not Found"],
    [body(pod("a", 5)), /^URL:1: spec\.containers\[0\]\.image: expected a string, got 5/],
    [
      body(list(pod("ok"), pod("bad", ""))),
      /^URL:1: items\[1\]\.spec\.containers\[0\]\.image: Required value/,
    ],
    [body({ ...pod("a"), kind: "Service" }), /^URL:1: kind: expected "Pod"/],
    [body("x".repeat(10 * 1024 * 1024 + 1)), "URL: more than 10 MiB"],
    [(response) => response.destroy(), /^URL: (socket hang up|read ECONNRESET)/],
  ];
  for (const [respond, line] of rows) {
    s.lines.length = 0;
    await s.poll(respond);
    await s.poll(respond);
    assert.equal(s.lines.length, 1, `${line}: ${s.lines}`);
    if (typeof line === "string") assert.equal(s.lines[0], line);
    else assert.match(s.lines[0] ?? "", line);
    assert.equal(s.source.problems().length, 1);
  }
  assert.equal(s.emits.length, 1);
  await s.poll(body(pod("b")));
  assert.deepEqual(s.names(), ["b-n"]);
  assert.deepEqual(s.source.problems(), []);
});

test("an empty response is an empty set and a problem; a failure keeps the pods", async (t) => {
  const empty = await sourceOn(t, body(""));
  assert.deepEqual(empty.emits, [[]]);
  await empty.poll(body(pod("a")));
  assert.deepEqual(empty.names(), ["a-n"]);
  await empty.poll(status(503));
  assert.deepEqual(empty.names(), ["a-n"]);
  empty.lines.length = 0;
  await empty.poll(body(""));
  assert.deepEqual(empty.names(), []);
  assert.deepEqual(empty.lines, ["URL: zero-length data received"]);
  await empty.poll(body(pod("a")));
  assert.deepEqual(empty.names(), ["a-n"], "the same pod again, after an empty response");
  const failed = await sourceOn(t, status(503));
  assert.deepEqual(failed.emits, []);
  await failed.poll(body(pod("a")));
  assert.deepEqual(failed.names(), ["a-n"]);
});

test("a request without a response times out after 10 s", async (t) => {
  const s = await sourceOn(t, body(pod("a")));
  const open: ServerResponse[] = [];
  await s.request((response) => open.push(response));
  await s.clock.advance(9_999);
  assert.deepEqual(s.source.problems(), []);
  await s.clock.advance(1);
  await s.until("the timeout", () => s.source.problems().length > 0);
  assert.deepEqual(s.lines, ["URL: no response within 10 s"]);
});

test("a response that switches protocols is a problem", { timeout: 30_000 }, async (t) => {
  const { source, poll } = await sourceOn(t, body(list()));
  await poll(({ socket }) =>
    socket?.write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
  );
  assert.deepEqual(
    source.problems().map(({ message }) => message),
    ["101 Switching Protocols"],
  );
});

test("the body of a redirect is not read, which may have no end", { timeout: 30_000 }, async (t) => {
  const closed = Promise.withResolvers<void>();
  const s = await sourceOn(t, (response, path) => {
    if (path === "/there") return body(pod("a"))(response, path);
    response.writeHead(302, { location: "/there" });
    response.on("close", closed.resolve);
    const more = () => {
      if (!response.destroyed && response.write("x".repeat(1000))) setImmediate(more);
    };
    response.on("drain", more);
    more();
  });
  await closed.promise;
  assert.deepEqual(s.names(), ["a-n"]);
});

test("the proxy of the environment is used", async (t) => {
  const hosts: unknown[] = [];
  const proxy = createServer((request, response) => {
    hosts.push(request.url);
    response.end(JSON.stringify(pod("far")));
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const HTTP_PROXY = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const stop = new AbortController();
  const emitted = Promise.withResolvers<Pod[]>();
  const source = new HttpSource({
    url: "http://manifests.example/pods",
    nodeName: "n",
    pollMs,
    env: { HTTP_PROXY },
    clock: new FakeClock(),
    logger: silentLogger,
  });
  await source.start(stop.signal, emitted.resolve);
  const names = (await emitted.promise).map((p) => p.metadata.name);
  stop.abort();
  await source.done;
  assert.deepEqual(names, ["far-n"]);
  assert.deepEqual(hosts, ["http://manifests.example/pods"]);
});

test("a redirect is followed", async (t) => {
  const s = await sourceOn(t, (response, path) => {
    if (path === "/there") return body(pod("a"))(response, path);
    response.writeHead(302, { location: "/there" }).end();
  });
  assert.deepEqual(s.names(), ["a-n"]);
});

const shown: [url: string, want: string][] = [
  ["https://example.com:8443/pods", "https://example.com:8443/pods"],
  ["http://name:secret@example.com/pods", "http://name:xxxxx@example.com/pods"],
  ["http://name@example.com/pods?token=secret", "http://name@example.com/pods?xxxxx"],
  ["secret", "the URL of the manifests"],
];
for (const [url, want] of shown)
  test(`problems with ${want} contain no password`, () => assert.equal(shownUrl(url), want));

const redirects: [from: string, to: string, kept: boolean][] = [
  ["https://a/", "https://a/x", true],
  ["http://a:80/", "http://a/x", true],
  ["http://a/", "https://a/", true],
  ["https://a/", "http://a/", false],
  ["https://a:1/", "http://a:1/", false],
  ["https://a/", "https://b/", false],
  ["https://a/", "https://a:444/", false],
];
for (const [from, to, kept] of redirects)
  test(`headers are ${kept ? "kept" : "dropped"} in a redirect from ${from} to ${to}`, () =>
    assert.equal(keepsHeaders(new URL(from), new URL(to)), kept));
