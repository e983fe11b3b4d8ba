import { readFileSync } from "node:fs";
import { gzip } from "./compress.mjs";
import { archive, below, file, merge } from "./file-tree.mjs";

/** The package for `npm install -g`. npm installs Node.js for the machine as an optional dependency. */
export function npmPackage({ root, program, documents, release }) {
  const project = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  const manifest = {
    name: project.name,
    version: release.version,
    description: project.description,
    license: project.license,
    os: ["linux"],
    cpu: ["x64", "arm64"],
    libc: ["glibc"],
    bin: { ...project.bin, "kubectl-why": "bin/kubectl-why", "kubectl_complete-why": "bin/kubectl-why" },
    man: ["man/kubelet.8"],
    optionalDependencies: project.optionalDependencies,
  };
  const tree = merge(
    program,
    documents,
    new Map([["package.json", file(`${JSON.stringify(manifest, null, 2)}\n`)]]),
  );
  return gzip(archive(below("package", tree), { seconds: release.seconds }));
}
