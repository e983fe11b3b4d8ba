import { isTestFile } from "./export-rule.mjs";
import { tokenize } from "./source-text.mjs";

/**
 * The program rule of docs/architecture/code-map.md: one function starts all programs, and it takes options, their values and operands
 * apart. Other code would have to remember that a text chosen by a user may begin with "-".
 */
const starter = "src/lib/host/start-program.ts";

/** The files that pass arguments as they are, none of which a user of the API chooses. */
export const exceptions = [
  { file: "src/kubelet/pods/images/providers/exec-plugin.ts", why: "the credential provider configuration" },
  { file: "src/lib/clients/kube/exec-plugin.ts", why: "the kubeconfig" },
  { file: "src/lib/host/iptables.ts", why: "rules that are constants" },
  { file: "src/single-node/network-cleanup.ts", why: "rules of the node, as iptables-save lists them" },
  { file: "src/single-node/private-containerd.ts", why: "subcommands of ctr" },
  { file: "src/single-node/api-process.ts", why: "this program again" },
];

const modules = /^["'`](?:node:)?(?:child_process|cluster)["'`]$/;
/** Other ways to load such a module, or to replace this process. */
const loaders = new Set(["createRequire", "getBuiltinModule", "execve", "dlopen"]);
const bindings = /^["'`](?:spawn_sync|process_wrap)["'`]$/;
/** Declarations of functions of the C library, as koffi reads them. */
const prototype =
  /\w[\s*]+(?:system|popen|v?fork|clone3?|posix_spawnp?|execv[pe]*|execl[pe]*|fexecve|execveat|wordexp)\s*\(\s*(?:\)|void|const|char|int|unsigned|long|pid_t|struct|\w+ ?\*)/;

/** The problems of one file; `file` is its path from the project's root ("src/…"). */
export function checkPrograms(file, text, allowed = exceptions) {
  if (isTestFile(file) || file === starter) return [];
  return tokenize(text).flatMap((token) => {
    const message = violation(text, token, () => allowed.some((exception) => exception.file === file));
    return message ? [{ file, line: text.slice(0, token.start).split("\n").length, message }] : [];
  });
}

function violation(text, { kind, text: token, start }, mayPassArguments) {
  if (kind === "identifier") {
    if (loaders.has(token)) return `${token} may start programs: only ${starter} does`;
    if (token === "verbatim" && !mayPassArguments())
      return "passes arguments as they are: use options and operands";
    return undefined;
  }
  if (kind !== "string") return undefined;
  if (modules.test(token) && isLoaded(text, start))
    return `${token} starts programs: only ${starter} imports it`;
  if (bindings.test(token)) return `${token} starts programs: only ${starter} does`;
  return prototype.test(token) ? `declares a function that starts programs: only ${starter} does` : undefined;
}

/** Whether the string names a module that is loaded here; types are erased. */
function isLoaded(text, start) {
  const before = text.slice(0, start);
  if (/\b(?:require|import|binding)\s*\(\s*$/.test(before)) return true;
  const statement = /(?:^|[;}\n])\s*((?:import|export)\b[^;]*?)\bfrom\s*$/.exec(before.slice(-2000));
  if (statement) return !/^(?:import|export)\s+type\b/.test(lastStatement(statement[1]));
  return /\bimport\s*$/.test(before);
}

/** The statement that ends the text: the search begins at the first one. */
function lastStatement(text) {
  const starts = [...text.matchAll(/(?:^|\n)\s*(?:import|export)\b/g)];
  return text.slice(starts.at(-1)?.index ?? 0).trim();
}

/** Exceptions that no file needs. */
export function unusedExceptions(files, allowed = exceptions) {
  return allowed.filter(
    (exception) =>
      !files.some(({ file, text }) => file === exception.file && checkPrograms(file, text, []).length > 0),
  );
}
