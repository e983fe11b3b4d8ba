// Runs under Node 24: builds the bundles and the packages from them. The same commit results in the same bytes.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { build } from "../bundle.mjs";
import { root } from "../node-packages.mjs";
import { fail, print, seconds } from "../print.mjs";
import { debianArchs } from "./debian-package.mjs";
import { formats, packageFiles } from "./package-files.mjs";

try {
  await makePackages(readArguments());
} catch (error) {
  fail(`npm run package: ${error.message}`);
}

function readArguments() {
  const { values } = parseArgs({
    options: {
      arch: { type: "string", multiple: true, default: Object.keys(debianArchs) },
      format: { type: "string", multiple: true, default: formats },
      out: { type: "string", default: join(root, "packages") },
    },
  });
  const check = (name, known) => {
    const unknown = values[name].find((value) => !known.includes(value));
    if (unknown !== undefined) throw new Error(`--${name} ${unknown}: must be one of ${known.join(", ")}`);
  };
  check("arch", Object.keys(debianArchs));
  check("format", formats);
  return { archs: values.arch, formats: values.format, out: resolve(values.out) };
}

async function makePackages({ out, ...options }) {
  const started = Date.now();
  await build();
  mkdirSync(out, { recursive: true });
  // Packages of other commits; nothing else that the directory has.
  for (const entry of readdirSync(out, { withFileTypes: true }))
    if (entry.isFile() && /^(kubelet-ts[-_].*|SHA256SUMS)$/.test(entry.name)) rmSync(join(out, entry.name));
  const sums = [];
  const packages = packageFiles({ root, ...options });
  for (const { name, make } of packages) {
    const data = make();
    writeFileSync(join(out, name), data);
    print(`  ${sums.length + 1} of ${packages.length}: ${name} (${seconds(started)})`);
    sums.push(`${createHash("sha256").update(data).digest("hex")}  ${name}\n`);
  }
  writeFileSync(join(out, "SHA256SUMS"), sums.join(""));
  print(`Made ${sums.length} packages in ${out} in ${seconds(started)}`);
}
