import { isTestFile } from "./export-rule.mjs";
import { tokenize } from "./source-text.mjs";

/**
 * The program rule of docs/architecture/code-map.md: one function starts all programs, and it takes options, their values and operands
 * apart. Other code would have to remember that a text chosen by a user may begin with "-".
 */
const starter = "src/lib/host/start-program.ts";

/** The files that pass arguments verbatim. Users of the API choose none of these arguments. */
export const exceptions = [
  { file: "src/cli/why/kubectl.ts", why: "flags of kubectl that its user typed" },
  { file: "src/kubelet/pods/images/providers/exec-plugin.ts", why: "the credential provider configuration" },
  {
    file: "src/kubelet/pods/volumes/flex/driver-call.ts",
    why: "a command, paths, sizes and JSON; drivers do not end options at --",
  },
  {
    file: "src/kubelet/pods/volumes/tools/mount-command.ts",
    why: "a mounter's mount(8), whose arguments are checked",
  },
  { file: "src/lib/clients/kube/exec-plugin.ts", why: "the kubeconfig" },
  { file: "src/lib/host/iptables.ts", why: "rules that are constants" },
  { file: "src/single-node/network-cleanup.ts", why: "rules of the node, as iptables-save lists them" },
  { file: "src/single-node/private-containerd.ts", why: "subcommands of ctr" },
  { file: "src/single-node/api-process.ts", why: "this program again" },
];

/** These start programs, or run code that no check reads. */
const modules = /^["'`](?:node:)?(?:child_process|cluster|vm|repl|test)["'`]$/;
/** Other ways to load such a module, to run code from a text, or to replace this process. */
const loaders = new Set(["createRequire", "getBuiltinModule", "_linkedBinding", "execve", "dlopen"]);
const loaderTexts = /^["'`](?:createRequire|getBuiltinModule|_linkedBinding|execve|dlopen|eval)["'`]$/;
const bindings = /^["'`](?:spawn_sync|process_wrap)["'`]$/;
/** Programs whose operands or values are other programs and their arguments. */
const shells =
  /^["'`](?:.*\/)?(?:(?:[a-z]*sh)|busybox|chroot|env|nice|node|nohup|nsenter|perl|python[\d.]*|runuser|setpriv|setsid|su|sudo|systemd-run|timeout|unshare|xargs)["'`]$/;
/** Properties of units of systemd. */
const unitCommands = /^["'`]Exec(?:Start|Stop|Reload|Condition)(?:Pre|Post)?(?:Ex)?["'`]$/;
/** System calls that start programs, by number. */
const systemCalls = /^__NR_(?:execve|execveat|fork|vfork|clone|clone3)$/;
/** `syscall` of the C library takes the number of any of them: this file has a function for each that is needed. */
const systemCaller = "src/lib/host/libc.ts";
/** Declarations of functions of the C library, as koffi reads them. */
const prototype =
  /\w[\s*]+(?:system|popen|v?fork|clone3?|posix_spawnp?|execv[pe]*|execl[pe]*|fexecve|execveat|wordexp)\s*\(\s*(?:\)|void|const|char|int|unsigned|long|pid_t|struct|\w+ ?\*)/;

/** The problems of one file; `file` is its path from the project's root ("src/…"). */
export function checkPrograms(file, text, allowed = exceptions) {
  if (isTestFile(file) || file === starter) return [];
  const mayPassArguments = () => allowed.some((exception) => exception.file === file);
  const usesKoffi = /["']koffi["']/.test(text);
  return tokenize(text).flatMap((token) => {
    const message =
      violation(text, token, mayPassArguments) ?? callViolation(text, token, { file, usesKoffi });
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
  if (bindings.test(token) || loaderTexts.test(token))
    return `${token} starts programs: only ${starter} does`;
  if (shells.test(token) && /\bprogram:\s*$/.test(text.slice(0, start)))
    return `${token} starts other programs: start them directly`;
  if (unitCommands.test(token)) return `${token} has systemd start programs: only ${starter} does`;
  return prototype.test(token) ? `declares a function that starts programs: only ${starter} does` : undefined;
}

/** Calls whose argument decides what is loaded, and which no check can read. */
function callViolation(text, { kind, text: token, start }, { file, usesKoffi }) {
  if (kind === "string")
    return usesKoffi && file !== systemCaller && /\bsyscall\s*\(/.test(token)
      ? `declares syscall, which may start programs: only ${systemCaller} does`
      : undefined;
  if (kind !== "identifier") return undefined;
  if (systemCalls.test(token)) return `${token} starts programs: only ${starter} does`;
  const [before, after] = [text.slice(Math.max(0, start - 20), start), text.slice(start + token.length)];
  const isMember = /\.\s*$/.test(before);
  const isCalled = /^\s*\(/.test(after);
  const hasConstant = /^\s*\(\s*(?:"[^"]*"|'[^']*'|`[^`$]*`)\s*[,)]/.test(after);
  if (token === "import" && isCalled && !hasConstant) return "imports a module whose name is not a constant";
  // A method named `require` is defined with the types of its parameters and is not a call.
  if (token === "require" && isCalled && !isMember && !hasConstant && !/^\s*\(\s*\w+\s*:/.test(after))
    return "loads a module whose name is not a constant";
  if (token === "binding" && /\bprocess\.\s*$/.test(before))
    return `binding may start programs: only ${starter} does`;
  if (token === "eval" && isCalled && !isMember) return "eval runs code that no check reads";
  if (token === "Function" && /\bnew\s*$/.test(before)) return "Function runs code that no check reads";
  if (!usesKoffi || !isMember) return undefined;
  if (token === "func" && !/^\s*\(\s*(?:"[^"]*"|'[^']*'|`[^`$]*`)\s*,?\s*\)/.test(after))
    return "declares a function of the C library, but not as one constant prototype";
  if (token === "symbol") return "takes the address of a function of a library";
  if (token === "load" && isCalled && !/^\s*\(\s*null\s*\)/.test(after))
    return "loads a library other than the C library";
  return undefined;
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
