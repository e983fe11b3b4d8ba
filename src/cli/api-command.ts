import { isIPv4 } from "node:net";
import { join, resolve } from "node:path";
import { startEmbeddedApi } from "../apiserver/embedded-api.ts";
import { systemClock } from "../lib/base/clock.ts";
import { KubeletError } from "../lib/base/errors.ts";
import { createLogger } from "../lib/base/log-writer.ts";
import { parseDuration } from "../lib/config/duration.ts";
import { logFaults } from "./faults.ts";
import { parseOptions } from "./options.ts";
import { untilSignal } from "./signals.ts";

const apiUsage = `kubelet api: run the Kubernetes API of one machine standalone (kubelet up includes it)

  --dir DIR               directory of the database, keys and certificates
  --kubeconfig FILE       file to write the kubeconfig for kubectl to (default: DIR/kubeconfig)
  --address IP            address to listen on (default: 127.0.0.1)
  --port PORT             port to listen on (default: that of the last run, or 6443, or any free port)
  --service-range CIDR    addresses of services (default: 10.96.0.0/16)
  --pod-range CIDR        pod addresses on this machine. The API also listens for pods and the machine itself at the first
                          address of the service CIDR, on port 443 or any free port; the machine must have that address
  --node NAME             also write DIR/kubelet.kubeconfig for this node, which then needs no certificate request
  --certificates-for TIME lifetime of signed certificates (default: 8760h)
  --until-eof             exit when standard input is closed
  -v N                    log verbosity; logs go to standard error

Examples:
  kubelet api --dir /var/lib/api  the API only, with a kubeconfig in that directory
`;

export async function apiCommand(args: readonly string[], out: NodeJS.WriteStream): Promise<number> {
  const options = parseOptions(args, {
    dir: "value",
    kubeconfig: "value",
    address: "value",
    port: "value",
    "service-range": "value",
    "pod-range": "value",
    node: "value",
    "certificates-for": "value",
    "until-eof": "switch",
    v: "value",
    help: "switch",
  });
  if (options.help) {
    out.write(apiUsage);
    return 0;
  }
  const [extra] = options.rest;
  if (extra !== undefined) throw new KubeletError("Usage", `kubelet api: unexpected argument: ${extra}`);
  if (!options.dir) throw new KubeletError("Usage", "kubelet api: --dir DIR is required");
  const dir = resolve(options.dir);
  const logger = createLogger({
    format: "text",
    verbosity: wholeNumber("-v", options.v, 0, 10) ?? 0,
    write: (line) => process.stderr.write(line),
    now: () => new Date(),
    pid: process.pid,
  });
  logFaults(logger);
  const signaled = untilSignal(["SIGINT", "SIGTERM", "SIGHUP"]);
  const kubeconfig = resolve(options.kubeconfig ?? join(dir, "kubeconfig"));
  const api = await startEmbeddedApi({
    dir,
    kubeconfig,
    host: options.address,
    port: wholeNumber("--port", options.port, 1, 65_535),
    serviceRange: range("--service-range", options["service-range"], 30),
    podRange: range("--pod-range", options["pod-range"], 32),
    node: options.node ? { name: options.node, kubeconfig: join(dir, "kubelet.kubeconfig") } : undefined,
    certificateLifetimeMs: lifetime(options["certificates-for"]),
    clock: systemClock,
    logger,
  });
  out.write(`serving ${api.address}\n`);
  await Promise.race([signaled, ...(options["until-eof"] ? [untilEof(process.stdin)] : [])]);
  await api.stop();
  return 0;
}

function untilEof(input: NodeJS.ReadStream): Promise<void> {
  return new Promise((done) => {
    for (const event of ["end", "close", "error"]) input.once(event, () => done());
    input.resume();
  });
}

function wholeNumber(
  name: string,
  text: string | undefined,
  least: number,
  most: number,
): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new KubeletError("Usage", `${name}: "${text}" is not a number from ${least} to ${most}`);
}

function range(name: string, text: string | undefined, longest: number): string | undefined {
  if (text === undefined) return undefined;
  const [address = "", bits = "", ...more] = text.split("/");
  const isCidr = isIPv4(address) && /^\d+$/.test(bits) && more.length === 0;
  if (isCidr && Number(bits) >= 8 && Number(bits) <= longest) return text;
  throw new KubeletError("Usage", `${name}: "${text}" is not a range of IPv4 addresses, /8 to /${longest}`);
}

function lifetime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= 1000) return ms;
  throw new KubeletError(
    "Usage",
    `--certificates-for: "${text}" is not a time of a second or more, such as 24h`,
  );
}
