import type { LoginInfo, Session, StreamMessage } from "../../protocol.ts";
import { emptyModel, reduce } from "../state/model.ts";
import { Store } from "../state/store.ts";
import { fetchSession, RequestError, resumeSession, streamUrl } from "./api.ts";

export type Connection =
  | { readonly state: "connecting" }
  | { readonly state: "live" }
  | { readonly state: "reconnecting"; readonly since: number; readonly reason: string }
  | { readonly state: "logged-out"; readonly login: LoginInfo | undefined; readonly message: string };

export const model = new Store(emptyModel);
export const session = new Store<Session | undefined>(undefined);
export const connection = new Store<Connection>({ state: "connecting" });

/** The node sends more often than this. */
const silenceMs = 40_000;
const firstRetryMs = 500;
const maxRetryMs = 5_000;
const loginCheckMs = 3_000;

let source: EventSource | undefined;
let retryMs = firstRetryMs;
let silence = 0;
let retry = 0;
let queue: { message: StreamMessage; at: number }[] = [];
let frame = 0;

/** Connects, and keeps connecting until the session ends. */
export async function connect(): Promise<void> {
  clearTimeout(retry);
  source?.close();
  try {
    session.set(await openSession(AbortSignal.timeout(10_000)));
  } catch (error) {
    if (error instanceof RequestError && error.status === 401) {
      session.set(undefined);
      connection.set({ state: "logged-out", login: error.login, message: error.message });
      // Another tab may open a new link: this page continues with that session.
      retry = setTimeout(() => void connect(), loginCheckMs);
    } else connectLater("The node does not respond.");
    return;
  }
  listen();
}

/** The session of the cookie, or that of this page before a restart of the kubelet. */
async function openSession(signal: AbortSignal): Promise<Session> {
  try {
    return await fetchSession(signal);
  } catch (error) {
    const challenge = error instanceof RequestError ? error.login?.challenge : undefined;
    const key = session.get()?.resumeKey;
    if (!challenge || !key) throw error;
    return await resumeSession(key, challenge, signal);
  }
}

function listen(): void {
  const opened = new EventSource(streamUrl);
  source = opened;
  watchSilence();
  const receive = (event: MessageEvent<string>) => {
    if (opened !== source) return;
    retryMs = firstRetryMs;
    watchSilence();
    queue.push({ message: JSON.parse(event.data), at: Date.now() });
    scheduleFrame();
  };
  for (const kind of ["snapshot", "changes", "bye"]) opened.addEventListener(kind, receive);
  // EventSource would try again itself, but not after a response with an error status, and without checking the session.
  opened.onerror = () => {
    if (opened === source) connectLater("The connection to the node was lost.");
  };
}

function watchSilence(): void {
  clearTimeout(silence);
  silence = setTimeout(() => connectLater("The node sends nothing."), silenceMs);
}

function connectLater(reason: string): void {
  source?.close();
  source = undefined;
  clearTimeout(silence);
  const before = connection.get();
  const since = before.state === "reconnecting" ? before.since : Date.now();
  connection.set({ state: "reconnecting", since, reason });
  clearTimeout(retry);
  retry = setTimeout(() => void connect(), retryMs);
  retryMs = Math.min(maxRetryMs, retryMs * 1.6);
}

/** All messages until the next frame are one update of the page. A hidden page has no frames: it is updated once a second. */
function scheduleFrame(): void {
  if (frame !== 0) return;
  frame = document.hidden ? setTimeout(applyQueue, 1_000) : requestAnimationFrame(applyQueue);
}

function applyQueue(): void {
  frame = 0;
  const received = queue;
  queue = [];
  let next = model.get();
  for (const { message, at } of received) next = reduce(next, message, at);
  model.set(next);
  if (next.ended === "session") {
    source?.close();
    source = undefined;
    void connect();
  } else if (next.ended === "stopping") connectLater("The kubelet is stopping.");
  else connection.set({ state: "live" });
}

/** A frame that was requested before the page was hidden does not come. */
export function watchVisibility(): void {
  document.addEventListener("visibilitychange", () => {
    if (queue.length === 0) return;
    cancelAnimationFrame(frame);
    clearTimeout(frame);
    applyQueue();
  });
}

/** The node's time. */
export const nodeNow = (): number => Date.now() + model.get().clockOffset;
