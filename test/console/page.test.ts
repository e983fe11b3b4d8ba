import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { waitFor } from "../e2e/wait-for.ts";
import { long } from "../long.ts";
import { browserUnavailable, launchBrowser, type OpenedPage, openPage } from "./browser.ts";
import { MockConsole } from "./mock-console.ts";

describe("the console page", { skip: browserUnavailable }, () => {
  let browser: Browser;
  let mock: MockConsole;
  let opened: OpenedPage;
  let page: Page;

  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser.close());
  beforeEach(async () => {
    mock = new MockConsole(60);
    await mock.start();
    opened = await openPage(browser);
    page = opened.page;
  });
  afterEach(async () => {
    await opened.context.close();
    await mock.stop();
    assert.deepEqual(opened.errors, []);
  });
  const open = (hash: string) => page.goto(mock.url + hash);
  const heading = (text: string) =>
    page.getByRole("heading", { level: 1, name: text, exact: true }).waitFor();

  test("shows the node: conditions, thresholds, charts, resources and events", async () => {
    await open("#/");
    await heading("node-1");
    await page.getByText("KubeletHasSufficientMemory").waitFor();
    await page.getByText("nodefs.inodesFree").waitFor();
    await page.getByRole("img", { name: /^CPU over the last hour: now/ }).waitFor();
    await page.getByText("1.87 used · 4.35 requested · 7.50 allocatable · 8.00 capacity").waitFor();
    await page.getByText("registry.example/postgres:17").waitFor();
  });

  test("lists pods, follows changes, searches and filters", async () => {
    await open("#/pods");
    await heading("Pods");
    await page.getByText("60 pods").waitFor();
    const table = page.getByRole("table", { name: "Pods" });
    assert.equal(await table.getAttribute("aria-rowcount"), "61");
    assert.ok((await table.getByRole("row").count()) < 45, "rows out of view are in the document");
    await page.getByRole("button", { name: /Not ready/ }).click();
    await page.getByText("6 of 60 pods").waitFor();
    await page.getByRole("searchbox").fill("cache crash");
    await page.getByRole("link", { name: "cache-3", exact: true }).waitFor();
    assert.match(page.url(), /ready=false/);
    mock.update([{ ...mock.pods.get("uid-3")!, cause: "a change", revision: 2 }]);
    await page.getByText("a change").waitFor();
  });

  test("explains a pod that is not ready, and shows text of users as text", async () => {
    const cause = "<img src=x onerror=alert(1)> exited";
    mock.pods.set("uid-3", { ...mock.pods.get("uid-3")!, cause });
    await open("#/pods/default/cache-3");
    await page.locator(".why").getByText(cause).waitFor();
    await page.getByText("Read the previous logs of container app").waitFor();
    await page.locator('[data-step="image"]').getByText("2.30 s").waitFor();
    assert.equal(await page.locator("img").count(), 0);
  });

  test("shows the bytes of an image pull as a bar that follows it", async () => {
    const pulling = (percent: number, revision: number) => {
      const text = `pulling registry.example/app:2.1, ${percent} % of 187 MB`;
      return { ...mock.pods.get("uid-3")!, cause: text, waitsFor: { text, since: 0, until: null }, revision };
    };
    mock.pods.set("uid-3", pulling(43, 1));
    await open("#/pods/default/cache-3");
    const bar = page.getByRole("progressbar", { name: "Pull of registry.example/app:2.1" });
    await page.locator(".why .cause").getByText("43 % of 187 MB").waitFor();
    assert.equal(await bar.getAttribute("value"), "43");
    mock.update([pulling(60, 2)]);
    await page.locator(".why .cause").getByText("60 % of 187 MB").waitFor();
    assert.equal(await bar.getAttribute("value"), "60");
    mock.update([{ ...pulling(60, 3), cause: null, waitsFor: null }]);
    await bar.waitFor({ state: "detached" });
  });

  test(long("shows and searches logs"), async () => {
    await open("#/pods/default/api-1/logs");
    const log = page.getByRole("log");
    await log.getByText("GET /items/200 ").waitFor();
    await page.getByRole("searchbox").fill("items/19");
    await page.getByLabel("Only matches").check();
    await waitFor(async () => assert.equal(await log.locator("div").count(), 11));
    await page.getByLabel("Timestamps").check();
    await log.getByText("2026-11-17T12:00:07.030Z").first().waitFor();
  });

  test("runs a command in a terminal", async () => {
    await open("#/pods/default/api-1/terminal");
    await page.getByText("Connected").waitFor();
    await page.keyboard.type("hostname\n");
    await page.locator(".xterm-rows").getByText("mock-host").waitFor();
    await page.keyboard.press("Shift+Escape");
    await page.getByRole("button", { name: "Start again" }).and(page.locator(":focus")).waitFor();
  });

  test(
    long("names line and field of an invalid manifest, and applies a valid one after a confirmation"),
    async () => {
      await open("#/apply");
      const editor = page.getByRole("textbox", { name: /Manifest/ });
      await editor.fill("kind: Pod\nmetadata:\n  name: x\nspec:\n  containers:\n    - imgae: demo\n");
      await page.getByRole("button", { name: "Apply …" }).click();
      await page.getByText("spec.containers[0].image: ").waitFor();
      await page.locator(".lines .wrong").getByText("6").waitFor();
      await page.getByRole("button", { name: "Line 6" }).click();
      assert.equal(await page.evaluate("getSelection().toString()"), "    - imgae: demo");
      await editor.fill("kind: Pod\nmetadata:\n  name: x\nspec:\n  containers:\n    - image: demo\n");
      await page.getByRole("button", { name: "Apply …" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Apply", exact: true }).click();
      await page.locator(".toast").getByText("default/x created").waitFor();
    },
  );

  test(long("deletes a pod and restarts a container, each after one confirmation"), async () => {
    await open("#/pods/default/api-1");
    await page.getByRole("button", { name: "Delete …" }).click();
    await page.keyboard.press("Escape");
    assert.deepEqual(mock.changes, []);
    await page.getByRole("button", { name: "Delete …" }).click();
    await page.getByRole("button", { name: "Delete pod" }).click();
    await page.locator(".toast").getByText("Pod api-1 is terminating").waitFor();
    await page.getByRole("button", { name: "Restart …" }).click();
    await page.getByRole("button", { name: "Restart container" }).click();
    await page.locator(".toast").getByText("Container app is stopping").waitFor();
    assert.deepEqual(mock.changes, [
      "POST /console/api/pods/uid-1/delete",
      "POST /console/api/pods/uid-1/containers/app/restart",
    ]);
    mock.pods.delete("uid-1");
    mock.send({ kind: "changes", now: Date.now(), removed: ["uid-1"] });
    await page.getByText("This pod was deleted").waitFor();
  });

  test(long("hides changes that the user may not make"), async () => {
    mock.may = { logs: true, exec: false, apply: false, deletePods: false, restart: false };
    await open("#/pods/default/api-1");
    await page.getByText("registry.example/app:2.1").waitFor();
    for (const name of ["Delete …", "Restart …"])
      assert.equal(await page.getByRole("button", { name }).count(), 0);
    for (const name of ["Terminal", "Apply"]) assert.equal(await page.getByRole("link", { name }).count(), 0);
  });

  test("shows that it reconnects while the node is down, and continues without a reload", async () => {
    await open("#/pods/default/api-1");
    await heading("api-1");
    await page.evaluate("window.notReloaded = true");
    await mock.stop();
    await page.locator("[data-banner=reconnecting]").waitFor();
    mock.pods.set("uid-1", { ...mock.pods.get("uid-1")!, status: "Back", revision: 9 });
    await mock.start();
    await page.locator("[data-banner=reconnecting]").waitFor({ state: "detached" });
    await page.locator(".heading").getByText("Back").waitFor();
    assert.equal(await page.evaluate("window.notReloaded"), true);
  });

  test(
    long("shows how to log in when there is no session, and continues when another tab has one"),
    async () => {
      mock.loggedIn = false;
      await open("#/");
      await page.getByText("kubelet console --node node-1").waitFor();
      mock.loggedIn = true;
      const other = await opened.context.newPage();
      await other.goto(mock.url);
      await other.evaluate(`localStorage.setItem("kubelet-console-key", "x")`);
      await heading("node-1");
    },
  );
});
