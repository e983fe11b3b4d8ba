import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { FakeConsoleNode, fakeConsolePod } from "../../src/console/fake-console-node.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { browserUnavailable, launchBrowser, openPage } from "./browser.ts";
import { consoleServer } from "./console-server.ts";

const pageDir = fileURLToPath(new URL("../../dist/console/", import.meta.url));
const storage =
  "JSON.stringify([document.cookie, Object.entries(localStorage), Object.keys(sessionStorage)])";

/** The page as built, in Chromium, with the console as it is served, and a fake node. */
describe("the session of the page", { skip: browserUnavailable }, () => {
  let browser: Browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser.close());

  const setUp = async (t: TestContext) => {
    const dir = mkdtempSync(join(tmpdir(), "console-sessions-"));
    const node = new FakeConsoleNode().add(
      fakeConsolePod({ metadata: { name: "web" }, spec: { containers: [{ name: "c0" }] } }),
    );
    const more = { sessionsFile: join(dir, "sessions.json"), pageDir };
    const server = await consoleServer(t, node, more);
    const { page, context, errors } = await openPage(browser);
    t.after(async () => {
      await context.close();
      rmSync(dir, { recursive: true });
    });
    const restart = () => consoleServer(t, node, { ...more, port: server.port });
    return { node, server, page, context, errors, restart };
  };
  const shown = (page: Page) => page.getByRole("heading", { level: 1, name: "node-1" }).waitFor();
  const loginShown = (page: Page) => page.getByRole("heading", { level: 1, name: "Log in" }).waitFor();

  test("a link logs in, its token leaves the address, and the session survives a reload and a second tab", async (t) => {
    const { server, page, context, errors } = await setUp(t);
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    const link = server.console.link();
    await page.goto(server.origin + link);
    await shown(page);
    assert.equal(page.url(), `${server.origin}/console/#/`);
    assert.deepEqual(
      requests.filter((url) => !url.includes("#") && url.includes("login=")),
      [],
    );
    await page.reload();
    await shown(page);
    const second = await context.newPage();
    await second.goto(`${server.origin}/console/#/pods`);
    await second.getByText("1 pods").or(second.getByText("1 pod")).first().waitFor();
    assert.deepEqual(await context.cookies(), []);
    await second.goto("about:blank");
    await second.goto(server.origin + link);
    await second.getByText("this link was used before, or has expired").waitFor();
    // The session of the other tab continues.
    await page.reload();
    await shown(page);
    assert.deepEqual(errors, []);
  });

  test("a link in the tab of a page that is logged out logs in", async (t) => {
    const { server, page } = await setUp(t);
    await page.goto(`${server.origin}/console/`);
    await loginShown(page);
    await page.goto(server.origin + server.console.link());
    await shown(page);
  });

  test("an open page continues after a restart, and with it a tab that was reloaded in the meantime", async (t) => {
    const { server, page, context, restart } = await setUp(t);
    await page.goto(server.origin + server.console.link());
    await shown(page);
    await page.evaluate("window.notReloaded = true");
    const before = await page.evaluate(storage);
    const second = await context.newPage();
    await second.goto(`${server.origin}/console/`);
    await shown(second);
    await server.end();
    await page.locator("[data-banner=reconnecting]").waitFor();
    // As if it had been reloaded while the kubelet was down: it has no memory of the session.
    await second.goto("about:blank");
    await restart();
    await page.locator("[data-banner=reconnecting]").waitFor({ state: "detached" });
    assert.equal(await page.evaluate("window.notReloaded"), true);
    assert.notEqual(await page.evaluate(storage), before);
    await second.goto(`${server.origin}/console/`);
    await shown(second);
  });

  test("a server that listens while the kubelet is down gets nothing that the next run accepts", async (t) => {
    const { server, page, context, restart } = await setUp(t);
    await page.goto(server.origin + server.console.link());
    await shown(page);
    await server.end();
    const received: { url: string; headers: IncomingHttpHeaders }[] = [];
    const other = createServer((request, response) => {
      received.push({ url: request.url ?? "", headers: request.headers });
      const isApi = request.url?.startsWith("/console/api/") ?? false;
      // It requests a proof, as a new run would; its own page reads what the origin has stored.
      const login = { method: "link", command: "x", challenge: "chosen" };
      response.writeHead(isApi ? 401 : 200, { "content-type": isApi ? "application/json" : "text/html" });
      response.end(isApi ? JSON.stringify({ error: { code: "unauthenticated", message: "", login } }) : "x");
    });
    await new Promise<void>((resolve) => other.listen(server.port, "127.0.0.1", resolve));
    // The open page reconnects to it, and sends its credentials.
    await waitFor(() =>
      assert.ok(new Set(received.map(({ headers }) => headers["x-console-key"])).size >= 2),
    );
    const own = await context.newPage();
    await own.goto(`${server.origin}/console/`);
    const stored = JSON.parse(String(await own.evaluate(storage))) as [string, [string, string][], string[]];
    assert.equal(stored[0], "");
    const keys = [
      ...received.map(({ headers }) => String(headers["x-console-key"])),
      ...stored[1].map(([, value]) => value),
    ];
    await new Promise((resolve) => {
      other.close(resolve);
      other.closeAllConnections();
    });
    const { send, headersOf } = await restart();
    for (const key of new Set(keys))
      assert.equal((await send("GET", "/console/api/session", { headers: headersOf(key) })).status, 401);
  });

  test("a server on another port of the host receives nothing of the session", async (t) => {
    const { server, page, context } = await setUp(t);
    await page.goto(server.origin + server.console.link());
    await shown(page);
    const received: IncomingHttpHeaders[] = [];
    const other = createServer(({ headers }, response) => {
      received.push(headers);
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html>");
    });
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    t.after(() => other.close());
    const { port } = other.address() as AddressInfo;
    const foreign = await context.newPage();
    await foreign.goto(`http://127.0.0.1:${port}/console/`);
    assert.equal(await foreign.evaluate(storage), '["",[],[]]');
    // What its page makes the browser send has no session, and it reads no response.
    const read = await foreign.evaluate(
      `Promise.all(["/session", "/stream", "/images"].map((path) =>
        fetch(${JSON.stringify(`${server.origin}/console/api`)} + path, { credentials: "include" }).then(() => "read", () => "rejected")))`,
    );
    assert.deepEqual(read, ["rejected", "rejected", "rejected"]);
    assert.ok(received.length > 0);
    for (const headers of received)
      assert.deepEqual([headers.cookie, headers["x-console-key"]], [undefined, undefined]);
  });

  test("a terminal and a download of a log have the key, not their addresses", async (t) => {
    const { node, server, page } = await setUp(t);
    node.logText = "2026-01-01T00:00:00.000Z first\n";
    const addresses: string[] = [];
    page.on("request", (request) => addresses.push(request.url()));
    page.on("websocket", (socket) => addresses.push(socket.url()));
    await page.goto(server.origin + server.console.link());
    await shown(page);
    const key = JSON.parse(String(await page.evaluate(storage)))[1][0][1] as string;
    await page.evaluate('location.hash = "#/pods/default/web/logs"');
    await page.getByRole("log").getByText("first").waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const file = await download;
    assert.equal(file.suggestedFilename(), "web-c0.log");
    assert.equal(readFileSync(await file.path(), "utf8"), node.logText);
    assert.ok(node.requests.some((request) => request.startsWith("logs default/web/c0")));
    assert.ok(key.length === 43 && !addresses.join("\n").includes(key));
  });
});
