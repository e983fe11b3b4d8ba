import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { waitFor } from "../e2e/wait-for.ts";
import { UpNode } from "../kubectl/up-node.ts";
import { long } from "../long.ts";
import { browserUnavailable, launchBrowser, type OpenedPage, openPage, screenshot } from "./browser.ts";

const textOf = async (locator: Locator) => (await locator.textContent()) ?? "";

const manifest = (image: string) => `apiVersion: v1
kind: Pod
metadata:
  name: story
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: ${image}
      imagePullPolicy: Never
      command: [sh, -c, "trap exit TERM; i=0; while :; do echo line $i; i=$((i+1)); sleep 1; done"]
      resources:
        requests: { cpu: 20m, memory: 16Mi }
        limits: { memory: 64Mi }
`;

describe(long("the user's story in the console of kubelet up"), { skip: browserUnavailable }, () => {
  let node: UpNode;
  let browser: Browser;
  let opened: OpenedPage;
  let page: Page;

  before(async () => {
    node = await UpNode.start("1.6", "-story");
    browser = await launchBrowser();
    opened = await openPage(browser);
    page = opened.page;
  });
  after(async () => {
    await browser?.close();
    await node?.stop();
  });
  const show = (hash: string) => page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  let image = "";
  /** The node's name may be part of it. */
  let story = "";

  test("the link opens the node, and the demo pod runs", async () => {
    await page.goto(node.consoleLink);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.getByText("KubeletReady").waitFor();
    await show("#/pods");
    const link = page.getByRole("link", { name: /^demo-/ });
    await page.getByRole("row", { name: /demo-.*Running 1\/1/ }).waitFor();
    await link.click();
    await page.getByText("Ready: its container is running.").waitFor();
    image = await textOf(page.locator(".container-card .mono").first());
  });

  test("an invalid manifest is rejected with line and field", async () => {
    await show("#/apply");
    await page.getByRole("textbox").fill(manifest(image).replace("image:", "imgae:"));
    await page.getByRole("button", { name: "Apply …" }).click();
    await page.getByRole("button", { name: "Line 8" }).first().waitFor();
    await page.locator(".problems").getByText("spec.containers[0].image").first().waitFor();
    await screenshot(page, "apply");
    assert.equal(await page.getByRole("dialog").count(), 0);
  });

  test("a valid manifest starts a pod, and its timeline grows", async () => {
    await page.getByRole("textbox").fill(manifest(image));
    await page.getByRole("button", { name: "Apply …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Apply", exact: true }).click();
    const link = page.locator(".done").getByRole("link", { name: /^default\/story/ });
    story = (await textOf(link)).replace("default/", "");
    await link.click();
    await page.locator('[data-step="sandbox"]').waitFor();
    await page.locator('[data-step="container"]').first().waitFor();
    await page.getByText("Ready: its container is running.").waitFor();
    await screenshot(page, "pod");
  });

  test("the node shows its resources and its usage", async () => {
    await show("#/");
    await page
      .getByText(/ used · .* requested · .* allocatable · .* capacity$/)
      .first()
      .waitFor();
    await page.getByRole("img", { name: /^Memory over the last hour: now/ }).waitFor();
    await screenshot(page, "node");
  });

  test("logs are followed", async () => {
    await show(`#/pods/default/${story}/logs`);
    const log = page.getByRole("log");
    const first = await textOf(log.locator("div").last());
    const count = Number(/line (\d+)/.exec(first)?.[1]);
    await log.getByText(`line ${count + 3}`, { exact: true }).waitFor();
    await screenshot(page, "logs");
  });

  test("a terminal runs hostname", async () => {
    await show(`#/pods/default/${story}/terminal`);
    await page.getByText("Connected").waitFor();
    await page.keyboard.type("hostname\n");
    await waitFor(async () =>
      assert.match(await textOf(page.locator(".xterm-rows")), new RegExp(`hostname\\s*${story}`)),
    );
    await screenshot(page, "terminal");
  });

  test("a terminal has the size of its place on the page, and text can be pasted into it", async () => {
    const rows = page.locator(".xterm-rows");
    const sizeIn = async (width: number) => {
      await page.setViewportSize({ width, height: 860 });
      await page.locator(".terminal-box").click();
      await page.keyboard.type(`clear; echo at-${width}=$(stty size)\n`);
      return waitFor(async () => {
        const shown = await textOf(rows);
        const columns = Number(new RegExp(`at-${width}=\\d+ (\\d+)`).exec(shown)?.[1]);
        const cell = (await page.locator(".xterm-screen").boundingBox())!.width / columns;
        // The width of a character: the terminal fills its place.
        assert.ok(cell > 6 && cell < 10, `${columns} columns, each ${cell} wide: ${shown}`);
        return columns;
      });
    };
    const [wide, narrow] = [await sizeIn(1280), await sizeIn(700)];
    assert.ok(narrow < wide, `${narrow} ${wide}`);
    await page.setViewportSize({ width: 1280, height: 860 });
    await page.evaluate(`(() => {
      const data = new DataTransfer();
      data.setData("text/plain", "echo pasted-$((6 * 7))\\n");
      const paste = new ClipboardEvent("paste", { clipboardData: data, bubbles: true });
      document.querySelector(".xterm-helper-textarea").dispatchEvent(paste);
    })()`);
    await page.keyboard.press("Enter");
    await rows.getByText("pasted-42").waitFor();
  });

  test("a container is restarted, and the log of its previous run is shown and downloaded", async () => {
    await show(`#/pods/default/${story}`);
    await page.getByRole("button", { name: "Restart …" }).click();
    await page.getByRole("button", { name: "Restart container" }).click();
    await page.locator(".toast").getByText("Container main was stopped and starts again").waitFor();
    await page.locator(".heading").getByText("1 restart ").waitFor();
    await page.locator(".container-card").getByText("Previous run").waitFor();
    await show(`#/pods/default/${story}/logs`);
    await page.getByLabel("Previous run").check();
    await page.getByText(/^End of the log, \d+ lines/).waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const file = await download;
    assert.equal(file.suggestedFilename(), `${story}-main-previous.log`);
    assert.match(readFileSync(await file.path(), "utf8"), /^line 0\nline 1\n/);
  });

  test("the pod is deleted", async () => {
    await show(`#/pods/default/${story}`);
    await page.getByRole("button", { name: "Delete …" }).click();
    await page.getByRole("button", { name: "Delete pod" }).click();
    await page.locator(".toast").waitFor();
    await page.getByText("This pod was deleted").waitFor();
    await screenshot(page, "deleted");
  });

  test("the page recovers without a reload after the kubelet was killed", async () => {
    await show("#/pods");
    await page.evaluate("window.notReloaded = true");
    await node.kill();
    await page.locator("[data-banner=reconnecting]").waitFor();
    await screenshot(page, "reconnecting");
    node = await UpNode.start("1.6", "-story");
    await page.getByRole("row", { name: /demo-.*Running 1\/1/ }).waitFor();
    await page.locator("[data-banner=reconnecting]").waitFor({ state: "detached" });
    assert.equal(await page.evaluate("window.notReloaded"), true);
    await screenshot(page, "pods");
    assert.deepEqual(opened.errors, []);
  });
});
