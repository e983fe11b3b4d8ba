import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { describe, it } from "node:test";
import {
  base64,
  fixture,
  json,
  kubeconfig,
  status,
  TestApiServer,
} from "../../../../test/kube/api-server.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { FakeClock } from "../../base/fake-clock.ts";
import { createMetrics } from "../../base/metrics.ts";
import { epochMs, plusMs } from "../../base/time.ts";
import { KubeApiError, TransportError } from "./api-error.ts";
import { loadKubeconfig } from "./kubeconfig.ts";
import { requestMetrics } from "./request-metrics.ts";
import { HttpKubeTransport, type TransportOptions } from "./transport.ts";

/** A real clock that can be set: files are checked once a second, tokens every minute. */
class MovableClock implements Clock {
  #ahead = 0;
  wall = () => plusMs(systemClock.wall(), this.#ahead);
  monotonic = () => plusMs(systemClock.monotonic(), this.#ahead);
  after = systemClock.after;
  move(ms: number): void {
    this.#ahead += ms;
  }
}

const authority = { "certificate-authority-data": base64(fixture("ca.pem")) };

/** Returns the identity that the server sees; an unknown client gets a 401. */
async function whoAmI(t: TestContext, protocol: "h2" | "https" = "h2", accepts = (_who: string) => true) {
  const server = await TestApiServer.start(protocol, (request, response, seen) => {
    const who = seen.headers.authorization ?? seen.client;
    if (typeof who !== "string" || !accepts(who)) {
      json(response, 401, status(401, "Unauthorized", "Unauthorized"));
    } else if (request.url === "/watch") {
      response.writeHead(200);
      response.write(`${who}\n`);
    } else json(response, 200, { who });
  });
  t.after(() => server.close());
  return server;
}

async function directory(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "kube-client-"));
  t.after(() => rm(path, { recursive: true }));
  return path;
}

async function connect(
  t: TestContext,
  options: { dir: string; cluster: object; user: object } & Partial<TransportOptions>,
) {
  const file = join(options.dir, "kubeconfig");
  await writeFile(file, kubeconfig(options.cluster, options.user));
  const access = await loadKubeconfig(file);
  const transport = new HttpKubeTransport({
    userAgent: "test",
    qps: 0,
    burst: 0,
    env: {},
    ...options,
    access,
  });
  t.after(() => transport.close());
  return {
    who: async () => (await transport.request<{ who: string }>({ method: "GET", path: "/" })).who,
    transport,
  };
}

async function failure(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => assert.fail("did not fail"),
    (error: unknown) => error as Error,
  );
}

const v1 = "client.authentication.k8s.io/v1";

function plugin(command: string, more: object = {}): object {
  return { apiVersion: v1, command, interactiveMode: "Never", ...more };
}

describe("credentials", { timeout: 30_000 }, () => {
  const users: { name: string; user: object; who: string }[] = [
    { name: "a token is sent as a bearer token", user: { token: "t1" }, who: "Bearer t1" },
    {
      name: "username and password are sent with basic authentication",
      user: { username: "ann", password: "pä:ss" },
      who: `Basic ${base64("ann:pä:ss")}`,
    },
    {
      name: "an inline certificate authenticates the connection",
      user: {
        "client-certificate-data": base64(fixture("client-a.pem")),
        "client-key-data": base64(fixture("client-a.key")),
      },
      who: "system:node:a",
    },
    {
      name: "a token is sent together with a certificate",
      user: {
        "client-certificate-data": base64(fixture("client-a.pem")),
        "client-key-data": base64(fixture("client-a.key")),
        token: "t1",
      },
      who: "Bearer t1",
    },
    {
      name: "a token takes precedence over an exec plugin",
      user: { token: "t1", exec: plugin("/does/not/exist") },
      who: "Bearer t1",
    },
  ];
  for (const { name, user, who } of users) {
    it(name, async (t) => {
      const server = await whoAmI(t);
      const { who: identity } = await connect(t, {
        dir: await directory(t),
        cluster: { server: server.url, ...authority },
        user,
      });
      assert.equal(await identity(), who);
    });
  }

  it("no secret is sent to a server without TLS", async (t) => {
    const server = await TestApiServer.start("http", (_request, response, seen) =>
      json(response, 200, seen.headers),
    );
    t.after(() => server.close());
    const { transport } = await connect(t, {
      dir: await directory(t),
      cluster: { server: server.url },
      user: { token: "t1" },
    });
    const headers = await transport.request<Record<string, string>>({ method: "GET", path: "/" });
    assert.equal(headers.authorization, undefined);
  });
});

