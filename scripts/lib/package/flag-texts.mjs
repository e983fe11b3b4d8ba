import { settableGates } from "../../../src/lib/config/feature-gates.ts";
import { flagValues } from "../../../src/lib/config/flags/flag-values.ts";
import { flagGroups, flagTable } from "../../../src/lib/config/flags/table.ts";
import { readerOf } from "../../../src/lib/config/flags/values.ts";
import { readCommands } from "./command-help.mjs";
import { bashCompletion, fishCompletion, zshCompletion } from "./completions.mjs";
import { manPage } from "./man-page.mjs";

/** Completions and man page of the built program. */
export function flagTexts(root, { version, seconds }) {
  const commands = readCommands(root);
  const gateLines = settableGates();
  const gates = gateLines.map((line) => line.replace(/=.*$/, ""));
  const input = { flags: [...flagTable.values()], commands, gates };
  const groups = flagGroups.map(({ title, flags }) => ({
    title,
    flags: flags.map((flag) => {
      const { label, impliedValue } = readerOf(flag.type);
      return { ...flag, label: impliedValue === undefined ? label : undefined };
    }),
  }));
  return {
    shellFiles: { bash: bashCompletion(input), zsh: zshCompletion(input), fish: fishCompletion(input) },
    man: manPage({ groups, defaults: flagValues([]), commands, gates: gateLines, version, seconds }),
  };
}
