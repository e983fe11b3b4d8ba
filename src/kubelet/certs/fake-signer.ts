import type { KeyObject } from "node:crypto";
import { type Clock, sleep } from "../../lib/base/clock.ts";
import { epochMs } from "../../lib/base/time.ts";
import {
  type DistinguishedName,
  generateKey,
  parseRequest,
  signCertificate,
} from "../../lib/base/x509/x509.ts";
import { KubeApiError, TransportError } from "../../lib/clients/kube/api-error.ts";
import type {
  CertificateApi,
  RequestCondition,
  SigningRequest,
  SigningRequestState,
} from "./certificate-api.ts";
import type { CertificateManager } from "./certificate-manager.ts";
import { type CertificatePair, readPair } from "./certificate-pair.ts";
import type { PairStore } from "./certificate-store.ts";

/** How a request is handled. `unavailable`: no response; `reject`: an HTTP status. */
export type SignerBehavior =
  | "sign"
  | "deny"
  | "fail"
  | "ignore"
  | "delete"
  | "unavailable"
  | "wrong key"
  | "wrong name"
  | { readonly reject: number };

export interface Authority {
  readonly certificate: string;
  readonly key: KeyObject;
}

export function fakeAuthority(): Authority {
  const { privateKey, publicKey } = generateKey();
  const certificate = signCertificate({
    subject: { commonName: "fake-ca", organizations: [] },
    issuer: "self",
    publicKey,
    key: privateKey,
    notBefore: new Date("2000-01-01"),
    notAfter: new Date("2100-01-01"),
    isCa: true,
    usages: ["cert sign"],
  });
  return { certificate, key: privateKey };
}

export function issue(
  authority: Authority,
  request: string,
  usages: SigningRequest["usages"],
  validity: { from: number; until: number },
  other: { publicKey?: KeyObject; subject?: DistinguishedName } = {},
): string {
  const { subject, dnsNames, ipAddresses, publicKey } = parseRequest(request);
  const [notBefore, notAfter] = [new Date(validity.from), new Date(validity.until)];
  const requested = { subject, dnsNames, ipAddresses, publicKey };
  return signCertificate({ ...requested, ...other, issuer: authority, notBefore, notAfter, usages });
}

/** An API in memory that approves and signs, or does not, in the time of the clock. */
export class FakeSigner implements CertificateApi {
  readonly authority = fakeAuthority();
  readonly requests: SigningRequest[] = [];
  readonly #states = new Map<string, SigningRequestState>();
  readonly #watchers = new Set<{ name: string; notify: (state: SigningRequestState | undefined) => void }>();
  readonly #clock: Clock;
  behavior: () => SignerBehavior = () => "sign";
  lifetimeMs = 3_600_000;
  backdateMs = 0;
  /** From a request to its certificate. */
  delayMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async create(request: SigningRequest): Promise<SigningRequestState> {
    const behavior = this.behavior();
    if (behavior === "unavailable") throw new TransportError("connection refused");
    if (typeof behavior === "object") {
      throw new KubeApiError({
        status: behavior.reject,
        reason: "Rejected",
        message: `rejected with ${behavior.reject}`,
      });
    }
    const name = request.name ?? `csr-${this.requests.length}`;
    if (this.#states.has(name)) {
      throw new KubeApiError({ status: 409, reason: "AlreadyExists", message: `${name} already exists` });
    }
    this.requests.push(request);
    const uid = `uid-${this.requests.length}`;
    const state = { name, uid, ...request, conditions: [], certificate: "" };
    this.#states.set(name, state);
    this.#clock.after(this.delayMs, () => this.#decide(state, request, behavior));
    return state;
  }

  async get(name: string): Promise<SigningRequestState> {
    const state = this.#states.get(name);
    if (state) return state;
    throw new KubeApiError({ status: 404, reason: "NotFound", message: `${name} not found` });
  }

  async watch(
    name: string,
    notify: (state: SigningRequestState | undefined) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const watcher = { name, notify };
    this.#watchers.add(watcher);
    const state = this.#states.get(name);
    if (state) notify(state);
    await sleep(this.#clock, Number.MAX_SAFE_INTEGER / 2, signal).catch(() => {});
    this.#watchers.delete(watcher);
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  set(name: string, state: SigningRequestState | undefined): void {
    if (state) this.#states.set(name, state);
    else this.#states.delete(name);
    for (const watcher of this.#watchers) if (watcher.name === name) watcher.notify(state);
  }

  #decide(state: SigningRequestState, request: SigningRequest, behavior: SignerBehavior): void {
    const condition = (type: string): { conditions: RequestCondition[] } => ({
      conditions: [{ type, reason: "Test", message: "as configured" }],
    });
    if (behavior === "ignore") return;
    if (behavior === "delete") return this.set(state.name, undefined);
    if (behavior === "deny") return this.set(state.name, { ...state, ...condition("Denied") });
    if (behavior === "fail") return this.set(state.name, { ...state, ...condition("Failed") });
    const now = epochMs(this.#clock.wall());
    const validity = { from: now - this.backdateMs, until: now + this.lifetimeMs };
    const other = {
      ...(behavior === "wrong key" && { publicKey: generateKey().publicKey }),
      ...(behavior === "wrong name" && { subject: { commonName: "x", organizations: [] } }),
    };
    const certificate = issue(this.authority, request.request, request.usages, validity, other);
    this.set(state.name, { ...state, ...condition("Approved") });
    this.set(state.name, { ...state, ...condition("Approved"), certificate });
  }
}

export class MemoryStore implements PairStore {
  pair: CertificatePair | undefined;
  updates = 0;

  async current(): Promise<CertificatePair | undefined> {
    return this.pair;
  }

  async update(cert: string, key: string): Promise<CertificatePair> {
    this.updates++;
    this.pair = readPair(cert, key);
    return this.pair;
  }
}

/** The current certificate of a manager, or the next one. */
export async function available(manager: CertificateManager): Promise<CertificatePair> {
  return manager.current() ?? new Promise((resolve) => void manager.onChange(resolve));
}
