import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { repoDir } from "../e2e/agent-process.ts";
import { long } from "../long.ts";
import { browserUnavailable, launchBrowser, openPage } from "./browser.ts";
import { MockConsole } from "./mock-console.ts";

/** The time is fixed, so that a screenshot changes only with the page. */
const now = Date.parse("2026-11-17T14:23:40Z");
const desktop = { width: 1200, height: 760 };
const phone = { width: 390, height: 780 };
const schemes = ["light", "dark"] as const;

interface Shot {
  readonly name: string;
  readonly hash: string;
  /** Shows that the view is complete. */
  readonly text: string;
  readonly size?: typeof desktop;
  /** Before the picture is taken. */
  readonly act?: (page: Page, mock: MockConsole) => Promise<void>;
}

const manifest = `apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: { app: web }
spec:
  containers:
    - name: web
      imgae: registry.example/web:1.4
      ports:
        - containerPort: 8080
      resources:
        requests: { cpu: 100m, memory: 64Mi }
`;

const command = async (page: Page, text: string, output: string) => {
  await page.keyboard.type(`${text}\n`);
  await page.locator(".xterm-rows").getByText(output).waitFor();
};

const shots: readonly Shot[] = [
  { name: "node", hash: "#/", text: "registry.example/postgres:17", size: { width: 1200, height: 1000 } },
  { name: "pods", hash: "#/pods?sort=status", text: "cache-3" },
  {
    name: "pod",
    hash: "#/pods/default/cache-3",
    text: "Read the previous logs",
    size: { width: 1200, height: 980 },
  },
  {
    name: "pod-ready",
    hash: "#/pods/default/worker-2",
    text: "log-shipper",
    size: { width: 1200, height: 980 },
  },
  {
    name: "logs",
    hash: "#/pods/default/api-1/logs",
    text: "/items/200 ",
    act: async (page) => {
      await page.getByLabel("Timestamps").check();
      await page.getByRole("searchbox").fill("slow");
    },
  },
  {
    name: "terminal",
    hash: "#/pods/default/api-1/terminal",
    text: "Connected",
    size: { width: 1200, height: 520 },
    act: async (page) => {
      await command(page, "hostname", "mock-host");
      await command(page, "ls -l /etc/app", "log.conf");
      await command(page, "wget -qO- localhost:8080/healthz", "ok");
    },
  },
  {
    name: "events",
    hash: "#/pods/default/cache-3/events",
    text: "Back-off restarting",
    size: { width: 1200, height: 460 },
  },
  { name: "yaml", hash: "#/pods/default/api-1/yaml", text: "kind: Pod" },
  {
    name: "apply",
    hash: "#/apply",
    text: "Validate",
    size: { width: 1200, height: 640 },
    act: async (page) => {
      await page.getByRole("textbox").fill(manifest);
      await page.getByRole("button", { name: "Validate" }).click();
      await page.getByRole("button", { name: "Line 9" }).waitFor();
    },
  },
  {
    name: "delete",
    hash: "#/pods/default/worker-2",
    text: "log-shipper",
    act: async (page) => {
      await page.getByRole("button", { name: "Delete …" }).click();
      await page.getByRole("dialog").waitFor();
    },
  },
  {
    name: "reconnecting",
    hash: "#/pods",
    text: "api-1",
    act: async (page, mock) => {
      await mock.stop();
      await page.locator("[data-banner=reconnecting]").waitFor();
    },
  },
  { name: "phone-node", hash: "#/", text: "KubeletReady", size: phone },
  { name: "phone-pods", hash: "#/pods", text: "api-11", size: phone },
  { name: "phone-pod", hash: "#/pods/default/cache-3", text: "Read the previous logs", size: phone },
];

/** The documents have these; the others are for reviews of a change of the page. */
const committed = join(repoDir, "docs/images");
const documents = ["README.md", "docs/CONSOLE.md", "docs/SCREENSHOTS.md"];

/** WebP is a third of the size of PNG; playwright-core has no option for it. */
async function picture(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 78 });
  await session.detach();
  return Buffer.from(data, "base64");
}

describe(long("screenshots of the console page"), { skip: browserUnavailable }, () => {
  let browser: Browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser.close());

  for (const { name, hash, text, size = desktop, act } of shots)
    test(`the view "${name}" is complete in light and dark, and has no errors`, async () => {
      const pictures = new Set<string>();
      for (const colorScheme of schemes) {
        const mock = new MockConsole(60, () => now);
        await mock.start();
        const { page, context, errors } = await openPage(browser, {
          viewport: size,
          colorScheme,
          deviceScaleFactor: 1.5,
          timezoneId: "UTC",
        });
        try {
          await page.clock.setFixedTime(now);
          await page.goto(mock.url + hash);
          await page.getByText(text).first().waitFor();
          await act?.(page, mock);
          const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
          assert.equal(await page.evaluate(overflow), 0, "the page scrolls sideways");
          const image = await picture(page);
          pictures.add(createHash("sha256").update(image).digest("hex"));
          save(`console-${name}-${colorScheme}.webp`, image);
          assert.deepEqual(errors, []);
        } finally {
          await context.close();
          await mock.stop().catch(() => {});
        }
      }
      assert.equal(pictures.size, 2, "light and dark look the same");
    });

  test("each picture of the documents is one of these, and each committed picture is used", () => {
    const texts = documents.map((file) => readFileSync(join(repoDir, file), "utf8"));
    const used = new Set(texts.flatMap((text) => text.match(/console-[\w-]+\.webp/g) ?? []));
    const known = new Set(shots.flatMap(({ name }) => schemes.map((s) => `console-${name}-${s}.webp`)));
    assert.deepEqual(used, new Set(readdirSync(committed)));
    for (const name of used) assert.ok(known.has(name), name);
    for (const name of used) {
      const other = name.includes("-light")
        ? name.replace("-light", "-dark")
        : name.replace("-dark", "-light");
      assert.ok(used.has(other), `${name} has no counterpart`);
    }
  });
});

/** Into the directory that the environment variable SCREENSHOTS names. */
function save(file: string, image: Buffer): void {
  const dir = process.env.SCREENSHOTS;
  if (!dir) return;
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, file), image);
}
