// dist/kubectl-why/kubectl-why: the plugin of kubectl, one file that also runs on machines without kubelet-ts.
import { mkdirSync, writeFileSync } from "node:fs";
import { root } from "./node-packages.mjs";

const dir = `${root}dist/kubectl-why`;
const outfile = "dist/kubectl-why/kubectl-why";

/**
 * A shell reads the first lines, finds Node.js and has it run the same file, for which they are a comment and a string: the Node.js in KUBELET_NODE, that of a
 * package of kubelet-ts, or the one in PATH.
 */
const start = `#!/bin/sh
":" //; d=$(dirname "$(readlink -f "$0")"); for n in "\${KUBELET_NODE:-}" "$d"/../node_modules/node-linux-*/bin/node "$d"/../../node_modules/node-linux-*/bin/node "$d"/../../node-linux-*/bin/node node; do command -v "$n" >/dev/null 2>&1 && exec "$n" "$0" "$@"; done
":" //; echo "kubectl why: Node.js 20 or newer is needed" >&2; exit 1
`;

export async function buildKubectlWhy() {
  const { build } = await import("esbuild");
  mkdirSync(dir, { recursive: true });
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["src/cli/why/kubectl-why.ts"],
    outfile,
    bundle: true,
    write: false,
    platform: "node",
    target: "node20",
    format: "cjs",
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 400,
    legalComments: "none",
    logLevel: "warning",
    metafile: true,
  });
  writeFileSync(`${root}${outfile}`, start + outputFiles[0].text, { mode: 0o755 });
  // The project's own type is "module".
  writeFileSync(`${dir}/package.json`, '{ "type": "commonjs" }\n');
  return metafile;
}
