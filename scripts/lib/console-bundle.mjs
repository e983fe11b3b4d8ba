// dist/console: the page of the console. Names contain a hash of the content, so that browsers may cache the files for ever; index.html
// names them. Each file is also there compressed, so that serving it costs no CPU.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { root } from "./node-packages.mjs";

const page = "src/console/page";
const outdir = "dist/console";

export function consoleOptions() {
  return {
    absWorkingDir: root,
    entryPoints: { main: `${page}/main.tsx`, icon: `${page}/icon.svg` },
    outdir,
    entryNames: "assets/[name]-[hash]",
    chunkNames: "assets/[name]-[hash]",
    assetNames: "assets/[name]-[hash]",
    loader: { ".svg": "copy" },
    bundle: true,
    // The terminal is loaded when it is opened.
    splitting: true,
    format: "esm",
    platform: "browser",
    target: ["chrome115", "firefox115", "safari16.4"],
    jsx: "automatic",
    jsxImportSource: "preact",
    minify: true,
    sourcemap: false,
    legalComments: "none",
    logLevel: "warning",
    metafile: true,
  };
}

/** Builds the page; returns esbuild's metafile. */
export async function buildConsole() {
  const { build } = await import("esbuild");
  rmSync(root + outdir, { recursive: true, force: true });
  mkdirSync(root + outdir, { recursive: true });
  const { metafile } = await build(consoleOptions());
  const files = Object.keys(metafile.outputs).map((file) => relative(outdir, file));
  const named = (name, extension) =>
    files.find((file) => file.startsWith(`assets/${name}-`) && file.endsWith(extension));
  const html = readFileSync(`${root}${page}/index.html`, "utf8")
    .replace("main.js", named("main", ".js"))
    .replace("main.css", named("main", ".css"))
    .replace("icon.svg", named("icon", ".svg"));
  writeFileSync(`${root}${outdir}/index.html`, html);
  for (const file of [...files, "index.html"]) compress(`${root}${outdir}/${file}`);
  return metafile;
}

function compress(file) {
  const content = readFileSync(file);
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
  writeFileSync(`${file}.br`, brotliCompressSync(content, { params }));
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
}
