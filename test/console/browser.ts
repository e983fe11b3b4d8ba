import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { timeoutFactor } from "../timeout-factor.ts";

/** Why there is no browser, or false. */
export const browserUnavailable: string | false = existsSync("/usr/bin/chromium")
  ? false
  : "chromium is not installed";

/** Debian's Chromium, headless, without a sandbox because tests run as root. */
export function launchBrowser(): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"];
  return chromium.launch({ executablePath: "/usr/bin/chromium", args });
}

export interface OpenedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of the page: uncaught exceptions, violations of the content security policy, failed files. */
  readonly errors: string[];
}

export async function openPage(
  browser: Browser,
  options: Parameters<Browser["newContext"]>[0] = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  context.setDefaultTimeout(10_000 * timeoutFactor);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error.stack ?? error)));
  page.on("console", (message) => {
    // A node that is down, and a rejected manifest, are requests that fail on purpose.
    if (message.type() === "error" && !/Failed to load resource|EventSource/.test(message.text()))
      errors.push(message.text());
  });
  return { page, context, errors };
}

/** Writes a picture if the environment variable SCREENSHOTS names a directory. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const dir = process.env.SCREENSHOTS;
  if (!dir) return;
  mkdirSync(dir, { recursive: true });
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(dir, `${name}-${colorScheme}.png`), animations: "disabled" });
  }
  await page.emulateMedia({ colorScheme: "light" });
}
