import type { Clock } from "../../lib/base/clock.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Usage } from "../../lib/base/x509/x509.ts";
import { Reflector } from "../../lib/clients/kube/reflector.ts";
import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";

export const clientSigner = "kubernetes.io/kube-apiserver-client-kubelet";
export const servingSigner = "kubernetes.io/kubelet-serving";

/** A certificate request before it is sent. */
export interface SigningRequest {
  /** Without a name the API generates one, "csr-…". */
  readonly name?: string;
  /** PEM. */
  readonly request: string;
  readonly signerName: string;
  readonly usages: readonly Usage[];
}

export interface RequestCondition {
  readonly type: string;
  readonly reason?: string;
  readonly message?: string;
}

/** A CertificateSigningRequest of the API. */
export interface SigningRequestState {
  readonly name: string;
  readonly uid: string;
  /** PEM. */
  readonly request: string;
  readonly signerName: string;
  readonly conditions: readonly RequestCondition[];
  /** PEM, or empty as long as there is none. */
  readonly certificate: string;
}

/** The certificates API. Errors have the HTTP status of the response as `status`. */
export interface CertificateApi {
  create(request: SigningRequest, signal: AbortSignal): Promise<SigningRequestState>;
  get(name: string, signal: AbortSignal): Promise<SigningRequestState>;
  /**
   * Reports each state of a request, the current one first, and undefined when it was deleted. Survives outages. Ends with
   * the signal.
   */
  watch(
    name: string,
    notify: (state: SigningRequestState | undefined) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

/** A corrected authorization takes effect soon. */
const maxWatchBackoffMs = 9_000;
const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

export function kubeCertificateApi(o: {
  transport: Pick<KubeTransport, "request" | "stream">;
  clock: Clock;
  logger: Logger;
}): CertificateApi {
  const { transport, clock, logger } = o;
  return {
    create: async (request, signal) =>
      readState(await transport.request({ method: "POST", path, body: requestObject(request), signal })),
    get: async (name, signal) =>
      readState(
        await transport.request({ method: "GET", path: `${path}/${encodeURIComponent(name)}`, signal }),
      ),
    watch: async (name, notify, signal) => {
      const watch = new Reflector<SigningRequestState>({
        name: "certificatesigningrequests",
        path,
        fieldSelector: `metadata.name=${name}`,
        transport,
        clock,
        logger,
        maxBackoffMs: maxWatchBackoffMs,
        transform: (raw) => readState(raw as RawRequest),
        onChange: (change) => notify(change.type === "deleted" ? undefined : change.object),
      });
      await watch.start(signal);
      await watch.done;
    },
  };
}

interface RawRequest {
  metadata?: { name?: string; uid?: string };
  spec?: { request?: string; signerName?: string };
  status?: { conditions?: RequestCondition[]; certificate?: string };
}

function requestObject({ name, request, signerName, usages }: SigningRequest): object {
  return {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: name === undefined ? { generateName: "csr-" } : { name },
    spec: { request: Buffer.from(request).toString("base64"), signerName, usages },
  };
}

function readState({ metadata, spec, status }: RawRequest): SigningRequestState {
  return {
    name: metadata?.name ?? "",
    uid: metadata?.uid ?? "",
    request: fromBase64(spec?.request),
    signerName: spec?.signerName ?? "",
    conditions: status?.conditions ?? [],
    certificate: fromBase64(status?.certificate),
  };
}

const fromBase64 = (data = ""): string => Buffer.from(data, "base64").toString("utf8");
