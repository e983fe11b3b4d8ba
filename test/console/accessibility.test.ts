import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { long } from "../long.ts";
import { browserUnavailable, launchBrowser, type OpenedPage, openPage } from "./browser.ts";
import { MockConsole } from "./mock-console.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Each view, with a text that shows that it is complete. */
const views: readonly (readonly [string, string, string])[] = [
  ["the node", "#/", "registry.example/postgres:17"],
  ["the pods", "#/pods", "api-11"],
  ["a ready pod", "#/pods/default/api-1", "registry.example/app:2.1"],
  ["a pod that is not ready", "#/pods/default/cache-3", "Read the previous logs"],
  ["logs", "#/pods/default/api-1/logs", "GET /items/200 "],
  ["the terminal", "#/pods/default/api-1/terminal", "Connected"],
  ["events", "#/pods/default/api-1/events", "Started container app"],
  ["YAML", "#/pods/default/api-1/yaml", "kind: Pod"],
  ["apply", "#/apply", "Validate"],
  ["an unknown view", "#/nothing", "There is no such page"],
];

describe(long("accessibility of the console page"), { skip: browserUnavailable }, () => {
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
  });

  const serious = async (): Promise<string[]> => {
    // Evaluated by the debugger, so the content security policy of the page does not matter.
    const violations: Violation[] = await page.evaluate(
      `(async () => { if (!window.axe) { ${axe} } return (await axe.run()).violations; })()`,
    );
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}\n${node.failureSummary}`));
  };

  for (const [what, hash, text] of views)
    test(`axe finds nothing serious in ${what}, light, dark and at phone width`, async () => {
      await page.goto(mock.url + hash);
      await page.getByText(text).first().waitFor();
      assert.deepEqual(await serious(), []);
      await page.emulateMedia({ colorScheme: "dark" });
      assert.deepEqual(await serious(), []);
      await page.setViewportSize({ width: 390, height: 844 });
      assert.deepEqual(await serious(), []);
      const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
      assert.equal(await page.evaluate(overflow), 0, "the page scrolls sideways");
    });

  test("axe finds nothing serious in the dialogs and in a rejected manifest", async () => {
    await page.goto(`${mock.url}#/pods/default/api-1`);
    await page.getByRole("button", { name: "Delete …" }).click();
    assert.deepEqual(await serious(), []);
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    assert.deepEqual(await serious(), []);
    await page.keyboard.press("Escape");
    await page.goto(`${mock.url}#/apply`);
    await page.getByRole("textbox").fill("imgae: x");
    await page.getByRole("button", { name: "Validate" }).click();
    await page.getByRole("button", { name: "Line 1" }).waitFor();
    assert.deepEqual(await serious(), []);
  });

  /** Presses Tab until the focus is on an element with this name; fails if that takes too long. */
  const tabTo = async (name: string | RegExp) => {
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press("Tab");
      const focused = await page.evaluate(
        "document.activeElement.getAttribute('aria-label') || document.activeElement.innerText || ''",
      );
      if (typeof name === "string" ? focused === name : name.test(String(focused))) return;
    }
    assert.fail(`Tab does not reach ${name}`);
  };

  test("every action works by keyboard alone", async () => {
    await page.goto(mock.url);
    await page.getByRole("heading", { name: "node-1" }).waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate("document.activeElement.innerText"), "Skip to content");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate("document.activeElement.tagName"), "MAIN");

    // To a pod of the list, by shortcuts; the focus is on the heading of each view.
    await page.keyboard.press("g");
    await page.keyboard.press("p");
    await page.locator("h1:focus").getByText("Pods").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("api-1");
    await page.getByText(/^\d+ of 60 pods/).waitFor();
    await tabTo(/^Not ready/);
    await page.keyboard.press("Space");
    await page.getByText(/^1 of 60 pods|^0 of 60 pods|^\d of 60 pods/).waitFor();
    await page.keyboard.press("Space");
    await tabTo("api-1");
    await page.keyboard.press("j");
    await page.locator("a:focus").getByText("api-11").waitFor();
    await page.keyboard.press("k");
    await page.locator("a:focus").getByText("api-1", { exact: true }).waitFor();
    await page.keyboard.press("Enter");
    await page.locator("h1:focus").getByText("api-1", { exact: true }).waitFor();

    // Delete, with the dialog; the focus returns to the button.
    await tabTo("Delete …");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await tabTo("Delete pod");
    await page.keyboard.press("Enter");
    await page.locator(".toast").getByText("is terminating").waitFor();
    assert.deepEqual(mock.changes, ["POST /console/api/pods/uid-1/delete"]);
    await page.locator("button:focus").getByText("Delete …").waitFor();

    await tabTo("Restart …");
    await page.keyboard.press("Enter");
    await tabTo("Restart container");
    await page.keyboard.press("Enter");
    await page.locator(".toast").getByText("is stopping").waitFor();

    // Into a terminal and out of it.
    await page.locator("h1").focus();
    await tabTo("Terminal");
    await page.keyboard.press("Enter");
    await page.getByText("Connected").waitFor();
    await page.keyboard.type("hostname\n");
    await page.locator(".xterm-rows").getByText("mock-host").waitFor();
    await page.keyboard.press("Shift+Escape");
    await page.locator("button:focus").getByText("Start again").waitFor();

    // Apply.
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await page.locator("h1:focus").getByText("Apply a manifest").waitFor();
    await tabTo(/^Manifest/);
    await page.keyboard.type("name: x");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await tabTo("Apply");
    await page.keyboard.press("Enter");
    await page.locator(".toast").getByText("default/x created").waitFor();
  });

  test("each element that has the focus shows it", async () => {
    await page.goto(`${mock.url}#/pods`);
    await page.getByText("60 pods").waitFor();
    for (let presses = 0; presses < 20; presses++) {
      await page.keyboard.press("Tab");
      const outline = await page.evaluate(
        "(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle + ' ' + s.outlineWidth; })()",
      );
      assert.doesNotMatch(String(outline), /^none|\b0px/);
    }
  });
});
