import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, CDPSession, Page } from "playwright-core";
import { long } from "../long.ts";
import { browserUnavailable, launchBrowser, openPage } from "./browser.ts";
import { MockConsole } from "./mock-console.ts";
import { mockUsage } from "./mock-objects.ts";

const podCount = 250;
const changesPerSecond = 20;
const seconds = 10;

/** CPU time of the page's main thread, in seconds. */
async function threadTime(session: CDPSession): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration")!.value;
}

/** The longest delay of a timer in the page's main thread, caused by tasks of the page and by other processes. */
const watchStalls = `(() => {
  let before = performance.now();
  window.longestStall = 0;
  setInterval(() => {
    const now = performance.now();
    window.longestStall = Math.max(window.longestStall, now - before - 10);
    before = now;
  }, 10);
})()`;

const watchLongTasks = `(() => {
  window.longTasks = [];
  new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((e) => e.duration))).observe({ type: "longtask" });
})()`;

describe(long("load of the console page"), { skip: browserUnavailable }, () => {
  let browser: Browser;
  const mock = new MockConsole(podCount);
  before(async () => {
    await mock.start();
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    await mock.stop();
  });

  /** Sends changes as a busy node does: five messages a second, each with several pods, and usage of all pods every five seconds. */
  async function change(): Promise<void> {
    const perMessage = changesPerSecond / 5;
    let next = 0;
    for (let message = 0; message < seconds * 5; message++) {
      const changed = Array.from({ length: perMessage }, () => {
        next += 7;
        const pod = mock.pods.get(`uid-${next % podCount}`)!;
        return { ...pod, restarts: pod.restarts + 1, revision: pod.revision + 1 };
      });
      const now = Date.now();
      const pods = Object.fromEntries(
        [...mock.pods.keys()].map((uid, index) => [uid, mockUsage(now, index)]),
      );
      const usage = message % 25 === 0 ? { usage: [{ at: now, node: mockUsage(now, 0, 30), pods }] } : {};
      mock.update(changed, usage);
      await sleep(200);
    }
  }

  async function measure(page: Page, idle: Page) {
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    await page.evaluate(watchLongTasks);
    await idle.evaluate(watchStalls);
    const start = await threadTime(session);
    const started = performance.now();
    await change();
    const share = (await threadTime(session)) - start;
    const longTasks: number[] = await page.evaluate("window.longTasks");
    const stall: number = await idle.evaluate("window.longestStall");
    return {
      share: share / ((performance.now() - started) / 1000),
      longest: Math.max(0, ...longTasks),
      stall,
    };
  }

  for (const [what, hash] of [
    ["the pods", "#/pods"],
    ["the node", "#/"],
  ] as const)
    test(`${changesPerSecond} changes a second of ${podCount} pods keep the main thread of ${what} below 30% of a core, without tasks over 100 ms`, async (context) => {
      const { page, context: tab } = await openPage(browser);
      const idle = await openPage(browser);
      await page.goto(mock.url + hash);
      await page.getByRole("heading", { level: 1 }).waitFor();
      const { share, longest, stall } = await measure(page, idle.page);
      context.diagnostic(
        `main thread ${(share * 100).toFixed(1)}%, longest task ${longest.toFixed(0)} ms, idle page ${stall.toFixed(0)} ms`,
      );
      assert.ok(share < 0.3, `${(share * 100).toFixed(1)}% of a core`);
      // A page that does nothing is stalled by other processes, too.
      assert.ok(longest < 100 + stall, `a task took ${longest} ms, an idle page was stalled for ${stall} ms`);
      await tab.close();
      await idle.context.close();
    });

  test("a change of one pod changes one row", async () => {
    const { page, context: tab } = await openPage(browser);
    await page.goto(`${mock.url}#/pods?sort=name`);
    await page.getByRole("link", { name: "api-1", exact: true }).waitFor();
    await page.evaluate(`(() => {
      window.rows = new Set();
      new MutationObserver((list) => {
        for (const { target } of list) {
          const row = (target.nodeType === 1 ? target : target.parentElement).closest("[data-index]");
          // The age of other rows changes with time.
          if (row && !target.parentElement.closest("time") && target.tagName !== "TIME") window.rows.add(row.dataset.index);
        }
      }).observe(document.querySelector(".viewport"), { subtree: true, childList: true, characterData: true, attributes: true });
    })()`);
    const pod = mock.pods.get("uid-1")!;
    mock.update([{ ...pod, status: "Changed", revision: pod.revision + 1 }]);
    await page.getByText("Changed").waitFor();
    assert.deepEqual(await page.evaluate("[...window.rows]"), ["0"]);
    await tab.close();
  });
});
