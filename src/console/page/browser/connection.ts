import { type LoginInfo, loginFragment, type Session, type StreamMessage } from "../../protocol.ts";
import { emptyModel, reduce } from "../state/model.ts";
import { ServerEvents } from "../state/server-events.ts";
import { Store } from "../state/store.ts";
import { fetchSession, logInWithLink, RequestError, readStream } from "./api.ts";
import { deriveKey, onOtherLogin } from "./session-key.ts";

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

/** The open stream. */
let stream: AbortController | undefined;
let retryMs = firstRetryMs;
let silence = 0;
let retry = 0;
let queue: { message: StreamMessage; at: number }[] = [];
let frame = 0;

/** Connects now, and again when the user opens a link in this tab or logs in with another link. */
export function start(): void {
  addEventListener("hashchange", () => {
    if (location.hash.startsWith(loginFragment)) void connect();
  });
  onOtherLogin(() => {
    if (connection.get().state === "logged-out") void connect();
  });
  void connect();
}

/** Connects, and keeps connecting until the session ends. */
export async function connect(): Promise<void> {
  clearTimeout(retry);
  stream?.abort();
  try {
    await useLink();
    session.set(await openSession(AbortSignal.timeout(10_000)));
  } catch (error) {
    if (error instanceof RequestError && error.status === 401) {
      session.set(undefined);
      connection.set({ state: "logged-out", login: error.login, message: error.message });
    } else connectLater("The node does not respond.");
    return;
  }
  void listen();
}

/** The token of a link is valid once; it does not remain in the address. */
async function useLink(): Promise<void> {
  const { hash } = location;
  if (!hash.startsWith(loginFragment)) return;
  // A browser that only loads the page in advance must not use up the link.
  const { prerendering } = document as { readonly prerendering?: boolean };
  if (prerendering)
    await new Promise((resolve) => document.addEventListener("prerenderingchange", resolve, { once: true }));
  try {
    await logInWithLink(hash.slice(loginFragment.length));
  } catch (error) {
    // The node did not respond: the link may be valid.
    if (!(error instanceof RequestError)) throw error;
    history.replaceState(null, "", "#/");
    throw error;
  }
  history.replaceState(null, "", "#/");
}

/** The session of the key, or the session that this page had before a restart of the kubelet. */
async function openSession(signal: AbortSignal): Promise<Session> {
  try {
    return await fetchSession(signal);
  } catch (error) {
    const challenge = error instanceof RequestError ? error.login?.challenge : undefined;
    if (!challenge || !(await deriveKey(challenge))) throw error;
    return await fetchSession(signal);
  }
}

async function listen(): Promise<void> {
  const opened = new AbortController();
  stream = opened;
  watchSilence();
  const events = new ServerEvents();
  try {
    for await (const chunk of readStream(opened.signal)) {
      if (opened.signal.aborted) return;
      retryMs = firstRetryMs;
      watchSilence();
      for (const data of events.append(chunk)) queue.push({ message: JSON.parse(data), at: Date.now() });
      scheduleFrame();
    }
  } catch {
    // The next connection checks the session, and reports why it is rejected.
  }
  // After its last message, the page does what that message requires.
  if (opened === stream && !queue.some(({ message }) => message.kind === "bye"))
    connectLater("The connection to the node was lost.");
}

function watchSilence(): void {
  clearTimeout(silence);
  silence = setTimeout(() => connectLater("The node stopped sending updates."), silenceMs);
}

function connectLater(reason: string): void {
  stream?.abort();
  stream = undefined;
  clearTimeout(silence);
  const before = connection.get();
  const since = before.state === "reconnecting" ? before.since : Date.now();
  connection.set({ state: "reconnecting", since, reason });
  clearTimeout(retry);
  retry = setTimeout(() => void connect(), retryMs);
  retryMs = Math.min(maxRetryMs, retryMs * 1.6);
}

/** Updates the page once for all messages that arrive before the next frame. A hidden page has no frames and is updated once a second. */
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
    stream?.abort();
    stream = undefined;
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
