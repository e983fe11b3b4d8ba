import { isKubeletError, messageOf } from "../../lib/base/errors.ts";
import { printableLines } from "../../lib/base/terminal-text.ts";
import { exitWhenWritten } from "../exit-when-written.ts";
import { main } from "./main.ts";

process.stdout.on("error", () => process.exit(0)); // the reader closed the pipe
main(process.argv[1] ?? "", process.argv.slice(2), process.stdout).then(exitWhenWritten, (error: unknown) => {
  const text = isKubeletError(error)
    ? messageOf(error)
    : String((error as Error | undefined)?.stack ?? error);
  process.stderr.write(`kubectl why: ${printableLines(text)}\n`);
  exitWhenWritten(1);
});
