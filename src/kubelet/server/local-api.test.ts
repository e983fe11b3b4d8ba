import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually } from "../../../test/contracts/eventually.ts";
import type { Health } from "../../lib/base/component.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { HttpError } from "./http-error.ts";
import { LocalApi } from "./local-api.ts";
import type { Route } from "./route.ts";

class FakeOverview {
  state = 0;
  padding = "";
  readonly listeners = new Set<() => void>();
  rows() {
    return [{ state: this.state, padding: this.padding }];
  }
  runtime(): Health {
    return { ok: true };
  }
  onChange(listener: () => void) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
  change(state: number) {
    this.state = state;
    for (const listener of this.listeners) listener();
  }
}

async function setUp(t: TestContext) {
  const dir = await mkdtemp(join(tmpdir(), "local-api-"));
  const socketPath = join(dir, "root", "kubelet.sock");
  const overview = new FakeOverview();
  const routes: Route[] = [
    {
      method: "PUT",
      path: "/things/{name}",
      attributes: () => ({ verb: "update", subresources: ["things"] }),
      handle: async ({ params, response, caller }) => {
        if (params.name === "bad") throw new HttpError(422, "no such thing\n");
        if (params.name === "fault") throw new Error("a fault");
        response.end(`${params.name} of ${caller.name}`);
      },
    },
  ];
  const make = () =>
    new LocalApi({
      socketPath,
      overview,
      logger: silentLogger,
      routes,
      explainer: {
        explain: (query) => {
          if ("pod" in query && query.pod === "weird") throw new RangeError("Invalid time value");
          return "pod" in query && query.pod !== "web" ? undefined : { query };
        },
      },
    });
  const running: { api: LocalApi; stop: AbortController }[] = [];
  const start = async () => {
    const api = make();
    const stop = new AbortController();
    await api.start(stop.signal);
    running.push({ api, stop });
    return {
      api,
      end: async () => {
        stop.abort();
        await api.done;
      },
    };
  };
  t.after(async () => {
    for (const { api, stop } of running) {
      stop.abort();
      await api.done;
    }
    await rm(dir, { recursive: true });
  });
  const open = (path: string, method = "GET") =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const call = request({ socketPath, path, method }, resolve);
      call.on("error", reject);
      call.end();
    });
  const send = async (path: string, method?: string) => {
    const response = await open(path, method);
    let body = "";
    for await (const part of response) body += part;
    return { status: response.statusCode, body };
  };
  return { dir, socketPath, overview, start, make, open, send };
}

/** The states that arrive on a watch, as they arrive. */
function states(response: IncomingMessage): number[] {
  const received: number[] = [];
  let rest = "";
  response.setEncoding("utf8");
  response.on("data", (part: string) => {
    const lines = (rest + part).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines)
      received.push((JSON.parse(line) as { pods: { state: number }[] }).pods[0]!.state);
  });
  response.on("error", () => {});
  return received;
}

test("the pods and the state of the runtime are served on the socket", async (t) => {
  const { start, send, socketPath } = await setUp(t);
  await start();
  assert.deepEqual(await send("/pods"), {
    status: 200,
    body: '{"runtime":{"ok":true},"pods":[{"state":0,"padding":""}]}\n',
  });
  assert.equal((await stat(socketPath)).mode & 0o777, 0o600);
});

for (const [path, status, body] of [
  ["/explain", 200, '{"query":{"all":false}}'],
  ["/explain?all", 200, '{"query":{"all":true}}'],
  ["/explain?pod=web", 200, '{"query":{"pod":"web"}}'],
  ["/explain?pod=other", 404, "{}"],
] as const)
  test(`${path} requests what it names`, async (t) => {
    const { start, send } = await setUp(t);
    await start();
    assert.deepEqual(await send(path), { status, body: `${body}\n` });
  });

test("a pod that cannot be explained fails that request only", async (t) => {
  const { start, send } = await setUp(t);
  await start();
  assert.deepEqual(await send("/explain?pod=weird"), { status: 500, body: "Invalid time value\n" });
  assert.equal((await send("/pods")).status, 200);
});

for (const [method, path] of [
  ["GET", "/"],
  ["POST", "/explain"],
  ["POST", "/pods"],
  ["GET", "//"],
  ["GET", "//["],
] as const)
  test(`${method} ${path} is not found`, async (t) => {
    const { start, send } = await setUp(t);
    await start();
    assert.equal((await send(path, method)).status, 404);
    assert.equal((await send("/pods")).status, 200);
  });

