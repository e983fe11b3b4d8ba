import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { type Clock, sleep } from "../../../lib/base/clock.ts";
import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { within } from "../../../lib/base/wait.ts";
import { type Environment, proxyFor } from "../../../lib/clients/kube/proxy.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { ManifestRules } from "../../../lib/model/static-pod.ts";
import { decodeManifestOrList, shownUrl } from "./manifest.ts";
import { ProblemLog } from "./problem-log.ts";
import { maxManifestBytes, type PodSource, type SourceProblem } from "./source.ts";

export interface HttpSourceOptions extends ManifestRules {
  /** staticPodURL */
  url: string;
  /** staticPodURLHeader: each name with all of its values. */
  headers?: Record<string, string[]>;
  nodeName: string;
  /** httpCheckFrequency */
  pollMs: number;
  clock: Clock;
  logger: Logger;
  /** HTTP_PROXY, HTTPS_PROXY and NO_PROXY are used. */
  env?: Environment;
}

const timeoutMs = 10_000;
const maxRedirects = 10;

/** Pods from a URL: a Pod or a PodList. While it cannot be read or is invalid, the last valid set is kept. */
export class HttpSource implements PodSource {
  readonly name = "http";
  readonly done: Promise<void>;
  #resolveDone: () => void = () => {};
  #options: HttpSourceOptions;
  #log: ProblemLog;
  /** The last body that was decoded, and the result. */
  #decoded: { body: Buffer; problems: SourceProblem[]; warnings: SourceProblem[] } | undefined;
  #problems: SourceProblem[] = [];

  constructor(options: HttpSourceOptions) {
    this.#options = options;
    this.#log = new ProblemLog(options.logger);
    this.done = new Promise((ended) => {
      this.#resolveDone = ended;
    });
  }

  start(signal: AbortSignal, emit: (pods: Pod[]) => void): Promise<void> {
    void this.#loop(signal, emit).finally(() => this.#resolveDone());
    return Promise.resolve();
  }

  /** An unreachable URL is reported as a problem. The source remains healthy: a restart of the agent would not help. */
  problems(): SourceProblem[] {
    return [...this.#problems];
  }

  async #loop(signal: AbortSignal, emit: (pods: Pod[]) => void): Promise<void> {
    while (!signal.aborted) {
      await this.#poll(signal, emit);
      await sleep(this.#options.clock, this.#options.pollMs, signal).catch(() => {});
    }
  }

  async #poll(signal: AbortSignal, emit: (pods: Pod[]) => void): Promise<void> {
    const { url, clock } = this.#options;
    try {
      const { headers = {}, env = process.env } = this.#options;
      const body = await fetchBody(url, { headers, env }, clock, signal);
      if (body.length === 0) {
        // There are no pods, also if there were some. It is a problem too: a server should return an empty list.
        this.#decoded = undefined;
        emit([]);
        throw new KubeletError("EmptyManifest", "zero-length data received");
      }
      if (!this.#decoded?.body.equals(body)) {
        const result = decodeManifestOrList(body, { ...this.#options, origin: { source: "http", url } });
        if ("pods" in result) emit(result.pods);
        this.#decoded = { body, problems: [], warnings: [], ...result };
      }
      this.#report(this.#decoded.problems);
    } catch (error) {
      if (!signal.aborted) this.#report([{ file: shownUrl(url), message: messageOf(error) }]);
    }
  }

  #report(problems: SourceProblem[]): void {
    this.#problems = problems;
    this.#log.update(problems, this.#decoded?.warnings ?? []);
  }
}

/** GET with a timeout, redirects and a size limit. */
async function fetchBody(
  url: string,
  request: GetOptions,
  clock: Clock,
  signal: AbortSignal,
): Promise<Buffer> {
  const timeoutError = () => new KubeletError("Timeout", `no response within ${timeoutMs / 1000} s`);
  return within({ clock, ms: timeoutMs, signal, timeoutError }, (either) =>
    get(new URL(url), request, either, maxRedirects),
  );
}

interface GetOptions {
  readonly headers: Record<string, string[]>;
  readonly env: Environment;
}

async function get(
  url: URL,
  { headers, env }: GetOptions,
  signal: AbortSignal,
  redirects: number,
): Promise<Buffer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    send(url, { headers, signal, agent: proxyAgent(url, env) ?? false }, resolve)
      // Without a listener Node.js would report neither a response nor an error.
      .once("upgrade", (switching, socket) => {
        socket.destroy();
        reject(unexpectedStatus(switching));
      })
      .on("error", reject)
      .end();
  });
  const { statusCode = 0 } = response;
  const { location } = response.headers;
  if ([301, 302, 303, 307, 308].includes(statusCode) && location !== undefined && redirects > 0) {
    // Its body may have no end.
    response.destroy();
    const next = new URL(location, url);
    return get(next, { headers: keepsHeaders(url, next) ? headers : {}, env }, signal, redirects - 1);
  }
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxManifestBytes) {
      response.destroy();
      throw new KubeletError("TooLarge", `more than ${maxManifestBytes / 1024 / 1024} MiB`);
    }
    chunks.push(chunk);
  }
  if (statusCode !== 200) throw unexpectedStatus(response);
  return Buffer.concat(chunks);
}

function unexpectedStatus({ statusCode = 0, statusMessage = "" }: IncomingMessage): KubeletError {
  return new KubeletError("HttpStatus", `${statusCode} ${statusMessage}`.trim());
}

/** An agent for one request through the proxy of the environment; undefined if there is none for the URL. */
function proxyAgent(url: URL, env: Environment): HttpAgent | undefined {
  const proxy = proxyFor(url, undefined, env)?.href;
  if (!proxy) return undefined;
  return url.protocol === "https:"
    ? new HttpsAgent({ proxyEnv: { HTTPS_PROXY: proxy } })
    : new HttpAgent({ proxyEnv: { HTTP_PROXY: proxy } });
}

/** Headers (a token, for example) for one host are not sent to another, nor without encryption. */
export function keepsHeaders(from: URL, to: URL): boolean {
  return to.host === from.host && (to.protocol === from.protocol || to.protocol === "https:");
}
