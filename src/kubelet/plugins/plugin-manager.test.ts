import assert from "node:assert/strict";
import { chmod, mkdtemp, rename, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { eventually } from "../../../test/contracts/eventually.ts";
import { FakeClock, settle } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { createMetrics } from "../../lib/base/metrics.ts";
import type { PluginChannel } from "../../lib/clients/plugin-rpc/plugin-channel.ts";
import type { PluginHandler } from "./plugin-handler.ts";
import { PluginManager } from "./plugin-manager.ts";
import { registerPlugin } from "./register-plugin.ts";

const never = new AbortController().signal;

interface FakeResponses {
  info?: { type?: string; name?: string; endpoint?: string; supportedVersions?: string[] };
  notify?: Error;
}

/** A plugin without a socket: its calls are recorded in `calls`. */
function channel(responses: FakeResponses, calls: unknown[]): PluginChannel {
  return {
    connected: async () => {},
    close: () => void calls.push("closed"),
    call: (async (method: { name: string }, request: unknown) => {
      if (method.name === "GetInfo")
        return {
          type: "CSIPlugin",
          name: "p",
          endpoint: "",
          supportedVersions: ["1.0.0"],
          ...responses.info,
        };
      calls.push(request);
      if (responses.notify) throw responses.notify;
      return {};
    }) as unknown as PluginChannel["call"],
  };
}

function handler(log: string[], more: Partial<PluginHandler> = {}): PluginHandler {
  return {
    validate: ({ name }) => void log.push(`validate ${name}`),
    register: async ({ name, endpoint }) => void log.push(`register ${name} ${endpoint}`),
    deregister: async ({ name }) => void log.push(`deregister ${name}`),
    ...more,
  };
}

const fails = (message: string) => () => {
  throw new Error(message);
};

describe("one registration", () => {
  const rejected = (error: string) => [{ pluginRegistered: false, error }, "closed"];
  const cases: {
    rule: string;
    responses?: FakeResponses;
    more?: Partial<PluginHandler>;
    error?: string;
    calls: unknown[];
    log: string[];
  }[] = [
    {
      rule: "notifies a plugin that it is registered, by the socket it was found at unless it names another",
      calls: [{ pluginRegistered: true, error: "" }, "closed"],
      log: ["validate p", "register p /reg/p.sock"],
    },
    {
      rule: "takes the endpoint that the plugin names",
      responses: { info: { endpoint: "/csi.sock" } },
      calls: [{ pluginRegistered: true, error: "" }, "closed"],
      log: ["validate p", "register p /csi.sock"],
    },
    {
      rule: "rejects a type with the name of a property of each object",
      responses: { info: { type: "constructor" } },
      error:
        "RegisterPlugin error -- no handler registered for plugin type: constructor at socket /reg/p.sock",
      calls: rejected(
        "RegisterPlugin error -- no handler registered for plugin type: constructor at socket /reg/p.sock",
      ),
      log: [],
    },
    {
      rule: "rejects a type without a handler",
      responses: { info: { type: "Magic" } },
      error: "RegisterPlugin error -- no handler registered for plugin type: Magic at socket /reg/p.sock",
      calls: rejected(
        "RegisterPlugin error -- no handler registered for plugin type: Magic at socket /reg/p.sock",
      ),
      log: [],
    },
    {
      rule: "rejects what is not valid",
      more: { validate: fails("too old") },
      error: "RegisterPlugin error -- plugin validation failed with err: too old",
      calls: rejected("RegisterPlugin error -- plugin validation failed with err: too old"),
      log: [],
    },
    {
      rule: "sends the plugin the reason for a failed registration",
      more: { register: async () => fails("no node")() },
      error: "RegisterPlugin error -- plugin registration failed with err: no node",
      calls: rejected("RegisterPlugin error -- plugin registration failed with err: no node"),
      log: ["validate p"],
    },
    {
      rule: "deregisters a plugin that cannot be notified of its registration",
      responses: { notify: new Error("gone") },
      error: "RegisterPlugin error -- failed to send registration status at socket /reg/p.sock, err: gone",
      calls: [{ pluginRegistered: true, error: "" }, "closed"],
      log: ["validate p", "register p /reg/p.sock", "deregister p"],
    },
  ];
  for (const { rule, responses = {}, more, error, calls, log } of cases)
    it(rule, async () => {
      const notified: unknown[] = [];
      const done: string[] = [];
      const handlers = { CSIPlugin: handler(done, more) };
      const work = registerPlugin("/reg/p.sock", handlers, () => channel(responses, notified), never);
      if (error) await assert.rejects(work, { message: error });
      else await work;
      assert.deepEqual(notified, calls);
      assert.deepEqual(done, log);
    });
});

describe("the plugin manager", () => {
  let dir: string;
  let log: string[];
  let clock: FakeClock;
  let abort: AbortController;
  const servers: Server[] = [];

  const listen = async (name: string) => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(dir, name), resolve));
    servers.push(server);
    return server;
  };
  const start = async (more: Partial<PluginHandler> = {}, responses: FakeResponses = {}) => {
    const metrics = createMetrics();
    const manager = new PluginManager({
      dir,
      handlers: { CSIPlugin: handler(log, more) },
      clock,
      logger: silentLogger,
      metrics,
      open: () => channel(responses, []),
    });
    await manager.start(abort.signal);
    return { manager, metrics };
  };
  const logged = (count: number) => eventually(() => (log.length >= count ? log : undefined), 5000);

  beforeEach(async () => {
    dir = await mkdtemp("/tmp/plugins-");
    log = [];
    clock = new FakeClock();
    abort = new AbortController();
  });
  afterEach(async () => {
    abort.abort();
    for (const server of servers.splice(0)) server.close();
    await rm(dir, { recursive: true, force: true });
  });

  it("registers a plugin when its socket is created, and deregisters it when the socket is removed", async () => {
    const { metrics } = await start();
    const server = await listen("p.sock");
    await logged(2);
    const shown = await metrics.registry.metrics();
    assert.match(
      shown,
      /plugin_manager_total_plugins\{socket_path="[^"]+p\.sock",state="actual_state_of_world"\} 1/,
    );
    server.close();
    await logged(3);
    assert.deepEqual(log, ["validate p", `register p ${join(dir, "p.sock")}`, "deregister p"]);
  });

  it("registers a plugin again whose socket was replaced", async () => {
    await start();
    await listen("p.sock");
    await logged(2);
    await listen(".next.sock");
    await rename(join(dir, ".next.sock"), join(dir, "p.sock"));
    await logged(5);
    const again = ["validate p", `register p ${join(dir, "p.sock")}`];
    assert.deepEqual(log, [...again, "deregister p", ...again]);
  });

  it("does not register a plugin again that changes the mode of its socket", async () => {
    await start();
    await listen("p.sock");
    await logged(2);
    await chmod(join(dir, "p.sock"), 0o600);
    await listen("q.sock"); // by now the directory has been scanned again
    await logged(4);
    assert.equal(log.includes("deregister p"), false);
  });

  it("deregisters a plugin that moved to another socket before it re-registers it", async () => {
    const left = Promise.withResolvers<void>();
    const deregister = async () => {
      log.push("leaving");
      await left.promise;
      log.push("left");
    };
    await start({ deregister });
    await listen("p.sock");
    await logged(2);
    await rename(join(dir, "p.sock"), join(dir, "q.sock"));
    await logged(3);
    await settle(20);
    left.resolve();
    await logged(6);
    assert.deepEqual(log.slice(2), ["leaving", "left", "validate p", `register p ${join(dir, "q.sock")}`]);
  });

  it("retries a failed registration after half a second, then after one", async () => {
    let attempts = 0;
    const register = async () => {
      attempts++;
      throw new Error("not yet");
    };
    await listen("p.sock");
    await start({ register });
    await eventually(() => (attempts === 1 ? true : undefined));
    await clock.advance(499);
    assert.equal(attempts, 1);
    await clock.advance(1);
    assert.equal(attempts, 2);
    await clock.advance(999);
    assert.equal(attempts, 2);
    await clock.advance(1);
    assert.equal(attempts, 3);
  });

  it("retries all failed registrations immediately on request", async () => {
    let attempts = 0;
    const register = async () => {
      attempts++;
      if (attempts < 8) throw new Error("no API");
    };
    await listen("p.sock");
    const { manager } = await start({ register });
    await eventually(() => (attempts === 1 ? true : undefined));
    await clock.advance(40_000);
    assert.equal(attempts, 7, "the next one would be 32 s later");
    manager.retry();
    await eventually(() => (attempts === 8 ? true : undefined));
    manager.retry();
    await clock.advance(200_000);
    assert.equal(attempts, 8, "it is registered");
  });

  it("a plugin that hangs does not block others, and is aborted when its socket is removed", async () => {
    const register: PluginHandler["register"] = ({ endpoint }, signal) => {
      log.push(`begin ${endpoint.slice(dir.length + 1)}`);
      if (!endpoint.endsWith("stuck.sock")) return Promise.resolve();
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          log.push("given up");
          reject(signal.reason);
        });
      });
    };
    await start({ register, validate: () => {} });
    const stuck = await listen("stuck.sock");
    await logged(1);
    await listen("good.sock");
    await logged(2);
    stuck.close();
    await logged(3);
    assert.deepEqual(log, ["begin stuck.sock", "begin good.sock", "given up"]);
  });

  it("leaves plugins registered when it stops", async () => {
    const { manager } = await start();
    await listen("p.sock");
    await logged(2);
    abort.abort();
    await manager.done;
    assert.equal(log.includes("deregister p"), false);
  });
});
