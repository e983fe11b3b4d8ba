import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { ar } from "./ar.mjs";
import { gzip, zstd } from "./compress.mjs";
import { archive, below, byText, file, link, merge } from "./file-tree.mjs";

export const debianArchs = { x64: "amd64", arm64: "arm64" };
const home = "usr/lib/kubelet-ts";
/** Files that dpkg does not overwrite after the administrator has changed them. */
const conffiles = ["/etc/default/kubelet", "/etc/kubernetes/kubelet.yaml"];

/** Where compiled code is cached: a package does not write below /usr. */
export const debianCacheDir = "/var/cache/kubelet-ts";

/** Other packages, by the fields of the control file. */
export const relations = {
  Depends: "libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 9), init-system-helpers (>= 1.54), mount, util-linux",
  Recommends:
    "containerd (>= 1.6) | containerd.io | cri-o, containernetworking-plugins | kubernetes-cni, iptables",
  Suggests: "kubectl, kubeadm, nfs-common, open-iscsi",
};

/** The files of the package. `program`: bin, dist and Node.js; `documents`: below /usr/share/doc/kubelet-ts. */
export function debianTree({ root, program, documents, shellFiles, man }) {
  const packaging = (name) => file(readFileSync(`${root}packaging/${name}`));
  return merge(
    below(home, program),
    new Map([
      ["usr/bin/kubelet", link("../lib/kubelet-ts/bin/kubelet")],
      // The second name is for completions.
      ...["kubectl-why", "kubectl_complete-why"].map((name) => [
        `usr/bin/${name}`,
        link("../lib/kubelet-ts/bin/kubectl-why"),
      ]),
      ["usr/lib/systemd/system/kubelet.service", packaging("kubelet.service")],
      ["etc/default/kubelet", packaging("default-kubelet")],
      ["etc/kubernetes/kubelet.yaml", packaging("kubelet.yaml")],
      ["usr/share/man/man8/kubelet.8.gz", file(gzip(Buffer.from(man)))],
      ["usr/share/bash-completion/completions/kubelet", file(shellFiles.bash)],
      ["usr/share/zsh/vendor-completions/_kubelet", file(shellFiles.zsh)],
      ["usr/share/fish/vendor_completions.d/kubelet.fish", file(shellFiles.fish)],
    ]),
    below("usr/share/doc/kubelet-ts", documents),
  );
}

/** Directories of the package that have no files. */
const emptyDirs = ["etc/kubernetes/manifests"];

/** A Debian package, without tools of Debian. */
export function debianPackage({ root, tree, arch, release, kubernetesVersion, maintainer }) {
  const { seconds } = release;
  const size = [...tree.values()].reduce((sum, { data }) => sum + Math.ceil((data?.length ?? 0) / 1024), 0);
  const script = (name) => [name, file(readFileSync(`${root}packaging/debian/${name}`), 0o755)];
  const sums = [...tree]
    .filter(([path, { data }]) => data && !conffiles.includes(`/${path}`))
    .sort(([a], [b]) => byText(a, b))
    .map(([path, { data }]) => `${createHash("md5").update(data).digest("hex")}  ${path}\n`);
  const control = new Map([
    ["control", file(controlFile({ arch, release, kubernetesVersion, maintainer, size }))],
    ["conffiles", file(`${conffiles.join("\n")}\n`)],
    ["md5sums", file(sums.join(""))],
    ...["postinst", "prerm", "postrm"].map(script),
  ]);
  return ar(
    [
      { name: "debian-binary", data: Buffer.from("2.0\n") },
      { name: "control.tar.zst", data: zstd(archive(control, { seconds, prefix: "./" })) },
      { name: "data.tar.zst", data: zstd(archive(tree, { seconds, prefix: "./", emptyDirs })) },
    ],
    seconds,
  );
}

/** `size`: installed, in KiB. The Go kubelet's packages have the names in Provides and Conflicts. */
function controlFile({ arch, release, kubernetesVersion, maintainer, size }) {
  const fields = {
    Package: "kubelet-ts",
    Version: release.debianVersion,
    Architecture: debianArchs[arch],
    Maintainer: maintainer,
    "Installed-Size": size,
    ...relations,
    Provides: `kubelet (= ${kubernetesVersion})`,
    Conflicts: "kubelet",
    Replaces: "kubelet",
    Section: "admin",
    Priority: "optional",
    Description: `Kubernetes node agent, written in TypeScript
 Runs the pods of a machine through a container runtime, from manifests or
 from a Kubernetes API server, as the kubelet of Kubernetes v${kubernetesVersion} does.
 .
 The package contains Node.js; the one of the distribution is not used.`,
  };
  return `${Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n")}\n`;
}
