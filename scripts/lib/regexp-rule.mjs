// Finds regular expressions whose time is not linear in the length of the text.
import { RegExpParser } from "@eslint-community/regexpp";
import { analyse } from "scslre";
import { tokenize } from "./source-text.mjs";

/** Regular expressions that need no linear time, with the reason. */
const allowed = new Map([
  ["src/lib/schema/notation.ts", "reads the schema in the sources"],
  ["src/lib/host/loop-devices.ts", "a path from the kernel, of at most 4096 bytes"],
  ["src/lib/host/cgroups/usage-v1.ts", "a file of the kernel"],
  ["src/lib/config/duration.ts", "at most 9 digits"],
  ["src/lib/config/validate/eviction.ts", "the configuration belongs to root"],
  ["src/lib/clients/kube/api-server.ts", "the kubeconfig belongs to root"],
  ["src/lib/base/readable-stack.ts", "stacks are printed for bugs only"],
  ["src/kubelet/pods/volumes/empty-dir/project-files.ts", "/etc/projid belongs to root"],
  ["src/kubelet/pods/volumes/content/nested-mounts.ts", "a normalized path has no repeated slashes"],
  ["src/kubelet/pods/volumes/content/payload.ts", "a normalized path has no repeated slashes"],
  ["src/kubelet/pods/network/hostname.ts", "at most 63 characters"],
  ["src/kubelet/pods/images/providers/validate-providers.ts", "the configuration belongs to root"],
]);

/** Text, line and problem of each regular expression of a file that may take more than linear time. */
export function checkRegExps(file, source) {
  if (allowed.has(file)) return [];
  return slowRegExps(source).map((problem) => ({ file, ...problem }));
}

export function slowRegExps(source) {
  return tokenize(source)
    .filter(({ kind, text }) => kind === "pattern" && /^\/.+\/[a-z]*$/.test(text))
    .filter(({ text }) => isSlow(text))
    .map(({ text, start }) => ({
      line: source.slice(0, start).split("\n").length,
      message: `${text} may take more than linear time: start it with ^, make neighboring parts disjoint, or use string functions`,
    }));
}

function isSlow(text) {
  const pattern = new RegExpParser().parseLiteral(text);
  return analyse(pattern, { assumeRejectingSuffix: false }).reports.length > 0;
}

/** Exceptions that are no longer needed. */
export function unusedExceptions(read) {
  return [...allowed.keys()].filter((file) => slowRegExps(read(file)).length === 0);
}
