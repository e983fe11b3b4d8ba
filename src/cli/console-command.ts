import { KubeletError } from "../lib/base/errors.ts";
import { findSocket, socketOptions, socketUsage } from "./agent-socket.ts";
import { localRequest } from "./local-request.ts";
import { openBrowser } from "./open-browser.ts";
import { parseOptions } from "./options.ts";

const consoleUsage = `kubelet console: print a link to the console of the kubelet that runs on this machine

  --open             open it in a browser (xdg-open); with sudo, in the user's browser
${socketUsage}
The link is valid once, and for 30 minutes. The console is part of \`kubelet up\`; other kubelets serve it with
--enable-console.

Examples:
  kubelet console --open  in the browser of this machine
`;

export async function consoleCommand(args: readonly string[], out: NodeJS.WritableStream): Promise<number> {
  const options = parseOptions(args, { open: "switch", ...socketOptions, help: "switch" });
  if (options.help) {
    out.write(consoleUsage);
    return 0;
  }
  if (options.rest.length > 0)
    throw new KubeletError("Usage", `kubelet console: unexpected argument: ${options.rest[0]}`);
  const { status, bytes } = await localRequest(await findSocket(options), "POST", "/console-link");
  if (status === 404)
    throw new KubeletError(
      "ConsoleOff",
      "this kubelet does not serve the console: start it with --enable-console, or `kubelet up` without --no-console",
    );
  if (status !== 200) throw new KubeletError("Console", `the kubelet responded with HTTP ${status}`);
  const { link } = JSON.parse(bytes.toString()) as { link: string };
  out.write(`${link}\n`);
  if (options.open) await openBrowser(link);
  return 0;
}
