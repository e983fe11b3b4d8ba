/** kubelet-ts's own commands. Read for help and for mistyped names: the commands themselves are loaded on demand. */
export const commandList = [
  { name: "up", usage: "up", summary: "start a single-node cluster on this machine, with a demo pod" },
  { name: "pods", usage: "pods", summary: "list the pods of the running kubelet" },
  { name: "explain", usage: "explain POD", summary: "show why a pod is not ready and what to try" },
  { name: "apply", usage: "apply -f pod.yaml", summary: "apply pods to the running kubelet" },
  { name: "delete", usage: "delete NAME", summary: "delete an applied pod" },
  { name: "console", usage: "console", summary: "print a link to the console of the running kubelet" },
  { name: "run", usage: "run -f pod.yaml", summary: "run pods once, to completion" },
  { name: "api", usage: "api", summary: "run the Kubernetes API of one machine without a node" },
  { name: "help", usage: "help COMMAND", summary: "show the options of a command, and examples" },
];

/** A row for the agent, then one for each command. */
export function commandRows(): string {
  const rows = [{ usage: "[flags]", summary: "the agent" }, ...commandList];
  const width = Math.max(...rows.map(({ usage }) => usage.length));
  return rows.map(({ usage, summary }) => `  kubelet ${usage.padEnd(width)}  ${summary}\n`).join("");
}

/** "explain" for "explane" and "exlpain"; nothing for a name that resembles none. */
export function closestCommand(typed: string): string | undefined {
  const similar = commandList
    .map(({ name }) => ({ name, distance: editDistance(typed.toLowerCase(), name) }))
    .filter(({ name, distance }) => distance <= Math.min(2, name.length / 2));
  return similar.sort((a, b) => a.distance - b.distance)[0]?.name;
}

/** The number of characters to insert, delete, replace or swap with their neighbor to get from one name to the other. */
function editDistance(from: string, to: string): number {
  if (from.length > 32) return Number.POSITIVE_INFINITY;
  const rows = [Array.from({ length: to.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = rows[i - 1]![j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      const swapped =
        i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
          ? rows[i - 2]![j - 2]! + 1
          : Number.POSITIVE_INFINITY;
      row.push(Math.min(replaced, swapped, rows[i - 1]![j]! + 1, row[j - 1]! + 1));
    }
    rows.push(row);
  }
  return rows[from.length]![to.length]!;
}
