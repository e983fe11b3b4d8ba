import { type IncomingMessage, request } from "node:http";

/** One event of a watcher: "ADDED a@12". */
export interface ReceivedEvent {
  readonly text: string;
  readonly version: number;
}

/** The state of one list, and the events that were received after it. */
export interface WatchSession {
  readonly version: number;
  readonly state: ReadonlyMap<string, number>;
  readonly received: ReceivedEvent[];
  /** The server reported that the next version is compacted. */
  expired: boolean;
}

interface Meta {
  readonly name: string;
  readonly resourceVersion: string;
}

/**
 * A minimal client: lists, watches from there, resumes from the last complete line when it is disconnected, and
 * starts again when its version is compacted.
 */
export class HttpWatcher {
  readonly sessions: WatchSession[] = [];
  readonly selector: string;
  readonly #url: string;
  #response: IncomingMessage | undefined;
  #stopped = false;
  #pause: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
  #changed: () => void = () => {};
  readonly done: Promise<void>;

  constructor(url: string, selector: string) {
    this.#url = url;
    this.selector = selector;
    this.done = this.#run();
  }

  /** Closes the connection at its current position. */
  disconnect(): void {
    this.#response?.destroy();
  }

  /** Closes the connection, and reconnects only after release(). */
  hold(): void {
    this.#pause ??= Promise.withResolvers<void>();
    this.disconnect();
  }

  release(): void {
    this.#pause?.resolve();
    this.#pause = undefined;
  }

  stop(): void {
    this.#stopped = true;
    this.release();
    this.disconnect();
  }

  /** Resolves when `isLast` returns true for the last event. */
  async until(
    isLast: (received: ReceivedEvent | undefined, session: WatchSession | undefined) => boolean,
  ): Promise<void> {
    for (;;) {
      const session = this.sessions.at(-1);
      if (isLast(session?.received.at(-1), session)) return;
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const session = await this.#list();
      this.sessions.push(session);
      this.#changed();
      while (!this.#stopped && !session.expired) await this.#watch(session);
    }
  }

  async #list(): Promise<WatchSession> {
    const response = await fetch(`${this.#url}?${this.selector}`);
    const list = (await response.json()) as { metadata: Meta; items: { metadata: Meta }[] };
    const state = list.items.map(
      ({ metadata }) => [metadata.name, Number(metadata.resourceVersion)] as const,
    );
    const version = Number(list.metadata.resourceVersion);
    return { version, state: new Map(state), received: [], expired: false };
  }

  async #watch(session: WatchSession): Promise<void> {
    await this.#pause?.promise;
    const from = session.received.at(-1)?.version ?? session.version;
    const requests = request(`${this.#url}?watch=1&resourceVersion=${from}&${this.selector}`, {
      agent: false,
    });
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      requests.on("response", resolve).on("error", reject).end();
    });
    this.#response = response;
    if (this.#stopped) response.destroy();
    let rest = "";
    try {
      for await (const chunk of response.setEncoding("utf8")) {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop()!;
        for (const line of lines) this.#handle(session, line);
      }
    } catch {
      // Disconnected: complete lines were already handled.
    }
  }

  #handle(session: WatchSession, line: string): void {
    const { type, object } = JSON.parse(line) as { type: string; object: { metadata: Meta; code?: number } };
    if (type === "ERROR") {
      if (object.code !== 410) throw new Error(line);
      session.expired = true;
    } else if (type !== "BOOKMARK") {
      const version = Number(object.metadata.resourceVersion);
      session.received.push({ text: `${type} ${object.metadata.name}@${version}`, version });
    }
    this.#changed();
  }
}
