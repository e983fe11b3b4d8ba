import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type AccessFilter, allowAll } from "../auth/node-access.ts";
import { fakeNodeRoutes } from "../fake-node.ts";
import { send, startServer, type TestServer } from "../fixtures.ts";
import { healthRoutes } from "./routes.ts";

let server: TestServer;
const levels: number[] = [];

before(async () => {
  server = await startServer({
    routes: fakeNodeRoutes({ url: () => "", verbosity: (level) => levels.push(level) }),
    access: allowAll,
  });
});

after(() => server.stop());

const json = async (path: string, method = "GET") =>
  JSON.parse((await send(server.port, path, { method })).body);

describe("information about the node", () => {
  // parity: endpoint 10250 GET /pods
  test("pods: the desired pods, with their known status", async () => {
    const list = await json("/pods");
    assert.deepEqual([list.kind, list.apiVersion, list.items.length], ["PodList", "v1", 1]);
    const [pod] = list.items;
    assert.deepEqual([pod.metadata.name, pod.status, pod.kind], ["web", { phase: "Running" }, undefined]);
  });

  // parity: endpoint 10250 GET /runningpods/
  test("runningpods: the pods of the runtime", async () => {
    const { items } = await json("/runningpods/");
    assert.deepEqual(
      items[0].spec.containers.map(({ name }: { name: string }) => name),
      ["app", "shell"],
    );
    assert.equal((await send(server.port, "/runningpods")).headers.location, "/runningpods/");
  });

  test("blocked lists what not-ready pods, all pods, or one pod wait for", async () => {
    for (const [query, expected] of [
      ["", { all: false }],
      ["?all", { all: true }],
      ["?pod=default/web", { pod: "default/web" }],
    ] as const)
      assert.deepEqual((await json(`/debug/blocked${query}`)).query, expected);
    assert.equal((await send(server.port, "/debug/blocked?pod=other")).status, 404);
  });

  // parity: endpoint 10250 GET /configz
  test("configz returns the configuration under its component name", async () => {
    assert.equal((await json("/configz")).kubeletconfig.port, 10250);
  });

  // parity: endpoint 10250 PUT /debug/flags/v
  test("the verbosity can be set", async () => {
    const response = await send(server.port, "/debug/flags/v", { method: "PUT", body: "5" });
    assert.deepEqual(
      [response.status, response.body, levels],
      [200, "successfully set klog.logging.verbosity to 5\n", [5]],
    );
  });

  // parity: endpoint 10250 POST /checkpoint/{namespace}/{pod}/{container}
  test("a checkpoint returns its path", async () => {
    const { items } = await json("/checkpoint/default/web/app", "POST");
    assert.match(items[0], /^\/checkpoints\/checkpoint-web_default-app-\d{4}-.*Z\.tar$/);
  });

  for (const [what, path, status, message] of [
    ["of an unknown pod", "a/b/c", 404, /./],
    ["of an unknown container", "default/web/c", 404, /./],
    ["whose timeout is not a number", "default/web/app?timeout=x", 404, /./],
    [
      "that fails",
      "default/web/app?timeout=13",
      500,
      /^checkpointing of default\/web\/app failed \(rpc error: code = Unknown desc = simulated failure\)$/,
    ],
  ] as const)
    test(`a checkpoint ${what} gets ${status}`, async () => {
      const response = await send(server.port, `/checkpoint/${path}`, { method: "POST" });
      assert.equal(response.status, status);
      assert.match(response.body, message);
    });

  test("run reports the exit code of a command that fails", async () => {
    const response = await send(server.port, "/run/default/web/app?cmd=false", { method: "POST" });
    assert.equal(response.status, 500);
    assert.match(response.body, /exited with 1/);
  });

  // parity: endpoint 10250 POST /run/{namespace}/{pod}/{container}
  test("run returns the output of the command", async () => {
    assert.equal(
      (await send(server.port, "/run/default/web/app?cmd=ls+-l", { method: "POST" })).body,
      "ran ls|-l",
    );
  });

  test("one CPU profile is served at a time", async () => {
    const path = "/debug/pprof/profile?seconds=1";
    const [first, second] = await Promise.all([send(server.port, path), send(server.port, path)]);
    assert.deepEqual(
      [first.status, second.status].sort((a, b) => a - b),
      [200, 429],
    );
    const profile = JSON.parse(first.status === 200 ? first.body : second.body);
    assert.ok(profile.nodes.length > 0);
  });
});

