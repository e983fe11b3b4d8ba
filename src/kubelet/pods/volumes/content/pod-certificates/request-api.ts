import type { Clock } from "../../../../../lib/base/clock.ts";
import { KubeletError, messageOf } from "../../../../../lib/base/errors.ts";
import type { Logger } from "../../../../../lib/base/logger.ts";
import { type WallTime, wallTime } from "../../../../../lib/base/time.ts";
import { Reflector } from "../../../../../lib/clients/kube/reflector.ts";
import type { KubeTransport } from "../../../../../lib/clients/kube/transport-interface.ts";
import type { RawObject } from "../../../../../lib/clients/kube/watch-stream.ts";
import type { Pod, Volume } from "../../../../../lib/model/pod.ts";
import type { CertificateRequest } from "./credential-state.ts";

export type PodCertificateSource = NonNullable<
  NonNullable<NonNullable<Volume["projected"]>["sources"]>[number]["podCertificate"]
>;

export interface WatchedRequest extends CertificateRequest {
  readonly podUid: string;
}

const group = "/apis/certificates.k8s.io/v1beta1";
const requestMs = 10_000;
type Api = Pick<KubeTransport, "request" | "stream">;

/** The PodCertificateRequests of this node. */
export function watchRequests(o: {
  readonly api: Api;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onChange: (podUid: string) => void;
}): Reflector<WatchedRequest> {
  return new Reflector<WatchedRequest>({
    name: "podcertificaterequests",
    path: `${group}/podcertificaterequests`,
    fieldSelector: `spec.nodeName=${o.nodeName}`,
    transport: o.api,
    clock: o.clock,
    logger: o.logger,
    transform: toRequest,
    onChange: (change) => o.onChange(change.object.podUid),
  });
}

/** Sends a request for the pod; the caller keeps the private key. */
export async function createRequest(
  api: Api,
  {
    pod: { metadata, spec },
    source,
    node,
    request,
  }: {
    readonly pod: Pod;
    readonly source: PodCertificateSource;
    readonly node: { readonly name: string; readonly uid: string };
    readonly request: Buffer;
  },
  signal: AbortSignal,
): Promise<{ name: string; createdAt: WallTime }> {
  const { namespace, name, uid } = metadata;
  const account = spec.serviceAccountName ?? "";
  const serviceAccountUID = await accountUid(api, namespace, account, signal);
  const body = {
    apiVersion: "certificates.k8s.io/v1beta1",
    kind: "PodCertificateRequest",
    metadata: {
      namespace,
      generateName: "req-",
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid }],
    },
    spec: {
      signerName: source.signerName,
      podName: name,
      podUID: uid,
      serviceAccountName: account,
      serviceAccountUID,
      nodeName: node.name,
      nodeUID: node.uid,
      ...(source.maxExpirationSeconds !== undefined && { maxExpirationSeconds: source.maxExpirationSeconds }),
      stubPKCS10Request: request.toString("base64"),
      ...(source.userAnnotations && { unverifiedUserAnnotations: source.userAnnotations }),
    },
  };
  const path = `${group}/namespaces/${encodeURIComponent(namespace)}/podcertificaterequests`;
  const created = await api
    .request<Created>({ method: "POST", path, body, signal, timeoutMs: requestMs })
    .catch(wrapped("while creating on API"));
  const { name: given, creationTimestamp } = created.metadata;
  return { name: given, createdAt: wallTime(creationTimestamp) };
}

interface Created {
  readonly metadata: { readonly name: string; readonly creationTimestamp: string };
}

/** The request names it, so that a certificate is not issued to another account that was created under this name. */
async function accountUid(api: Api, namespace: string, name: string, signal: AbortSignal): Promise<string> {
  const [ns, account] = [namespace, name].map(encodeURIComponent);
  const path = `/api/v1/namespaces/${ns}/serviceaccounts/${account}`;
  const found = await api
    .request<{ metadata?: { uid?: string } }>({ method: "GET", path, signal, timeoutMs: requestMs })
    .catch(wrapped("while fetching service account"));
  return found.metadata?.uid ?? "";
}

function wrapped(what: string) {
  return (cause: unknown): never => {
    throw new KubeletError("PodCertificate", `${what}: ${messageOf(cause)}`, { cause });
  };
}

function toRequest(raw: RawObject): WatchedRequest {
  const { spec, status } = raw as {
    spec?: { podUID?: unknown };
    status?: {
      conditions?: readonly { type?: unknown; reason?: unknown; message?: unknown }[];
      certificateChain?: unknown;
      beginRefreshAt?: unknown;
      notAfter?: unknown;
    };
  };
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  return {
    podUid: text(spec?.podUID),
    conditions: (status?.conditions ?? []).map((each) => ({
      type: text(each.type),
      reason: text(each.reason),
      message: text(each.message),
    })),
    certificateChain: text(status?.certificateChain),
    beginRefreshAt: wallTime(text(status?.beginRefreshAt)),
    notAfter: wallTime(text(status?.notAfter)),
  };
}