describe("certificate files", { timeout: 30_000 }, () => {
  for (const protocol of ["h2", "https"] as const) {
    it(`are read again when they change, and connections and watches are renewed (${protocol})`, async (t) => {
      const server = await whoAmI(t, protocol);
      const dir = await directory(t);
      const clock = new MovableClock();
      // One file with both, as the kubelet's own kubelet-client-current.pem.
      const pair = join(dir, "current.pem");
      const put = async (name: string) => {
        await writeFile(`${pair}.new`, fixture(`${name}.pem`) + fixture(`${name}.key`));
        await rename(`${pair}.new`, pair);
      };
      await put("client-a");
      const { who, transport } = await connect(t, {
        dir,
        cluster: { server: server.url, ...authority },
        // Relative to the kubeconfig.
        user: { "client-certificate": "current.pem", "client-key": "./current.pem" },
        clock,
      });
      assert.equal(await who(), "system:node:a");
      const stream = await transport.stream({ path: "/watch", signal: new AbortController().signal });
      const reader = stream[Symbol.asyncIterator]();
      await reader.next();
      const disconnected = failure(reader.next());

      await put("client-b");
      clock.move(1000);
      assert.equal(await who(), "system:node:b");
      const error = await disconnected;
      assert.ok(error instanceof TransportError);
      assert.match(error.message, /renewed/);
    });
  }

  for (const protocol of ["h2", "https"] as const) {
    it(`a request in progress finishes on the old connection, which is then closed (${protocol})`, async (t) => {
      let respond: () => void = () => {};
      let arrived: () => void = () => {};
      const begun = new Promise<void>((resolve) => {
        arrived = resolve;
      });
      const server = await TestApiServer.start(protocol, (request, response, seen) => {
        if (request.url !== "/slow") return json(response, 200, { who: seen.client });
        respond = () => json(response, 200, { who: seen.client });
        arrived();
      });
      t.after(() => server.close());
      const dir = await directory(t);
      const clock = new MovableClock();
      const put = async (name: string) => {
        await writeFile(join(dir, "c.pem"), fixture(`${name}.pem`) + fixture(`${name}.key`));
      };
      await put("client-a");
      const { who, transport } = await connect(t, {
        dir,
        cluster: { server: server.url, ...authority },
        user: { "client-certificate": "c.pem", "client-key": "c.pem" },
        clock,
      });
      const slow = transport.request<{ who: string }>({ method: "POST", path: "/slow", body: {} });
      await begun;
      await put("client-b");
      clock.move(1000);
      assert.equal(await who(), "system:node:b");
      respond();
      assert.equal((await slow).who, "system:node:a");
      const [old, current] = server.sockets;
      while (!old?.destroyed) await new Promise((resolve) => setImmediate(resolve));
      assert.equal(current?.destroyed, false);
    });
  }

  for (const moment of [
    "after a 401, and the request is sent again",
    "shortly before a certificate expires",
  ]) {
    it(`are read immediately ${moment}`, async (t) => {
      const rejected = new Set<string>();
      const server = await whoAmI(t, "h2", (who) => !rejected.has(who));
      const dir = await directory(t);
      const clock = new MovableClock();
      const pair = join(dir, "current.pem");
      const put = (name: string) => writeFile(pair, fixture(`${name}.pem`) + fixture(`${name}.key`));
      await put("client-a");
      const { who } = await connect(t, {
        dir,
        cluster: { server: server.url, ...authority },
        user: { "client-certificate": "current.pem", "client-key": "current.pem" },
        clock,
      });
      const { validToDate } = new X509Certificate(fixture("client-a.pem"));
      if (moment.startsWith("shortly before"))
        clock.move(validToDate.getTime() - epochMs(clock.wall()) - 4000);
      assert.equal(await who(), "system:node:a");
      if (moment.startsWith("after a 401")) rejected.add("system:node:a");
      await put("client-b");
      assert.equal(await who(), "system:node:b");
    });
  }

  it("a certificate that does not match its key is ignored, and the previous pair is used", async (t) => {
    const server = await whoAmI(t);
    const dir = await directory(t);
    const clock = new MovableClock();
    const put = (file: string, name: string) => writeFile(join(dir, file), fixture(name));
    await put("c.pem", "client-a.pem");
    await put("c.key", "client-a.key");
    const { who } = await connect(t, {
      dir,
      cluster: { server: server.url, ...authority },
      user: { "client-certificate": "c.pem", "client-key": "c.key" },
      clock,
    });
    assert.equal(await who(), "system:node:a");
    await put("c.pem", "client-b.pem");
    clock.move(1000);
    assert.equal(await who(), "system:node:a");
    await rm(join(dir, "c.pem"));
    clock.move(1000);
    assert.equal(await who(), "system:node:a");
    await put("c.pem", "client-b.pem");
    await put("c.key", "client-b.key");
    clock.move(1000);
    assert.equal(await who(), "system:node:b");
    assert.equal(server.sockets.length, 2);
  });

  it("a changed CA is trusted immediately", async (t) => {
    const server = await whoAmI(t);
    const dir = await directory(t);
    const clock = new MovableClock();
    await writeFile(join(dir, "ca.pem"), fixture("other-ca.pem"));
    const { who } = await connect(t, {
      dir,
      cluster: { server: server.url, "certificate-authority": "ca.pem" },
      user: { token: "t" },
      clock,
    });
    const error = await failure(who());
    assert.ok(error instanceof TransportError);
    assert.match(error.message, /not signed by the certificate authority that we trust/);
    await writeFile(join(dir, "ca.pem"), fixture("ca.pem"));
    clock.move(1000);
    assert.equal(await who(), "Bearer t");
  });
});