for (const [method, path, status, body] of [
  ["PUT", "/things/one", 200, /^one of /],
  ["PUT", "/things/bad", 422, /^no such thing\n$/],
  ["PUT", "/things/fault", 500, /a fault/],
  ["GET", "/things/one", 405, /Not Allowed/],
  ["PUT", "/things/one/two", 404, /Not Found/],
] as const)
  test(`${method} ${path} gets ${status} from additional routes`, async (t) => {
    const { start, send } = await setUp(t);
    await start();
    const response = await send(path, method);
    assert.equal(response.status, status);
    assert.match(response.body, body);
  });

test("a watch sends the current state and each change, until the client disconnects", async (t) => {
  const { start, open, overview } = await setUp(t);
  await start();
  const response = await open("/pods?watch");
  const received = states(response);
  await eventually(() => received.length === 1 || undefined);
  overview.change(1);
  await eventually(() => received.length === 2 || undefined);
  overview.change(2);
  await eventually(() => received.length === 3 || undefined);
  assert.deepEqual(received, [0, 1, 2]);
  response.destroy();
  await eventually(() => overview.listeners.size === 0 || undefined);
});

test("a slow reader gets the newest state when it reads again, not all states", async (t) => {
  const { start, open, overview } = await setUp(t);
  await start();
  overview.padding = "x".repeat(100_000);
  const response = await open("/pods?watch");
  await eventually(() => overview.listeners.size === 1 || undefined);
  // Nothing is read: data beyond the socket buffer must not accumulate.
  for (let i = 1; i <= 500; i++) {
    overview.change(i);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const received = states(response);
  await eventually(() => received.at(-1) === 500 || undefined);
  assert.ok(received.length < 100, `${received.length} states were kept`);
  overview.change(501);
  await eventually(() => received.at(-1) === 501 || undefined);
  response.destroy();
});

test("a watch ends at a pod that cannot be shown", async (t) => {
  const { overview, start, open } = await setUp(t);
  await start();
  const response = await open("/pods?watch");
  overview.rows = () => {
    throw new RangeError("Invalid time value");
  };
  const ended = new Promise((resolve) =>
    response
      .on("error", () => {})
      .once("close", resolve)
      .resume(),
  );
  overview.change(1);
  await ended;
});

test("an ended watch frees its slot", async (t) => {
  const { start, send, socketPath } = await setUp(t);
  const first = await start();
  await first.end();
  assert.equal(existsSync(socketPath), false);
  await start();
  assert.equal((await send("/pods")).status, 200);
});

test("a socket without a listener is taken over", async (t) => {
  const { start, send, socketPath, make } = await setUp(t);
  const stop = new AbortController();
  const api = make();
  await api.start(stop.signal);
  stop.abort();
  await api.done;
  // The socket file of a killed agent.
  const stale = createServer();
  await new Promise<void>((resolve) => stale.listen(`${socketPath}.other`, resolve));
  await rename(`${socketPath}.other`, socketPath);
  await new Promise((resolve) => stale.close(resolve));
  assert.ok(existsSync(socketPath));
  await start();
  assert.equal((await send("/pods")).status, 200);
});

test("a plain file at the path of the socket is replaced", async (t) => {
  const { start, send, socketPath } = await setUp(t);
  const first = await start();
  await first.end();
  await writeFile(socketPath, "");
  await start();
  assert.equal((await send("/pods")).status, 200);
});

test("a directory at the path of the socket is kept, and named with what to do", async (t) => {
  const { start, socketPath } = await setUp(t);
  await mkdir(socketPath, { recursive: true });
  await writeFile(join(socketPath, "kept"), "");
  await assert.rejects(start(), {
    message: `${socketPath}: is a directory, and the local API needs this path for its socket: remove it`,
  });
  assert.ok(existsSync(join(socketPath, "kept")));
});

test("the server stops even if watchers are connected", async (t) => {
  const { start, open, socketPath } = await setUp(t);
  const { end } = await start();
  const response = await open("/pods?watch");
  states(response);
  const idle = connect(socketPath);
  idle.on("error", () => {});
  await new Promise((resolve) => idle.on("connect", resolve));
  await end();
  assert.equal(existsSync(socketPath), false);
});