describe("values in memory", () => {
  // Only built here, so that the source of this test, which is in memory too, does not contain it.
  const secret = ["value", "of", "a", "Secret", process.pid].join("-");
  const held = { secret };
  const request = async (path: string, heapSnapshots: boolean) => {
    const routes = fakeNodeRoutes({ url: () => "", settings: { heapSnapshots } });
    const own = await startServer({ routes, access: allowAll });
    try {
      return await send(own.port, path);
    } finally {
      await own.stop();
    }
  };

  test("a heap snapshot has them, and is served only if it is enabled", async () => {
    const refused = await request("/debug/pprof/snapshot", false);
    assert.equal(refused.status, 405);
    assert.match(refused.body, /--enable-heap-snapshots/);
    const { status, body } = await request("/debug/pprof/snapshot", true);
    assert.equal(status, 200);
    assert.ok(body.startsWith('{"snapshot":') && body.trimEnd().endsWith("]}"));
    assert.ok(body.includes(held.secret));
  });

  for (const path of ["heap?seconds=1", "profile?seconds=1", "cmdline", ""])
    test(`/debug/pprof/${path} has none`, async () => {
      const { status, body } = await request(`/debug/pprof/${path}`, false);
      assert.equal(status, 200);
      assert.ok(!body.includes(held.secret));
    });
});

// parity: endpoint 10250 GET /healthz, endpoint 10250 GET /healthz/ping
describe("health", () => {
  const checks = [
    { name: "ping", health: () => ({ ok: true }) as const },
    { name: "bad", health: () => ({ ok: false, reason: "internal detail" }) as const },
    {
      name: "worse",
      health: () => {
        throw new Error("broken");
      },
    },
  ];
  const cases: [string, number, string][] = [
    [
      "/healthz",
      500,
      "[+]ping ok\n[-]bad failed: reason withheld\n[-]worse failed: reason withheld\nhealthz check failed\n",
    ],
    ["/healthz?exclude=bad&exclude=worse", 200, "ok"],
    [
      "/healthz?verbose&exclude=bad&exclude=worse&exclude=x",
      200,
      '[+]ping ok\n[+]bad excluded: ok\n[+]worse excluded: ok\nwarn: some health checks cannot be excluded: no matches for "x"\nhealthz check passed\n',
    ],
    ["/healthz/ping", 200, "ok"],
    ["/healthz/bad", 500, "internal server error: internal detail\n"],
    ["/healthz/worse", 500, "internal server error: broken\n"],
  ];
  for (const [path, status, body] of cases)
    test(`${path}: ${status}`, async () => {
      const own = await startServer({ routes: healthRoutes(() => checks), access: allowAll });
      const response = await send(own.port, path);
      await own.stop();
      assert.deepEqual([response.status, response.body], [status, body]);
    });
});

// parity: field enableDebuggingHandlers
test("callers get an error if debugging handlers are disabled", async () => {
  const routes = fakeNodeRoutes({ url: () => "", settings: { enableDebuggingHandlers: false } });
  const own = await startServer({ routes, access: allowAll });
  for (const path of [
    "/exec/default/web/app",
    "/logs/",
    "/containerLogs/a/b/c",
    "/runningpods/",
    "/debug/pprof/heap",
  ]) {
    const response = await send(own.port, path, { method: "POST" });
    assert.deepEqual([response.status, response.body], [405, "Debug endpoints are disabled.\n"], path);
  }
  assert.equal((await send(own.port, "/configz")).status, 404);
  assert.equal((await send(own.port, "/pods")).status, 200);
  await own.stop();
});

// parity: field enableProfilingHandler, field enableDebugFlagsHandler
for (const [setting, path, text] of [
  ["enableProfilingHandler", "/debug/pprof/", "profiling endpoint is disabled."],
  ["enableDebugFlagsHandler", "/debug/flags/v", "flags endpoint is disabled."],
] as const)
  test(`${setting}: false disables ${path} only`, async () => {
    const statuses = async (enabled: boolean) => {
      const routes = fakeNodeRoutes({ url: () => "", settings: { [setting]: enabled } });
      const own = await startServer({ routes, access: allowAll });
      const request = path.startsWith("/debug/flags") ? { method: "PUT", body: "3" } : {};
      const response = await send(own.port, path, request);
      const other = await send(own.port, "/runningpods/");
      await own.stop();
      return [response.status, other.status, response.body];
    };
    assert.deepEqual((await statuses(true)).slice(0, 2), [200, 200]);
    assert.deepEqual(await statuses(false), [405, 200, `${text}\n`]);
  });

test("a path disabled for all methods needs the permission of the requested one", async () => {
  const routes = fakeNodeRoutes({ url: () => "", settings: { enableDebugFlagsHandler: false } });
  const names: string[] = [];
  const access: AccessFilter = {
    authorize: async (_, { verb, subresources }) => {
      names.push(`${verb} ${subresources}`);
      return { name: "u", groups: [] };
    },
  };
  const own = await startServer({ routes, access });
  for (const method of ["GET", "PUT", "DELETE"]) await send(own.port, "/debug/flags/v", { method });
  await own.stop();
  assert.deepEqual(names, ["get proxy", "update proxy", "delete proxy"]);
});
