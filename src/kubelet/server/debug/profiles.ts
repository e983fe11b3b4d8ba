import type { Session } from "node:inspector/promises";
import { sleep, systemClock } from "../../../lib/base/clock.ts";
import { attributesOf } from "../auth/attributes.ts";
import { HttpError } from "../http-error.ts";
import { replyText } from "../replies.ts";
import type { Exchange, Route } from "../route.ts";
import { disabledRoute } from "./disabled.ts";

const maxSeconds = 300;
/** Bytes between two samples: fine enough for a process that allocates little. */
const samplingInterval = 4096;

/**
 * V8 profiles of this process: for DevTools, not for pprof. The profiles that are always enabled contain only names of functions and files.
 * A heap snapshot contains every string in memory, including Secrets, tokens and keys.
 */
export function profileRoutes(o: {
  readonly enableProfilingHandler: boolean;
  readonly heapSnapshots: boolean;
}): Route[] {
  const base = "/debug/pprof/{name...}";
  if (!o.enableProfilingHandler) return [disabledRoute(base, "profiling endpoint is disabled.")];
  let busy = false;
  const handle = async (exchange: Exchange) => {
    const { name = "" } = exchange.params;
    const take = Object.hasOwn(profiles, name) && profiles[name];
    if (name === "") return replyText(exchange.response, 200, index);
    if (!take) throw new HttpError(404, "Unknown profile\n");
    if (name === "snapshot" && !o.heapSnapshots)
      throw new HttpError(405, "heap snapshots contain Secrets: --enable-heap-snapshots enables them.\n");
    if (busy) throw new HttpError(429, "another profile is being taken\n");
    busy = true;
    try {
      await take(exchange);
    } finally {
      busy = false;
    }
  };
  return [{ method: "GET", path: base, attributes: () => attributesOf("GET", "/debug/pprof/"), handle }];
}

const index =
  "profile?seconds=30  CPU profile (.cpuprofile)\n" +
  "heap?seconds=30  allocations by function (.heapprofile)\n" +
  "snapshot  heap snapshot (.heapsnapshot), with --enable-heap-snapshots\n" +
  "cmdline\n";

/** Loaded at first use: it takes worker threads and more of Node.js with it. */
async function connectInspector(): Promise<Session> {
  const inspector = await import("node:inspector/promises");
  const session = new inspector.Session();
  session.connect();
  return session;
}

const profiles: Readonly<Record<string, (exchange: Exchange) => Promise<void>>> = {
  async profile({ query, response, signal }) {
    const session = await connectInspector();
    try {
      await session.post("Profiler.enable");
      await session.post("Profiler.start");
      await sleep(systemClock, secondsOf(query) * 1000, signal);
      const { profile } = await session.post("Profiler.stop");
      attachment(response, "kubelet.cpuprofile").end(JSON.stringify(profile));
    } finally {
      session.disconnect();
    }
  },
  async heap({ query, response, signal }) {
    const session = await connectInspector();
    try {
      await session.post("HeapProfiler.startSampling", { samplingInterval });
      await sleep(systemClock, secondsOf(query) * 1000, signal);
      const { profile } = await session.post("HeapProfiler.stopSampling");
      attachment(response, "kubelet.heapprofile").end(JSON.stringify(profile));
    } finally {
      session.disconnect();
    }
  },
  async snapshot({ response }) {
    const session = await connectInspector();
    try {
      attachment(response, "kubelet.heapsnapshot");
      session.on("HeapProfiler.addHeapSnapshotChunk", ({ params }) => response.write(params.chunk));
      await session.post("HeapProfiler.takeHeapSnapshot");
      response.end();
    } finally {
      session.disconnect();
    }
  },
  async cmdline({ response }) {
    replyText(response, 200, process.argv.join("\0"));
  },
};

function secondsOf(query: URLSearchParams): number {
  const text = query.get("seconds") ?? "30";
  return /^\d{1,4}$/.test(text) ? Math.min(Math.max(Number(text), 1), maxSeconds) : 30;
}

function attachment(response: Exchange["response"], name: string): Exchange["response"] {
  return response.writeHead(200, {
    "content-type": "application/octet-stream",
    "content-disposition": `attachment; filename="${name}"`,
    "x-content-type-options": "nosniff",
  });
}
