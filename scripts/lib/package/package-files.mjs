import { readFileSync } from "node:fs";
import { version as kubernetesVersion } from "../../../src/cli/version.ts";
import { bundledPackages, nativePackages, nodePackage } from "./components.mjs";
import { gzip } from "./compress.mjs";
import { debianArchs, debianCacheDir, debianPackage, debianTree } from "./debian-package.mjs";
import { archive, below, file, merge } from "./file-tree.mjs";
import { flagTexts } from "./flag-texts.mjs";
import { npmFiles } from "./npm-files.mjs";
import { npmPackage } from "./npm-package.mjs";
import {
  completionTree,
  exampleTree,
  licenseTree,
  nodeTree,
  programTree,
  setupTree,
} from "./program-files.mjs";
import { readRelease } from "./release.mjs";
import { sbom } from "./sbom.mjs";

export const formats = ["tar", "deb", "npm"];
const maintainer = "kubelet-ts <kubelet-ts@localhost>";

/** Each package with its bill of materials, made one at a time: they are large. The bundles have to be built. */
export function packageFiles({ root, archs, formats: wanted }) {
  const common = readCommon(root);
  const { release } = common;
  const files = [];
  for (const arch of archs) {
    let known;
    const parts = () => (known ??= partsOf(common, arch));
    const base = `kubelet-ts-${release.version}-linux-${arch}`;
    files.push({ name: `${base}.cdx.json`, make: () => parts().bill });
    if (wanted.includes("tar"))
      files.push({ name: `${base}.tar.gz`, make: () => tarball(common, parts(), base) });
    if (wanted.includes("deb")) {
      const name = `kubelet-ts_${release.debianVersion}_${debianArchs[arch]}.deb`;
      files.push({ name, make: () => debian(common, parts()) });
    }
  }
  if (wanted.includes("npm"))
    files.push({ name: `kubelet-ts-${release.version}.tgz`, make: () => forNpm(common, archs) });
  return files;
}

function readCommon(root) {
  const release = readRelease(root);
  const text = (path) => file(readFileSync(root + path));
  const documents = merge(
    new Map([
      ["LICENSE", text("LICENSE")],
      ["INSTALL.md", text("docs/INSTALL.md")],
    ]),
    exampleTree(root),
  );
  return {
    root,
    release,
    npm: npmFiles(root),
    texts: flagTexts(root, release),
    names: bundledPackages(root),
    documents,
  };
}

/** The parts that all packages for one architecture have. */
function partsOf({ root, release, npm, names: bundled, documents }, arch) {
  const names = [...bundled, ...nativePackages(arch), nodePackage(arch)];
  const components = names.map((name) => ({ name, ...npm.locked(name) }));
  const bill = sbom({
    release,
    arch,
    nodeParts: nodeParts(),
    packages: components.slice(0, -1),
    node: components.at(-1),
  });
  const licenses = below("licenses", licenseTree({ root, npm, names }));
  const all = merge(documents, licenses, new Map([["sbom.cdx.json", file(bill)]]));
  return { arch, names, bill, documents: all };
}

function program({ root, npm }, { arch }, cacheDir) {
  return merge(programTree({ root, npm, archs: [arch], cacheDir }), nodeTree({ npm, arch }));
}

/** An archive that can be unpacked anywhere. */
function tarball(common, parts, base) {
  const tree = merge(program(common, parts), parts.documents, setupTree(common.root, common.texts));
  return gzip(archive(tree, { seconds: common.release.seconds, prefix: `${base}/` }));
}

function debian(common, parts) {
  const { root, release, texts } = common;
  const tree = debianTree({
    root,
    ...texts,
    program: program(common, parts, debianCacheDir),
    documents: merge(parts.documents, new Map([["copyright", file(copyright(parts.names))]])),
  });
  const version = kubernetesVersion.replace(/^v/, "");
  return debianPackage({ root, tree, arch: parts.arch, release, kubernetesVersion: version, maintainer });
}

function forNpm({ root, release, npm, names, documents, texts }, archs) {
  const licensed = [...new Set([...names, ...archs.flatMap(nativePackages)])];
  const all = merge(
    documents,
    below("licenses", licenseTree({ root, npm, names: licensed })),
    new Map([["man/kubelet.8", file(texts.man)]]),
    below("completions", completionTree(texts)),
  );
  return npmPackage({ root, program: programTree({ root, npm, archs }), documents: all, release });
}

function copyright(names) {
  return `kubelet-ts is licensed under the Apache License, Version 2.0: see LICENSE here, and
/usr/share/common-licenses/Apache-2.0.

It contains the following software, whose licenses are in the directory licenses:

${names.map((name) => `- ${name}\n`).join("")}`;
}

/** The libraries that Node.js reports to contain, without the numbers of its interfaces. */
function nodeParts() {
  const { node: _node, modules: _modules, napi: _napi, ...parts } = process.versions;
  return parts;
}
