import {
  type ApplyRequest,
  type ApplyResult,
  type ChangeResult,
  type ConsoleError,
  consolePath,
  csrfHeader,
  type DeleteRequest,
  type ImageList,
  type LoginInfo,
  type ManifestProblem,
  type PodDetail,
  type PodUsage,
  type PodYaml,
  type ResumeRequest,
  type Session,
} from "../../protocol.ts";

const api = `${consolePath}/api`;

/** A response with an error status; `message` is for users. */
export class RequestError extends Error {
  readonly status: number;
  readonly problems: readonly ManifestProblem[];
  readonly login: LoginInfo | undefined;

  constructor(status: number, error?: ConsoleError["error"]) {
    super(error?.message ?? `The node responded with status ${status}.`);
    this.status = status;
    this.problems = error?.problems ?? [];
    this.login = error?.login;
  }
}

export const streamUrl = `${api}/stream`;

const podPath = (uid: string): string => `${api}/pods/${encodeURIComponent(uid)}`;

export function logsUrl(uid: string, container: string, query: Readonly<Record<string, string>>): string {
  return `${podPath(uid)}/logs/${encodeURIComponent(container)}?${new URLSearchParams(query)}`;
}

export function execUrl(uid: string, container: string, command: readonly string[]): string {
  const query = new URLSearchParams([
    ...command.map((part) => ["command", part]),
    ...["tty", "stdin", "stdout"].map((name) => [name, "true"]),
  ] as [string, string][]);
  const path = `${podPath(uid)}/exec/${encodeURIComponent(container)}?${query}`;
  return new URL(path, location.href.replace(/^http/, "ws")).href;
}

export const fetchSession = (signal?: AbortSignal) => read<Session>(`${api}/session`, signal);
export const fetchPod = (uid: string, signal?: AbortSignal) => read<PodDetail>(podPath(uid), signal);
export const fetchYaml = (uid: string, signal?: AbortSignal) => read<PodYaml>(`${podPath(uid)}/yaml`, signal);

export const fetchUsage = (uid: string, signal?: AbortSignal) =>
  read<PodUsage>(`${podPath(uid)}/usage`, signal);
export const fetchImages = (signal?: AbortSignal) => read<ImageList>(`${api}/images`, signal);

export const applyManifest = (csrf: string, request: ApplyRequest) =>
  write<ApplyResult>(`${api}/apply`, csrf, request);

export const deletePod = (csrf: string, uid: string, request: DeleteRequest) =>
  write<ChangeResult>(`${podPath(uid)}/delete`, csrf, request);

export const restartContainer = (csrf: string, uid: string, container: string) =>
  write<ChangeResult>(`${podPath(uid)}/containers/${encodeURIComponent(container)}/restart`, csrf, {});

/** The text of a log as it arrives. */
export async function* readLog(url: string, signal: AbortSignal): AsyncGenerator<string> {
  const response = await fetch(url, { signal, cache: "no-store" });
  if (!response.ok) throw new RequestError(response.status, await logError(response));
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

async function logError(response: Response): Promise<ConsoleError["error"] | undefined> {
  const message = (await response.text()).trim();
  return message ? { code: "internal", message } : undefined;
}

export async function logInWithToken(token: string): Promise<Session> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  return decode(await fetch(`${api}/login`, { method: "POST", headers, body: "{}" }));
}

/** Proves that this page has the key of the session, without sending it. */
export async function resumeSession(key: string, challenge: string, signal: AbortSignal): Promise<Session> {
  const encode = (text: string) => new TextEncoder().encode(text);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", encode(key), algorithm, false, ["sign"]);
  const proof = await crypto.subtle.sign("HMAC", imported, encode(`${challenge} ${location.origin}`));
  const hex = [...new Uint8Array(proof)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const request: ResumeRequest = { proof: hex };
  const headers = { "content-type": "application/json" };
  return decode(
    await fetch(`${api}/resume`, { method: "POST", headers, body: JSON.stringify(request), signal }),
  );
}

const read = async <T>(path: string, signal?: AbortSignal): Promise<T> =>
  decode(await fetch(path, { signal, cache: "no-store" }));

async function write<T>(path: string, csrf: string, body: object): Promise<T> {
  const headers = { "content-type": "application/json", [csrfHeader]: csrf };
  return decode(await fetch(path, { method: "POST", headers, body: JSON.stringify(body) }));
}

async function decode<T>(response: Response): Promise<T> {
  if (response.ok) return response.json();
  const body: Partial<ConsoleError> | undefined = await response.json().catch(() => undefined);
  throw new RequestError(response.status, body?.error);
}
