import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { type Clock, sleep } from "../../../lib/base/clock.ts";
import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { decodeManifestOrList } from "./manifest.ts";
import { ProblemLog } from "./problem-log.ts";
import { maxManifestBytes, type PodSource, type SourceProblem } from "./source.ts";

export interface HttpSourceOptions {
  /** staticPodURL */
  url: string;
  /** staticPodURLHeader: each name with all of its values. */
  headers?: Record<string, string[]>;
  nodeName: string;
  /** httpCheckFrequency */
  pollMs: number;
  clock: Clock;
  logger: Logger;
  allowApiReferences?: boolean;
  hasLocalObjects?: boolean;
}

const timeoutMs = 10_000;
const maxRedirects = 10;

/** Pods from a URL: a Pod or a PodList. While it cannot be read or is bad, the last good set stands. */
export class HttpSource implements PodSource {
  readonly name = "http";
  readonly done: Promise<void>;
  #ended: () => void = () => {};
  #options: HttpSourceOptions;
  #log: ProblemLog;
  /** The last body that was looked into, and what was found. */
  #judged: { body: Buffer; problems: SourceProblem[]; warnings: SourceProblem[] } | undefined;
  #emitted: boolean = false as boolean;
  #problems: SourceProblem[] = [];

  constructor(options: HttpSourceOptions) {
    this.#options = options;
    this.#log = new ProblemLog(options.logger);
    this.done = new Promise((ended) => {
      this.#ended = ended;
    });
  }

  start(signal: AbortSignal, emit: (pods: Pod[]) => void): Promise<void> {
    void this.#loop(signal, emit).finally(() => this.#ended());
    return Promise.resolve();
  }

  /** An unreachable URL is a problem of that URL, and no reason to restart the agent: it is told, not unhealthy. */
  problems(): SourceProblem[] {
    return [...this.#problems];
  }

  async #loop(signal: AbortSignal, emit: (pods: Pod[]) => void): Promise<void> {
    while (!signal.aborted) {
      await this.#look(signal, emit);
      await sleep(this.#options.clock, this.#options.pollMs, signal).catch(() => {});
    }
  }

  async #look(signal: AbortSignal, emit: (pods: Pod[]) => void): Promise<void> {
    const { url, nodeName, allowApiReferences = false, hasLocalObjects = false, clock } = this.#options;
    try {
      const body = await fetchBody(url, this.#options.headers ?? {}, clock, signal);
      if (body.length === 0) {
        // As a first answer it means that there are no pods; later it is rather an accident of the server.
        if (!this.#emitted) this.#emit([], emit);
        throw new KubeletError("EmptyManifest", "zero-length data received");
      }
      if (!this.#judged?.body.equals(body)) {
        const result = decodeManifestOrList(body, {
          nodeName,
          allowApiReferences,
          hasLocalObjects,
          origin: { source: "http", url },
        });
        if ("pods" in result) this.#emit(result.pods, emit);
        this.#judged = { body, problems: [], warnings: [], ...result };
      }
      this.#tell(this.#judged.problems);
    } catch (error) {
      if (!signal.aborted) this.#tell([{ file: url, message: messageOf(error) }]);
    }
  }

  #emit(pods: Pod[], emit: (pods: Pod[]) => void): void {
    this.#emitted = true;
    emit(pods);
  }

  #tell(problems: SourceProblem[]): void {
    this.#problems = problems;
    this.#log.update(problems, this.#judged?.warnings ?? []);
  }
}

/** GET with a deadline, redirects and a limit of size. */
async function fetchBody(
  url: string,
  headers: Record<string, string[]>,
  clock: Clock,
  signal: AbortSignal,
): Promise<Buffer> {
  const deadline = new AbortController();
  const late = new KubeletError("Timeout", `no answer within ${timeoutMs / 1000} s`);
  const cancel = clock.after(timeoutMs, () => deadline.abort(late));
  const either = AbortSignal.any([signal, deadline.signal]);
  try {
    return await get(new URL(url), headers, either, maxRedirects);
  } catch (error) {
    throw deadline.signal.aborted ? late : error;
  } finally {
    cancel();
  }
}

async function get(
  url: URL,
  headers: Record<string, string[]>,
  signal: AbortSignal,
  redirects: number,
): Promise<Buffer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    send(url, { headers, signal, agent: false }, resolve).on("error", reject).end();
  });
  const { statusCode = 0, statusMessage = "" } = response;
  const { location } = response.headers;
  if ([301, 302, 303, 307, 308].includes(statusCode) && location !== undefined && redirects > 0) {
    response.resume();
    const next = new URL(location, url);
    // What was meant for one host (a token, say) is not for another.
    return get(next, next.host === url.host ? headers : {}, signal, redirects - 1);
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
  if (statusCode !== 200) throw new KubeletError("HttpStatus", `${statusCode} ${statusMessage}`.trim());
  return Buffer.concat(chunks);
}
