// One bundle, dist/bundle.cjs, and dist/kubelet.cjs that loads it. dist/bundle.log-sites.json: where log calls are in the sources.
// Native code (koffi) stays in node_modules, beside it.
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { logSites } from "./log-sites.mjs";
import { root } from "./node-packages.mjs";
import { say, seconds } from "./say.mjs";

const stampFile = `${root}dist/.built-from`;

// A separate first file: code is looked up in the cache when it is loaded, so the cache must be on before the bundle.
const launcher = `"use strict";
require("node:module").enableCompileCache(require("node:path").join(__dirname, ".compile-cache"));
require("./bundle.cjs");
`;

export async function buildIfStale() {
  const stamp = fingerprint();
  if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp) return;
  await build();
  writeFileSync(stampFile, stamp);
}

export async function build() {
  const started = Date.now();
  const { build: bundle } = await import("esbuild");
  mkdirSync(`${root}dist`, { recursive: true });
  rmSync(`${root}dist/.compile-cache`, { recursive: true, force: true });
  await bundle({
    absWorkingDir: root,
    entryPoints: ["src/cli/main.ts"],
    outfile: "dist/bundle.cjs",
    bundle: true,
    platform: "node",
    target: "node24",
    format: "cjs",
    external: ["koffi"],
    sourcemap: "linked",
    sourcesContent: false,
    legalComments: "none",
    logLevel: "warning",
    define: {
      "import.meta.dirname": "__dirname",
      "import.meta.filename": "__filename",
      "import.meta.url": "importMetaUrl",
    },
    banner: { js: 'const importMetaUrl = require("node:url").pathToFileURL(__filename).href;' },
  });
  const sites = logSites(
    readFileSync(`${root}dist/bundle.cjs`, "utf8"),
    readFileSync(`${root}dist/bundle.cjs.map`, "utf8"),
  );
  writeFileSync(`${root}dist/bundle.log-sites.json`, JSON.stringify(sites));
  writeFileSync(`${root}dist/kubelet.cjs`, launcher);
  say(`Built dist/kubelet.cjs in ${seconds(started)}`);
}

/** Everything that goes into the bundle. Contents, not times: a checkout touches files without changing them. */
function fingerprint() {
  const hash = createHash("sha256");
  const sources = globSync("src/**/*.{ts,js,json,html,css}", { cwd: root }).filter(
    (f) => !f.endsWith(".test.ts"),
  );
  const build = ["package.json", "package-lock.json", "scripts/lib/bundle.mjs", "scripts/lib/log-sites.mjs"];
  for (const file of [...build, ...sources.sort()]) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(root + file))
      .update("\0");
  }
  return hash.digest("hex");
}
