// The CPU that pages of the console cost the agent: 250 pods on a runtime in memory, 20 of them change every second, without a viewer,
// with one and with ten, alternating.
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { type Changes, type Login, loginFragment, type Snapshot } from "../../src/console/protocol.ts";
import { launcherFile } from "../e2e/built.ts";
import { ClusterAgent } from "./cluster-agent.ts";
import type { OptionTable, OptionValues } from "./options.ts";
import { median } from "./statistics.ts";

export const summary = "the CPU of an agent with 250 pods that pages of the console cost (no root)";
export const options = {
  pods: { kind: "count", default: 250, most: 250, help: "pods that run" },
  changes: { kind: "count", default: 20, help: "pods that change every second" },
  seconds: { kind: "count", default: 30, help: "length of each window" },
  rounds: { kind: "count", default: 5, help: "windows for each number of viewers, alternating" },
} as const satisfies OptionTable;

type Options = OptionValues<typeof options>;

/** Viewers, and how much more of a core the agent may use than without any. */
const limits = new Map([
  [0, 0],
  [1, 0.02],
  [10, 0.05],
]);
/** After the last viewer has left, the console goes on for 30 s. */
const lingerMs = 32_000;
/** A first viewer gets the whole state, which is not part of a window. */
const settleMs = 6_000;

interface Window {
  /** The share of one core. */
  readonly share: number;
  /** Changes of pods per second: fewer than requested if the machine has too much other load. */
  readonly made: number;
  /** Per viewer and second. */
  readonly messages: number;
  readonly bytes: number;
  /** Pods in messages, per viewer and second. */
  readonly changes: number;
}

export async function run(o: Options): Promise<boolean> {
  const agent = await ClusterAgent.start(launcherFile, process.env, [
    ...["--enable-console", "--authorization-mode=AlwaysAllow", `--max-pods=${o.pods}`],
  ]);
  let load: Load | undefined;
  try {
    await agent.run("pod", o.pods);
    const session = await logIn(agent);
    load = new Load(agent, o);
    const windows = new Map([...limits.keys()].map((viewers) => [viewers, [] as Window[]]));
    for (let round = 0; round < o.rounds; round++)
      for (const viewers of windows.keys()) {
        const window = await measure(agent, session, load, viewers, o);
        windows.get(viewers)!.push(window);
        console.log(`round ${round + 1}, ${line(viewers, window)}`);
      }
    return report(windows);
  } finally {
    await load?.stop();
    await agent.stop();
  }
}

/** Changes labels of pods at an even rate. */
class Load {
  /** Changes so far. */
  made = 0;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(agent: ClusterAgent, o: Options) {
    this.#done = this.#run(agent, o);
  }

  async #run(agent: ClusterAgent, o: Options): Promise<void> {
    const pending = new Set<Promise<void>>();
    const start = performance.now();
    for (let next = 0; !this.#stop.signal.aborted; next++) {
      await pause(Math.max(0, start + (next * 1000) / o.changes - performance.now()));
      const one = agent
        .label(`pod-${(next * 7) % o.pods}`, String(next))
        .then(
          () => this.made++,
          // A request that failed is missing in the rate.
          () => {},
        )
        .then(() => void pending.delete(one));
      pending.add(one);
      if (pending.size >= o.changes) await Promise.race(pending);
    }
    await Promise.all(pending);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }
}

async function measure(
  agent: ClusterAgent,
  session: ConsoleSession,
  load: Load,
  count: number,
  o: Options,
): Promise<Window> {
  const viewers = await Promise.all(Array.from({ length: count }, () => Viewer.open(session)));
  try {
    await pause(count === 0 ? lingerMs : settleMs);
    for (const viewer of viewers) viewer.reset();
    const [cpu, made] = [agent.cpuMs(), load.made];
    const start = performance.now();
    await pause(o.seconds * 1000);
    const elapsed = performance.now() - start;
    const share = (agent.cpuMs() - cpu) / elapsed;
    const each = (of: (viewer: Viewer) => number) =>
      viewers.reduce((sum, viewer) => sum + of(viewer), 0) / Math.max(1, count) / (elapsed / 1000);
    return {
      share,
      made: ((load.made - made) * 1000) / elapsed,
      messages: each((viewer) => viewer.messages),
      bytes: each((viewer) => viewer.bytes),
      changes: each((viewer) => viewer.changes),
    };
  } finally {
    for (const viewer of viewers) viewer.close();
  }
}

