import assert from "node:assert/strict";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import type {
  Changes,
  ConsoleError,
  Login,
  PodDetail,
  PodEvent,
  PodSummary,
  Snapshot,
} from "../../src/console/protocol.ts";
import { runKey } from "../../src/console/sessions/persisted-sessions.ts";
import { waitFor } from "../e2e/wait-for.ts";

/** Exchanges the token in the fragment of a link, as the page does. */
export async function useLink(link: string): Promise<Response> {
  const { origin, hash } = new URL(link);
  assert.match(hash, /^#login=[\w-]{43}$/);
  return fetch(`${origin}/console/api/login`, {
    method: "POST",
    headers: { origin, "content-type": "application/json" },
    body: JSON.stringify({ token: hash.slice("#login=".length) }),
  });
}

/** The requests of the page to a console, without a browser. */
export class ConsoleClient {
  readonly origin: string;
  #key: string;
  readonly #resumeKey: string;
  readonly pods = new Map<string, PodSummary>();
  readonly events: PodEvent[] = [];
  node: Snapshot["node"] | undefined;
  messages = 0;

  private constructor(origin: string, { key, resumeKey }: Login) {
    this.origin = origin;
    this.#key = key;
    this.#resumeKey = resumeKey ?? "";
  }

  static async logIn(link: string): Promise<ConsoleClient> {
    const response = await useLink(link);
    const body = await response.text();
    assert.equal(response.status, 200, body);
    return new ConsoleClient(new URL(link).origin, JSON.parse(body) as Login);
  }

  /** After a restart of the kubelet. */
  async resume(): Promise<void> {
    const rejected = await fetch(`${this.origin}/console/api/session`, { headers: this.headers });
    assert.equal(rejected.status, 401);
    const { challenge = "" } = ((await rejected.json()) as ConsoleError).error.login ?? {};
    this.#key = runKey(this.#resumeKey, challenge, this.origin);
    await this.get("/session");
  }

  get headers(): Record<string, string> {
    return { origin: this.origin, "x-console-key": this.#key };
  }

  /** The subprotocols of a WebSocket. */
  get protocols(): string[] {
    return ["v5.channel.k8s.io", `kubelet-console-key.${this.#key}`];
  }

  async get<T>(path: string): Promise<T> {
    const response = await fetch(`${this.origin}/console/api${path}`, { headers: this.headers });
    assert.equal(response.status, 200, path);
    return (await response.json()) as T;
  }

  async text(path: string): Promise<string> {
    return (await fetch(`${this.origin}/console/api${path}`, { headers: this.headers })).text();
  }

  async post(path: string, body: object): Promise<{ status: number; body: Partial<ConsoleError> & object }> {
    const response = await fetch(`${this.origin}/console/api${path}`, {
      method: "POST",
      headers: { ...this.headers, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as object };
  }

  detail(uid: string): Promise<PodDetail> {
    return this.get(`/pods/${uid}`);
  }

  /** Follows the stream as the page does; the returned function disconnects. */
  async watch(): Promise<() => void> {
    const call = request(`${this.origin}/console/api/stream`, { headers: this.headers });
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      call.on("response", resolve).on("error", reject).end();
    });
    assert.equal(response.statusCode, 200, response.statusCode === 200 ? "" : await text(response));
    let buffer = "";
    response.setEncoding("utf8");
    response.on("error", () => {});
    response.on("data", (chunk: string) => {
      const parts = (buffer + chunk).split("\n\n");
      buffer = parts.pop() ?? "";
      for (const part of parts) {
        const data = /^data: (.*)$/m.exec(part)?.[1];
        if (data !== undefined) this.#receive(JSON.parse(data) as Snapshot | Changes);
      }
    });
    return () => call.destroy();
  }

  /** The pod, once it is in the list and the check passes. */
  async pod(name: string, check: (pod: PodSummary) => void = () => {}): Promise<PodSummary> {
    return waitFor(() => {
      const found = [...this.pods.values()].find(
        (pod) => pod.name === name || pod.name.startsWith(`${name}-`),
      );
      assert.ok(found, `no pod ${name} in ${[...this.pods.values()].map((pod) => pod.name)}`);
      check(found);
      return found;
    });
  }

  #receive(message: Snapshot | Changes): void {
    this.messages++;
    if (message.kind === "snapshot") this.pods.clear();
    for (const pod of message.pods ?? []) this.pods.set(pod.uid, pod);
    if (message.kind === "changes") for (const uid of message.removed ?? []) this.pods.delete(uid);
    this.events.push(...(message.events ?? []));
    this.node = message.node ?? this.node;
  }
}
