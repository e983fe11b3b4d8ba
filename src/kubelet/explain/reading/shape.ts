/** The values that a sentence may name: from the pod, and from the groups of the pattern that matched. */
export type Values = Readonly<Record<string, string | undefined>>;

/** A known form of an error message, the sentence that it means, and the step that helps. */
export interface Shape {
  readonly pattern: RegExp;
  /** `{name}` is replaced by a value; all but the first and last characters of long ones are omitted. */
  readonly sentence: string;
  /** The same, but values are complete, and each is one argument in a shell: users copy commands. */
  readonly step: string;
  /** Only if this value is known. */
  readonly ifKnown?: string;
}

/** Parts of the sentence itself. */
const complete: ReadonlySet<string> = new Set(["subject", "check", "ended", "limit"]);
/** Whole commands, whose arguments are quoted where they are built. */
const commands: ReadonlySet<string> = new Set(["logs", "previousLogs", "exec", "command"]);
/** More of a name does not fit the line; its end is more specific than its middle. */
const longestValue = 40;

export function findShape(shapes: readonly Shape[], text: string, values: Values) {
  for (const { pattern, sentence, step, ifKnown } of shapes) {
    if (ifKnown !== undefined && !values[ifKnown]) continue;
    const match = pattern.exec(text);
    if (!match) continue;
    const all = { ...values, ...match.groups };
    return { sentence: fill(sentence, all, shortened), step: fill(step, all, shellArgument) };
  }
  return undefined;
}

function fill(template: string, values: Values, form: (value: string, name: string) => string): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name] ?? "";
    return complete.has(name) || commands.has(name) ? value : form(value.trim(), name);
  });
}

/** As the API writes them; Kubernetes uses lower case in errors. */
const kinds: ReadonlyMap<string, string> = new Map([
  ["configmap", "ConfigMap"],
  ["config", "ConfigMap"],
  ["secret", "Secret"],
  ["persistentvolumeclaim", "PersistentVolumeClaim"],
  ["serviceaccount", "ServiceAccount"],
]);

/** Digests are recognized by their first twelve digits, other names by both ends. */
function shortened(value: string, name: string): string {
  if (name === "kind") return kinds.get(value) ?? value;
  const text = value.replace(/(sha256:[0-9a-f]{12})[0-9a-f]{52}/g, "$1…").replace(/\s+/g, " ");
  if (text.length <= longestValue) return text;
  const head = Math.floor(longestValue / 3);
  return `${text.slice(0, head)}…${text.slice(head + 1 - longestValue)}`;
}

/** Pod authors, registries and runtimes choose names and texts: none of them may become another command. */
export function shellArgument(value: string): string {
  return /[^\w./:@%+=,-]/.test(value) ? `'${value.replaceAll("'", "'\\''")}'` : value;
}
