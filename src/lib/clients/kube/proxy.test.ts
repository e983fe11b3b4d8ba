import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { describe, it } from "node:test";
import { base64, fixture, json, kubeconfig, TestApiServer } from "../../../../test/kube/api-server.ts";
import { TransportError } from "./api-error.ts";
import { parseKubeconfig } from "./kubeconfig.ts";
import { proxyFor } from "./proxy.ts";
import { HttpKubeTransport } from "./transport.ts";

describe("proxyFor", () => {
  const api = "https://api.example.org:6443";
  const env = (noProxy: string) => ({ HTTPS_PROXY: "http://p:3128", NO_PROXY: noProxy });
  const cases: {
    name: string;
    server?: string;
    configured?: string;
    env: Record<string, string>;
    proxy?: string;
  }[] = [
    { name: "none", env: {} },
    { name: "the proxy of the environment is used", env: env(""), proxy: "http://p:3128/" },
    { name: "lower-case variables are used", env: { https_proxy: "p:3128" }, proxy: "http://p:3128/" },
    {
      name: "the proxy of the kubeconfig takes precedence",
      configured: "http://own:1/",
      env: env("*"),
      proxy: "http://own:1/",
    },
    { name: "a proxy for another scheme is not used", env: { HTTP_PROXY: "http://p:3128" } },
    { name: "an unsupported type of proxy is not used", env: { HTTPS_PROXY: "socks5://p:1080" } },
    { name: "loopback needs no proxy", server: "https://127.0.0.1:6443", env: env("") },
    { name: "::1 needs no proxy", server: "https://[::1]:6443", env: env("") },
    { name: "localhost needs no proxy", server: "https://localhost:6443", env: env("") },
    { name: "no proxy at all", env: env("*") },
    { name: "no proxy for the name", env: env("other, api.example.org") },
    { name: "no proxy for its domain", env: env("example.org") },
    { name: "no proxy for subdomains", env: env(".example.org") },
    { name: "part of a name does not match", env: env("ample.org"), proxy: "http://p:3128/" },
    {
      name: "a subdomain pattern does not match the domain itself",
      env: env(".api.example.org"),
      proxy: "http://p:3128/",
    },
    { name: "no proxy for this port", env: env("example.org:6443") },
    { name: "another port is not excluded", env: env("example.org:443"), proxy: "http://p:3128/" },
    { name: "no proxy for a range", server: "https://10.0.3.4", env: env("10.0.0.0/16") },
    {
      name: "another range is not excluded",
      server: "https://10.1.3.4",
      env: env("10.0.0.0/16"),
      proxy: "http://p:3128/",
    },
    { name: "no proxy for an address", server: "https://[fd00::1]:6443", env: env("fd00::1") },
    { name: "no proxy for a range of IPv6", server: "https://[fd00::1]:6443", env: env("fd00::/8") },
  ];
  for (const { name, server = api, configured, env: variables, proxy } of cases) {
    it(name, () => {
      const found = proxyFor(new URL(server), configured ? new URL(configured) : undefined, variables);
      assert.equal(found?.href, proxy);
    });
  }
});

interface Proxy {
  url: string;
  requests: string[];
}

async function startProxy(t: TestContext, behavior: "connect" | "reject"): Promise<Proxy> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer();
  server.on("connect", (request, socket: Socket, head) => {
    sockets.add(socket);
    socket.on("error", () => {});
    requests.push(`${request.url} ${request.headers["proxy-authorization"] ?? ""}`.trim());
    if (behavior === "reject") return socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    const [host, port] = (request.url ?? "").split(":");
    const upstream = connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.write(head);
      upstream.pipe(socket);
      socket.pipe(upstream);
    });
    sockets.add(upstream);
    upstream.on("error", () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

async function through(t: TestContext, proxy: string, protocol: "h2" | "https" | "http") {
  const server = await TestApiServer.start(protocol, (_request, response) =>
    json(response, 200, { ok: true }),
  );
  t.after(() => server.close());
  const ca = protocol !== "http" && { "certificate-authority-data": base64(fixture("ca.pem")) };
  const access = parseKubeconfig(kubeconfig({ server: server.url, "proxy-url": proxy, ...ca }, {}), "/k");
  const transport = new HttpKubeTransport({ access, userAgent: "test", qps: 0, burst: 0, env: {} });
  t.after(() => transport.close());
  return { server, transport };
}

describe("through a proxy", { timeout: 30_000 }, () => {
  for (const protocol of ["h2", "https", "http"] as const) {
    it(`requests and streams use the proxy (${protocol})`, async (t) => {
      const proxy = await startProxy(t, "connect");
      const { server, transport } = await through(t, `http://ann:p%40ss@${proxy.url}`, protocol);
      assert.deepEqual(await transport.request({ method: "GET", path: "/" }), { ok: true });
      for await (const chunk of await transport.stream({ path: "/", signal: new AbortController().signal }))
        assert.equal(Buffer.from(chunk).toString(), '{"ok":true}');
      assert.deepEqual(proxy.requests, [`127.0.0.1:${server.port} Basic ${base64("ann:p@ss")}`]);
    });
  }

  it("the error of a rejected connection names the proxy", async (t) => {
    const proxy = await startProxy(t, "reject");
    const { transport } = await through(t, `http://${proxy.url}`, "h2");
    await assert.rejects(transport.request({ method: "GET", path: "/" }), (error: unknown) => {
      assert.ok(error instanceof TransportError);
      assert.match(error.message, new RegExp(`proxy ${proxy.url}: 407 Proxy Authentication Required`));
      return true;
    });
  });
});
