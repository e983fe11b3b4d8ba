import { isKubeletError, messageOf } from "../../lib/base/errors.ts";
import { printableLines } from "../../lib/base/terminal-text.ts";
import { main } from "./main.ts";

process.stdout.on("error", () => process.exit(0)); // the reader closed the pipe
main(process.argv[1] ?? "", process.argv.slice(2), process.stdout).then(
  (code) => process.exit(code),
  (error: unknown) => {
    const text = isKubeletError(error)
      ? messageOf(error)
      : String((error as Error | undefined)?.stack ?? error);
    process.stderr.write(`kubectl why: ${printableLines(text)}\n`);
    process.exit(1);
  },
);
