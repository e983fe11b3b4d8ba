// dist/: a bundle for each command in src/cli; dist/main.cjs, which loads the bundle of a command; and dist/kubelet.cjs, which loads dist/main.cjs.
// Next to each: its compiled code, its source map, and <name>.log-sites.json, where its log calls are in the sources. Native code (koffi) stays in
// node_modules. dist/metafile.json: which file of the sources is in which bundle. dist/console: the page of the console.
// dist/kubectl-why: the plugin of kubectl.
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { buildConsole } from "./console-bundle.mjs";
import { buildKubectlWhy } from "./kubectl-why-bundle.mjs";
import { leanPackages } from "./lean-packages.mjs";
import { logSites } from "./log-sites.mjs";
import { makeCodeCaches } from "./make-code-cache.mjs";
import { root } from "./node-packages.mjs";
import { print, seconds } from "./print.mjs";
import { bundlesIn, launcher } from "./program-launcher.mjs";

const stampFile = `${root}dist/.built-from`;

export async function buildIfStale() {
  const stamp = fingerprint();
  if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp) return;
  await build();
  writeFileSync(stampFile, stamp);
}

/** "agent" for src/cli/agent-command.ts. */
const nameOf = (file) => basename(file, ".ts").replace(/-command$/, "");

/** Dynamic imports of main.ts are separate bundles. */
const commandsApart = {
  name: "commands apart",
  setup(build) {
    build.onResolve({ filter: /^\.\/[a-z]+-command\.ts$/ }, ({ path, kind }) =>
      kind === "dynamic-import" ? { path: `./${nameOf(path)}.cjs`, external: true } : undefined,
    );
  },
};

export function bundleOptions() {
  const commands = globSync("src/cli/*-command.ts", { cwd: root }).sort();
  return {
    absWorkingDir: root,
    entryPoints: Object.fromEntries(["src/cli/main.ts", ...commands].map((file) => [nameOf(file), file])),
    outdir: "dist",
    outExtension: { ".js": ".cjs" },
    plugins: [commandsApart, leanPackages],
    bundle: true,
    platform: "node",
    target: "node24",
    format: "cjs",
    // koffi is native code. grpc-js loads the other for a service that is not used here.
    external: ["koffi", "@grpc/proto-loader"],
    // require() instead: it needs neither the ES module loader nor another tick of the event loop.
    supported: { "dynamic-import": false },
    minifyWhitespace: true,
    minifySyntax: true,
    // Names are kept for stacks, profiles and heap snapshots; shorter ones save almost no memory.
    minifyIdentifiers: false,
    // An uncaught exception makes Node.js print the line that it comes from.
    lineLimit: 400,
    sourcemap: "linked",
    sourcesContent: false,
    legalComments: "none",
    logLevel: "warning",
    metafile: true,
  };
}

export async function build() {
  const started = Date.now();
  const { build: bundle } = await import("esbuild");
  mkdirSync(`${root}dist`, { recursive: true });
  rmSync(`${root}dist/.compile-cache`, { recursive: true, force: true });
  const { metafile } = await bundle(bundleOptions());
  const page = await buildConsole();
  const why = await buildKubectlWhy();
  const all = {
    inputs: { ...page.inputs, ...why.inputs, ...metafile.inputs },
    outputs: { ...page.outputs, ...why.outputs, ...metafile.outputs },
  };
  writeFileSync(`${root}dist/metafile.json`, JSON.stringify(all));
  for (const file of Object.keys(metafile.outputs).filter((output) => output.endsWith(".cjs"))) {
    const [text, map] = [file, `${file}.map`].map((name) => readFileSync(root + name, "utf8"));
    const at = text.search(/[^\0-\x7f]/);
    // V8 stores a string with one such character with two bytes per character.
    if (at >= 0)
      throw new Error(`${file} is not ASCII, escape it in the source: ${text.slice(at - 40, at + 40)}`);
    writeFileSync(root + file.replace(/\.cjs$/, ".log-sites.json"), JSON.stringify(logSites(text, map)));
  }
  makeCodeCaches(bundlesIn(`${root}dist/`).map((name) => `${root}dist/${name}`));
  writeFileSync(`${root}dist/kubelet.cjs`, launcher(`${root}dist/`));
  print(`Built dist/kubelet.cjs in ${seconds(started)}`);
}

/** Everything that goes into the bundles. Contents, not times: a checkout touches files without changing them. */
function fingerprint() {
  const hash = createHash("sha256");
  const sources = globSync("src/**/*.{ts,tsx,js,json,html,css,svg}", { cwd: root }).filter(
    (f) => !f.endsWith(".test.ts"),
  );
  const scripts = [
    "bundle",
    "console-bundle",
    "kubectl-why-bundle",
    "lean-packages",
    "log-sites",
    "make-code-cache",
    "program-launcher",
  ].map((name) => `scripts/lib/${name}.mjs`);
  const build = ["package.json", "package-lock.json", ...scripts];
  for (const file of [...build, ...sources.sort()]) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(root + file))
      .update("\0");
  }
  return hash.digest("hex");
}
