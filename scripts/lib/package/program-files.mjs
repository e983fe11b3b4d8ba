// The files of the program, the same in all packages.
import { globSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { bundlesIn, launcher } from "../program-launcher.mjs";
import { licenseText, nativePackages, nodePackage } from "./components.mjs";
import { below, file, merge } from "./file-tree.mjs";

const executable = 0o755;

/** bin/kubelet, the plugin of kubectl and the bundles, with the native code of the architectures. `cacheDir`: where compiled code is cached, if not next to them. */
export function programTree({ root, npm, archs, cacheDir }) {
  const bundles = readdirSync(`${root}dist`)
    .filter((name) => /\.(cjs|cjs\.map|log-sites\.json)$/.test(name) && name !== "kubelet.cjs")
    // Compiled code is of this architecture; others compile it at the first start.
    .concat(archs.includes(process.arch) ? bundlesIn(`${root}dist/`).map((name) => `${name}.cache`) : [])
    .map((name) => [`dist/${name}`, file(readFileSync(`${root}dist/${name}`))]);
  const page = globSync("dist/console/{*,assets/*}.*", { cwd: root }).sort();
  return merge(
    new Map([
      ["bin/kubelet", file(readFileSync(`${root}bin/kubelet`), executable)],
      ["bin/kubectl-why", file(readFileSync(`${root}dist/kubectl-why/kubectl-why`), executable)],
      ["dist/kubelet.cjs", file(launcher(`${root}dist/`, cacheDir))],
      ...bundles,
      ...page.map((path) => [path, file(readFileSync(root + path))]),
    ]),
    // Next to the bundles, so that they find it wherever they are: npm does not look for packages there.
    ...archs.map((arch) => below("dist/node_modules", nativeTree(npm, arch))),
  );
}

function nativeTree(npm, arch) {
  const [koffi, binary] = nativePackages(arch);
  const { name, version, main, exports, type } = JSON.parse(npm.read(koffi, "package.json"));
  const scripts = ["src/koffi/index.cjs", "src/koffi/src/static.cjs", "src/koffi/src/trampolines.cjs"];
  const paths = ["index.cjs", ...scripts, "LICENSE.txt"];
  const addon = `linux_${arch}/koffi.node`;
  return new Map([
    // The package of koffi, without its install script and the binaries of other platforms.
    [`${koffi}/package.json`, file(`${JSON.stringify({ name, version, type, main, exports }, null, 2)}\n`)],
    ...paths.map((path) => [`${koffi}/${path}`, file(npm.read(koffi, path))]),
    ...["package.json", "index.js", addon].map((path) => [`${binary}/${path}`, file(npm.read(binary, path))]),
  ]);
}

/** Node.js, where bin/kubelet looks for it. */
export function nodeTree({ npm, arch }) {
  const name = nodePackage(arch);
  return new Map([[`node_modules/${name}/bin/node`, file(npm.read(name, "bin/node"), executable)]]);
}

/** A file for each component: its license. */
export function licenseTree({ root, npm, names }) {
  const apache = readFileSync(`${root}LICENSE`, "utf8");
  return new Map(
    names.map((name) => [
      `${name.replace("@", "").replace("/", "-")}.txt`,
      file(licenseText(name, { npm, apache })),
    ]),
  );
}

export function exampleTree(root) {
  const entries = globSync("examples/**/*", { cwd: root, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return new Map(
    entries.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [relative(root, path), file(readFileSync(path))];
    }),
  );
}

/** Files that an administrator copies from an archive that is unpacked manually. */
export function setupTree(root, texts) {
  const packaging = (name) => file(readFileSync(`${root}packaging/${name}`));
  return merge(
    new Map([
      ["systemd/kubelet.service", packaging("kubelet.service")],
      ["etc/default/kubelet", packaging("default-kubelet")],
      ["etc/kubernetes/kubelet.yaml", packaging("kubelet.yaml")],
      ["man/kubelet.8", file(texts.man)],
    ]),
    below("completions", completionTree(texts)),
  );
}

export function completionTree({ shellFiles: { bash, zsh, fish } }) {
  return new Map([
    ["kubelet.bash", file(bash)],
    ["_kubelet", file(zsh)],
    ["kubelet.fish", file(fish)],
  ]);
}