describe("trust", { timeout: 30_000 }, () => {
  const cases: { name: string; cluster: object; error?: RegExp }[] = [
    { name: "a server whose certificate has its address is trusted", cluster: authority },
    {
      name: "a server whose certificate has the tls-server-name is trusted",
      cluster: { ...authority, "tls-server-name": "api.internal" },
    },
    {
      name: "a server whose certificate lacks the tls-server-name is not trusted",
      cluster: { ...authority, "tls-server-name": "elsewhere.internal" },
      error: /elsewhere\.internal/,
    },
    { name: "insecure-skip-tls-verify trusts any server", cluster: { "insecure-skip-tls-verify": true } },
    {
      name: "without a certificate authority in the kubeconfig, the CAs of the system are used",
      cluster: {},
      error: /not signed by/,
    },
  ];
  for (const { name, cluster, error } of cases) {
    it(name, async (t) => {
      const server = await whoAmI(t);
      const { who } = await connect(t, {
        dir: await directory(t),
        cluster: { server: server.url, ...cluster },
        user: { token: "t" },
      });
      if (error) assert.match((await failure(who())).message, error);
      else assert.equal(await who(), "Bearer t");
    });
  }
});

describe("token file", { timeout: 30_000 }, () => {
  it("is read again every minute, and a missing file keeps the token", async (t) => {
    const server = await whoAmI(t);
    const dir = await directory(t);
    const clock = new MovableClock();
    await writeFile(join(dir, "token"), "one\n");
    const { who } = await connect(t, {
      dir,
      cluster: { server: server.url, ...authority },
      user: { tokenFile: "token" },
      clock,
    });
    assert.equal(await who(), "Bearer one");
    await writeFile(join(dir, "token"), "two");
    assert.equal(await who(), "Bearer one");
    clock.move(60_000);
    assert.equal(await who(), "Bearer two");
    await rm(join(dir, "token"));
    clock.move(60_000);
    assert.equal(await who(), "Bearer two");
  });

  it("is read immediately after a 401, and the request is retried", async (t) => {
    const server = await whoAmI(t, "h2", (who) => who === "Bearer two");
    const dir = await directory(t);
    await writeFile(join(dir, "token"), "one");
    const { who } = await connect(t, {
      dir,
      cluster: { server: server.url, ...authority },
      user: { tokenFile: "token" },
    });
    const error = await failure(who());
    assert.ok(error instanceof KubeApiError);
    assert.equal(error.status, 401);
    assert.equal(server.requests.length, 1, "the same token is not tried twice");
    await writeFile(join(dir, "token"), "two");
    assert.equal(await who(), "Bearer two");
  });

  it("a missing token file is an error with its path", async (t) => {
    const server = await whoAmI(t);
    const dir = await directory(t);
    const { who } = await connect(t, {
      dir,
      cluster: { server: server.url, ...authority },
      user: { tokenFile: "token" },
    });
    const error = await failure(who());
    assert.ok(error instanceof TransportError);
    assert.match(error.message, new RegExp(`token file ${dir}/token: ENOENT`));
  });
});

