import {
  type ApplyRequest,
  type ApplyResult,
  type ChangeResult,
  type ConsoleError,
  consolePath,
  type DeleteRequest,
  type ImageList,
  keyHeader,
  keyProtocol,
  type Login,
  type LoginInfo,
  type LoginRequest,
  type ManifestProblem,
  type PodDetail,
  type PodUsage,
  type PodYaml,
  type Session,
} from "../../protocol.ts";
import { forgetKey, keepKeys, sessionKey } from "./session-key.ts";

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

/** The subprotocols of a terminal; one is the key, which cannot be a header of a WebSocket. */
export const execProtocols = (): string[] => ["v5.channel.k8s.io", `${keyProtocol}${sessionKey() ?? ""}`];

export const fetchSession = (signal?: AbortSignal) => read<Session>(`${api}/session`, signal);
export const fetchPod = (uid: string, signal?: AbortSignal) => read<PodDetail>(podPath(uid), signal);
export const fetchYaml = (uid: string, signal?: AbortSignal) => read<PodYaml>(`${podPath(uid)}/yaml`, signal);

export const fetchUsage = (uid: string, signal?: AbortSignal) =>
  read<PodUsage>(`${podPath(uid)}/usage`, signal);
export const fetchImages = (signal?: AbortSignal) => read<ImageList>(`${api}/images`, signal);

export const applyManifest = (request: ApplyRequest) => write<ApplyResult>(`${api}/apply`, request);

export const deletePod = (uid: string, request: DeleteRequest) =>
  write<ChangeResult>(`${podPath(uid)}/delete`, request);

export const restartContainer = (uid: string, container: string) =>
  write<ChangeResult>(`${podPath(uid)}/containers/${encodeURIComponent(container)}/restart`, {});

/** The stream of server-sent events, as text. */
export async function* readStream(signal: AbortSignal): AsyncGenerator<string> {
  const response = await request(`${api}/stream`, { signal });
  if (!response.ok) return await decode(response);
  yield* chunksOf(response);
}

/** The text of a log as it arrives. */
export async function* readLog(url: string, signal: AbortSignal): AsyncGenerator<string> {
  const response = await request(url, { signal });
  if (!response.ok) throw new RequestError(response.status, await logError(response));
  yield* chunksOf(response);
}

/** A link cannot have the key of the session: the whole log is read first. */
export async function fetchLog(url: string): Promise<Blob> {
  const response = await request(url);
  if (!response.ok) throw new RequestError(response.status, await logError(response));
  return await response.blob();
}

async function* chunksOf({ body }: Response): AsyncGenerator<string> {
  if (!body) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
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

/** Logs in with a token of the kubelet API. */
export const logInWithToken = (token: string) => logIn({}, { authorization: `Bearer ${token}` });
export const logInWithLink = (token: string) => logIn({ token });

async function logIn(body: LoginRequest, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  await keepKeys(await post<Login>(fetch, `${api}/login`, body, headers));
}

const read = async <T>(path: string, signal?: AbortSignal): Promise<T> =>
  decode(await request(path, signal ? { signal } : {}));

const write = <T>(path: string, body: object): Promise<T> => post(request, path, body);

async function post<T>(
  send: (path: string, init: RequestInit) => Promise<Response>,
  path: string,
  body: object,
  more: Readonly<Record<string, string>> = {},
): Promise<T> {
  const headers = { "content-type": "application/json", ...more };
  return decode(await send(path, { method: "POST", headers, body: JSON.stringify(body) }));
}

/** Sends a request with the key of the session. The browser adds no credentials of its own. */
async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const key = sessionKey();
  const headers = { ...init.headers, ...(key !== undefined && { [keyHeader]: key }) };
  const response = await fetch(path, { ...init, headers, cache: "no-store" });
  if (response.status === 401 && key !== undefined) forgetKey(key);
  return response;
}

async function decode<T>(response: Response): Promise<T> {
  if (response.ok) return response.json();
  const body: Partial<ConsoleError> | undefined = await response.json().catch(() => undefined);
  throw new RequestError(response.status, body?.error);
}
