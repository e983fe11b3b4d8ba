import { KubeletError } from "../../../../../lib/base/errors.ts";
import { msBetween, plusMs, type WallTime } from "../../../../../lib/base/time.ts";
import { pem, pemBlocks } from "../../../../../lib/base/x509/pem.ts";

/** The parts of a PodCertificateRequest that determine its state. */
export interface CertificateRequest {
  readonly conditions: readonly {
    readonly type: string;
    readonly reason: string;
    readonly message: string;
  }[];
  readonly certificateChain: string;
  readonly beginRefreshAt: WallTime;
  readonly notAfter: WallTime;
}

/** A request whose certificate is awaited. */
export interface PendingRequest {
  readonly privateKey: string;
  readonly name: string;
  /** A request that is not found after this was deleted. */
  readonly abandonAt: WallTime;
}

interface Credential {
  readonly privateKey: string;
  readonly certificateChain: string;
  readonly refreshAt: WallTime;
  readonly notAfter: WallTime;
  readonly reported: { readonly overdue: boolean; readonly expired: boolean };
}

/** Private key and certificate of one source of a volume. */
export type CredentialState =
  | { readonly kind: "none"; readonly pending?: PendingRequest | undefined }
  | {
      readonly kind: "issued";
      readonly credential: Credential;
      readonly pending?: PendingRequest | undefined;
    }
  /** Final: another request would have the same result. */
  | Rejected<"denied">
  | Rejected<"failed">;

interface Rejected<K> {
  readonly kind: K;
  readonly reason: string;
  readonly message: string;
}

export interface CredentialStep {
  readonly state: CredentialState;
  /** Warning events of the pod. */
  readonly events: readonly { readonly reason: string; readonly message: string }[];
  /** A request has to be sent. */
  readonly creates: boolean;
  /** The files of the volume are out of date. */
  readonly isNew: boolean;
}

const overdueMs = 10 * 60_000;

/**
 * The next step, by the state of the request or by the time. `find` returns the pending request, if the watch has it;
 * `jitterMs` delays the renewal, so that the pods of a node do not renew theirs together.
 */
export function nextCredentialStep(
  state: CredentialState,
  o: {
    readonly namespace: string;
    readonly find: (name: string) => CertificateRequest | undefined;
    readonly now: WallTime;
    readonly jitterMs: number;
  },
): CredentialStep {
  const stays: CredentialStep = { state, events: [], creates: false, isNew: false };
  if (state.kind === "denied" || state.kind === "failed") return stays;
  const { pending } = state;
  if (pending) {
    const request = o.find(pending.name);
    const result = request && resultOf(request, pending, o);
    if (result) return result;
    if (request || o.now <= pending.abandonAt)
      return state.kind === "issued" ? { ...stays, ...withAgeEvents(state, o.now) } : stays;
    return { ...stays, state: { ...state, pending: undefined }, creates: true };
  }
  if (state.kind === "none") return { ...stays, creates: true };
  // Also returns if the time cannot be read (NaN). Otherwise requests would be sent continuously.
  if (!(o.now >= state.credential.refreshAt)) return stays;
  return { ...stays, ...withAgeEvents(state, o.now), creates: true };
}

/** Undefined while the request is pending. */
function resultOf(
  request: CertificateRequest,
  pending: PendingRequest,
  { namespace, jitterMs }: { readonly namespace: string; readonly jitterMs: number },
): CredentialStep | undefined {
  for (const { type, reason, message } of request.conditions) {
    const ended = { creates: false, isNew: true };
    const details = `reason=${JSON.stringify(reason)}, message=${JSON.stringify(message)}`;
    const event = (what: string) => [
      { reason: type, message: `PodCertificateRequest ${namespace}/${pending.name} ${what}, ${details}` },
    ];
    if (type === "Denied")
      return { state: { kind: "denied", reason, message }, events: event("was denied"), ...ended };
    if (type === "Failed")
      return { state: { kind: "failed", reason, message }, events: event("failed"), ...ended };
    if (type !== "Issued") continue;
    const credential: Credential = {
      privateKey: pending.privateKey,
      certificateChain: certificatesOf(request.certificateChain),
      refreshAt: plusMs(request.beginRefreshAt, jitterMs),
      notAfter: request.notAfter,
      reported: { overdue: false, expired: false },
    };
    return { state: { kind: "issued", credential }, events: [], ...ended };
  }
  return undefined;
}

/** Each event once for a certificate. */
function withAgeEvents(
  state: Extract<CredentialState, { kind: "issued" }>,
  now: WallTime,
): Pick<CredentialStep, "state" | "events"> {
  const { credential } = state;
  const { overdue, expired } = credential.reported;
  const age = ageOf(credential, now);
  const reported = { overdue: overdue || age.overdue, expired: expired || age.expired };
  const events = [
    ...(reported.overdue && !overdue
      ? [{ reason: "CertificateOverdueForRefresh", message: "PodCertificate refresh overdue" }]
      : []),
    ...(reported.expired && !expired
      ? [{ reason: "CertificateExpired", message: "PodCertificate expired" }]
      : []),
  ];
  return { state: { ...state, credential: { ...credential, reported } }, events };
}

function ageOf({ refreshAt, notAfter }: Credential, now: WallTime): { overdue: boolean; expired: boolean } {
  return { overdue: msBetween(refreshAt, now) > overdueMs, expired: now > notAfter };
}

/** The state as the metric names it. */
export function credentialLabel(state: CredentialState, now: WallTime): string {
  if (state.kind === "none") return "not_yet_issued";
  if (state.kind !== "issued") return state.kind;
  const { overdue, expired } = ageOf(state.credential, now);
  return expired ? "expired" : overdue ? "overdue_for_refresh" : "fresh";
}

/** Throws while there is none. A certificate that has expired is kept until another is issued. */
export function credentialOf(state: CredentialState): { privateKey: string; certificateChain: string } {
  if (state.kind === "issued") {
    const { privateKey, certificateChain } = state.credential;
    return { privateKey, certificateChain };
  }
  if (state.kind === "none") throw new KubeletError("PodCertificate", "credential bundle is not issued yet");
  const details = `reason=${JSON.stringify(state.reason)} message=${JSON.stringify(state.message)}`;
  throw new KubeletError("PodCertificate", `PodCertificateRequest was permanently ${state.kind}: ${details}`);
}

/** The certificates of a chain, without comments and headers between and in the blocks. */
function certificatesOf(chain: string): string {
  return pemBlocks(chain)
    .map(({ der }) => pem("CERTIFICATE", der))
    .join("");
}