/** A plugin that counts its runs in a file and prints the output that the test defines; $N is the number of the run. */
async function script(
  dir: string,
  statusFields: string,
  kind = "ExecCredential",
  version = v1,
): Promise<string> {
  const path = join(dir, "plugin.sh");
  const lines = [
    "#!/bin/sh",
    `cd '${dir}'`,
    "echo run >> runs",
    "N=$(wc -l < runs)",
    'printf "%s" "$KUBERNETES_EXEC_INFO" > info',
    'printf "%s" "$GREETING $1" > seen',
    "cat <<END",
    `{"kind":"${kind}","apiVersion":"${version}","status":${statusFields}}`,
    "END",
  ];
  await writeFile(path, `${lines.join("\n")}\n`);
  await chmod(path, 0o755);
  return path;
}

const runs = async (dir: string) => (await readFile(join(dir, "runs"), "utf8")).trim().split("\n").length;

describe("exec plugin", { timeout: 30_000 }, () => {
  it("runs once for many requests, with arguments, variables and cluster", async (t) => {
    const server = await whoAmI(t);
    const dir = await directory(t);
    await script(dir, '{"token":"t$N"}');
    const { who } = await connect(t, {
      dir,
      cluster: {
        server: server.url,
        ...authority,
        extensions: [{ name: "client.authentication.k8s.io/exec", extension: { audience: "x" } }],
      },
      user: {
        exec: plugin("./plugin.sh", {
          args: ["world"],
          env: [{ name: "GREETING", value: "hello" }],
          provideClusterInfo: true,
        }),
      },
    });
    assert.deepEqual(await Promise.all([who(), who(), who()]), ["Bearer t1", "Bearer t1", "Bearer t1"]);
    assert.equal(await runs(dir), 1);
    assert.equal(await readFile(join(dir, "seen"), "utf8"), "hello world");
    assert.deepEqual(JSON.parse(await readFile(join(dir, "info"), "utf8")), {
      kind: "ExecCredential",
      apiVersion: v1,
      spec: {
        interactive: false,
        cluster: { server: server.url, ...authority, config: { audience: "x" } },
      },
    });
  });

  it("runs again when its credentials have expired", async (t) => {
    const server = await whoAmI(t);
    const dir = await directory(t);
    const clock = new MovableClock();
    const expiry = new Date(Date.now() + 3_600_000).toISOString();
    await script(dir, `{"token":"t$N","expirationTimestamp":"${expiry}"}`);
    const { who } = await connect(t, {
      dir,
      cluster: { server: server.url, ...authority },
      user: { exec: plugin("./plugin.sh") },
      clock,
    });
    assert.equal(await who(), "Bearer t1");
    assert.equal(await who(), "Bearer t1");
    clock.move(3_601_000);
    assert.equal(await who(), "Bearer t2");
  });

  it("runs again after a 401, once for all requests that got one, and these are retried", async (t) => {
    const server = await whoAmI(t, "h2", (who) => who !== "Bearer t1");
    const dir = await directory(t);
    await script(dir, '{"token":"t$N"}');
    const { who } = await connect(t, {
      dir,
      cluster: { server: server.url, ...authority },
      user: { exec: plugin("./plugin.sh") },
    });
    assert.deepEqual(await Promise.all([who(), who()]), ["Bearer t2", "Bearer t2"]);
    assert.equal(await runs(dir), 2);
  });

  it("a 401 for credentials that were renewed in the meantime needs no run", async (t) => {
    let reject: () => void = () => {};
    const server = await TestApiServer.start("h2", (request, response, seen) => {
      const who = seen.headers.authorization;
      const respond = () => json(response, who === "Bearer t1" ? 401 : 200, { who });
      if (request.url === "/late" && who === "Bearer t1") reject = respond;
      else respond();
    });
    t.after(() => server.close());
    const dir = await directory(t);
    await script(dir, '{"token":"t$N"}');
    const { who, transport } = await connect(t, {
      dir,
      cluster: { server: server.url, ...authority },
      user: { exec: plugin("./plugin.sh") },
    });
    const late = transport.request<{ who: string }>({ method: "GET", path: "/late" });
    while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await who(), "Bearer t2");
    reject();
    assert.equal((await late).who, "Bearer t2");
    assert.equal(await runs(dir), 2);
  });

  it("a permanent 401 is returned", async (t) => {
    const server = await whoAmI(t, "h2", () => false);
    const dir = await directory(t);
    await script(dir, '{"token":"t$N"}');
    const { who } = await connect(t, {
      dir,
      cluster: { server: server.url, ...authority },
      user: { exec: plugin("./plugin.sh") },
    });
    const error = await failure(who());
    assert.ok(error instanceof KubeApiError);
    assert.equal(error.status, 401);
    assert.equal(server.requests.length, 2);
  });

  it("may return a certificate", async (t) => {
    const server = await whoAmI(t);
    const dir = await directory(t);
    const given = { clientCertificateData: fixture("client-b.pem"), clientKeyData: fixture("client-b.key") };
    await script(dir, JSON.stringify(given).replaceAll("\\n", "\\\\n"));
    const { who } = await connect(t, {
      dir,
      cluster: { server: server.url, ...authority },
      user: { exec: plugin("./plugin.sh") },
    });
    assert.equal(await who(), "system:node:b");
  });

  // parity: metric /metrics rest_client_exec_plugin_ttl_seconds
  // parity: metric /metrics rest_client_exec_plugin_certificate_rotation_age
  it("its calls, and the lifetimes of its certificates, are metrics", async (t) => {
    const server = await whoAmI(t);
    const dir = await directory(t);
    const clock = new MovableClock();
    const metrics = createMetrics();
    const value = async (line: string) => {
      const text = await metrics.registry.metrics();
      return Number(text.slice(text.indexOf(`\n${line} `) + line.length + 2).split("\n")[0]);
    };
    const returns = (name: string) => {
      const given = {
        clientCertificateData: fixture(`${name}.pem`),
        clientKeyData: fixture(`${name}.key`),
        expirationTimestamp: new Date(epochMs(clock.wall()) + 60_000).toISOString(),
      };
      return script(dir, JSON.stringify(given).replaceAll("\\n", "\\\\n"));
    };
    await returns("client-a");
    const { who } = await connect(t, {
      dir,
      cluster: { server: server.url, ...authority },
      user: { exec: plugin("./plugin.sh") },
      clock,
      metrics: requestMetrics(metrics, clock),
    });
    await who();
    const until = (name: string) => new X509Certificate(fixture(`${name}.pem`)).validToDate.getTime();
    const near = async (expected: number, line: string) => {
      const seconds = (expected - epochMs(clock.wall())) / 1000;
      assert.ok(Math.abs((await value(line)) - seconds) < 60, `${await value(line)}, expected ${seconds}`);
    };
    await near(until("client-a"), "rest_client_exec_plugin_ttl_seconds");
    assert.equal(await value("rest_client_exec_plugin_certificate_rotation_age_count"), 0);
    clock.move(61_000);
    await returns("client-b");
    await who();
    await near(until("client-b"), "rest_client_exec_plugin_ttl_seconds");
    assert.equal(await value("rest_client_exec_plugin_certificate_rotation_age_count"), 1);
    const calls = (code: number, outcome: string) =>
      value(`rest_client_exec_plugin_call_total{code="${code}",call_status="${outcome}"}`);
    assert.equal(await calls(0, "no_error"), 2);
    clock.move(61_000);
    await writeFile(join(dir, "plugin.sh"), "#!/bin/sh\nexit 3\n");
    await failure(who());
    assert.equal(await calls(3, "plugin_execution_error"), 1);
    await rm(join(dir, "plugin.sh"));
    await failure(who());
    assert.equal(await calls(1, "plugin_not_found_error"), 1);
  });

  const broken: {
    name: string;
    status: string;
    kind?: string;
    version?: string;
    mode?: string;
    error: RegExp;
  }[] = [
    {
      name: "output with neither token nor certificate",
      status: "{}",
      error: /neither a token nor a certificate/,
    },
    { name: "output without a status", status: "null", error: /without a status/ },
    {
      name: "output with a certificate and no key",
      status: '{"clientCertificateData":"x"}',
      error: /only one of/,
    },
    {
      name: "output of another kind",
      status: '{"token":"t"}',
      kind: "Secret",
      error: /did not write an ExecCredential/,
    },
    {
      name: "output of another version",
      status: '{"token":"t"}',
      version: "client.authentication.k8s.io/v1beta1",
      error:
        /configured for client\.authentication\.k8s\.io\/v1 and wrote client\.authentication\.k8s\.io\/v1beta1/,
    },
    { name: "output that is not JSON", status: "{", error: /in JSON/ },
    {
      name: "an expirationTimestamp that is not a time",
      status: '{"token":"t","expirationTimestamp":"soon"}',
      error: /not a time/,
    },
    {
      name: "an interactive plugin without a terminal",
      status: '{"token":"t"}',
      mode: "Always",
      error: /not a terminal/,
    },
  ];
  for (const { name, status: fields, kind, version, mode, error } of broken) {
    it(`${name} is an error that names the plugin`, async (t) => {
      const server = await whoAmI(t);
      const dir = await directory(t);
      const path = await script(dir, fields, kind, version);
      const { who } = await connect(t, {
        dir,
        cluster: { server: server.url, ...authority },
        user: { exec: plugin(path, mode ? { interactiveMode: mode } : {}) },
      });
      const { message } = await failure(who());
      assert.match(message, error);
      assert.ok(message.includes(`credential plugin ${path}: `), message);
    });
  }

  it("a plugin that hangs is killed after 60 s", async (t) => {
    const clock = new FakeClock();
    const server = await whoAmI(t);
    const dir = await directory(t);
    const path = join(dir, "plugin.sh");
    await writeFile(path, `#!/bin/sh\necho $$ > '${dir}/pid'\nexec sleep 1000\n`);
    await chmod(path, 0o755);
    const { transport } = await connect(t, {
      dir,
      cluster: { server: server.url, ...authority },
      user: { exec: plugin(path) },
      clock,
    });
    const hangs = failure(transport.request({ method: "GET", path: "/", timeoutMs: 1000 }));
    const waits = failure(transport.request({ method: "GET", path: "/", timeoutMs: 100_000 }));
    while (!existsSync(join(dir, "pid"))) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(1000);
    assert.match((await hangs).message, /no response within 1 s/);
    await clock.advance(59_000);
    assert.match((await waits).message, /did not exit within 60 s/);
  });

  it("a process that keeps the output of its plugin open is killed after 60 s, too", async (t) => {
    const clock = new FakeClock();
    const server = await whoAmI(t);
    const dir = await directory(t);
    const path = join(dir, "plugin.sh");
    await writeFile(path, `#!/bin/sh\nsleep 1000 &\necho $! > '${dir}/tmp'\nmv '${dir}/tmp' '${dir}/pid'\n`);
    await chmod(path, 0o755);
    const { transport } = await connect(t, {
      dir,
      cluster: { server: server.url, ...authority },
      user: { exec: plugin(path) },
      clock,
    });
    const waits = failure(transport.request({ method: "GET", path: "/", timeoutMs: 100_000 }));
    while (!existsSync(join(dir, "pid"))) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(60_000);
    assert.match((await waits).message, /did not exit within 60 s/);
    const pid = (await readFile(join(dir, "pid"), "utf8")).trim();
    const state = () =>
      readFile(`/proc/${pid}/status`, "utf8").then(
        (text) => /^State:\s+(\w)/m.exec(text)?.[1],
        () => undefined,
      );
    // A zombie is gone as soon as its parent collects it.
    while (![undefined, "Z"].includes(await state()));
  });

  const failing: { name: string; exec: object; error: RegExp }[] = [
    {
      name: "the output of a plugin that fails",
      exec: plugin("sh", { args: ["-c", "echo no key >&2; exit 3"] }),
      error: /credential plugin sh: failed with exit code 3: no key/,
    },
    {
      name: "the install hint of a missing plugin",
      exec: plugin("/does/not/exist", { installHint: "get it from your cloud" }),
      error: /credential plugin \/does\/not\/exist: there is no such program\nget it from your cloud/,
    },
  ];
  for (const { name, exec, error } of failing) {
    it(`${name} is part of the error`, async (t) => {
      const server = await whoAmI(t);
      const { who } = await connect(t, {
        dir: await directory(t),
        cluster: { server: server.url, ...authority },
        user: { exec },
      });
      assert.match((await failure(who())).message, error);
    });
  }
});