function report(windows: ReadonlyMap<number, readonly Window[]>): boolean {
  const middle = (viewers: number, key: keyof Window) => median(windows.get(viewers)!.map((w) => w[key]));
  let ok = true;
  for (const [viewers, limit] of limits) {
    const window = {
      share: middle(viewers, "share"),
      made: middle(viewers, "made"),
      messages: middle(viewers, "messages"),
      bytes: middle(viewers, "bytes"),
      changes: middle(viewers, "changes"),
    };
    const more = window.share - middle(0, "share");
    const verdict = more <= limit ? "ok" : "OVER";
    const compared = viewers === 0 ? "" : `, ${percent(more)} more (limit ${percent(limit)}) ${verdict}`;
    console.log(`median, ${line(viewers, window)}${compared}`);
    ok &&= more <= limit;
  }
  return ok;
}

const percent = (share: number): string => `${(share * 100).toFixed(2)}%`;

function line(viewers: number, { share, made, messages, bytes, changes }: Window): string {
  const stream = `; each ${messages.toFixed(1)} messages/s with ${changes.toFixed(1)} pods/s, ${(bytes / 1024).toFixed(1)} KiB/s`;
  const agent = `${percent(share)} of a core, ${made.toFixed(1)} changes/s`;
  return `${viewers} viewers: ${agent}${viewers === 0 ? "" : stream}`;
}

interface ConsoleSession {
  readonly origin: string;
  readonly key: string;
}

/** Logs in with a link of the local API, as `kubelet console` prints it. */
async function logIn(agent: ClusterAgent): Promise<ConsoleSession> {
  const call = httpRequest({ socketPath: agent.socketPath, method: "POST", path: "/console-link" });
  const [response] = (await once(call.end(), "response")) as [IncomingMessage];
  const { link } = JSON.parse(await text(response)) as { link: string };
  const { origin, hash } = new URL(link);
  const login = request(`${origin}/console/api/login`, {
    method: "POST",
    rejectUnauthorized: false,
    headers: { origin, "content-type": "application/json" },
  }).end(JSON.stringify({ token: hash.slice(loginFragment.length) }));
  const [reply] = (await once(login, "response")) as [IncomingMessage];
  const { key } = JSON.parse(await text(reply)) as Login;
  return { origin, key };
}

/** A page, as far as the agent can see it. */
class Viewer {
  messages = 0;
  bytes = 0;
  changes = 0;
  readonly #response: IncomingMessage;

  static async open({ origin, key }: ConsoleSession): Promise<Viewer> {
    const call = request(`${origin}/console/api/stream`, {
      rejectUnauthorized: false,
      agent: false,
      headers: { "x-console-key": key },
    });
    const [response] = (await once(call.end(), "response")) as [IncomingMessage];
    if (response.statusCode !== 200) throw new Error(`stream: ${response.statusCode}`);
    return new Viewer(response);
  }

  private constructor(response: IncomingMessage) {
    this.#response = response;
    let rest = "";
    response.on("error", () => {});
    response.setEncoding("utf8").on("data", (chunk: string) => {
      this.bytes += Buffer.byteLength(chunk);
      const parts = (rest + chunk).split("\n\n");
      rest = parts.pop() ?? "";
      for (const part of parts) this.#receive(/^data: (.*)$/m.exec(part)?.[1]);
    });
  }

  #receive(data: string | undefined): void {
    if (data === undefined) return;
    this.messages++;
    this.changes += (JSON.parse(data) as Changes | Snapshot).pods?.length ?? 0;
  }

  reset(): void {
    this.messages = 0;
    this.bytes = 0;
    this.changes = 0;
  }

  close(): void {
    this.#response.destroy();
  }
}
