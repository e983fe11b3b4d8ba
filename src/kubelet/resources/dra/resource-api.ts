import type { KubeTransport } from "../../../lib/clients/kube/transport-interface.ts";
import type { ResourceClaim } from "../../../lib/gen/kubernetes/resource.d.ts";

const root = "/apis/resource.k8s.io/v1";
const timeoutMs = 10_000;

/** The ResourceClaims of pods, and the ResourceSlices of this node. */
export class ResourceApi {
  readonly #api: KubeTransport;
  readonly #nodeName: string;

  constructor(api: KubeTransport, nodeName: string) {
    this.#api = api;
    this.#nodeName = nodeName;
  }

  getClaim(namespace: string, name: string, signal: AbortSignal): Promise<ResourceClaim> {
    const path = `${root}/namespaces/${encodeURIComponent(namespace)}/resourceclaims/${encodeURIComponent(name)}`;
    return this.#api.request<ResourceClaim>({ method: "GET", path, signal, timeoutMs });
  }

  /** Deletes the slices of one driver, or of all. */
  async deleteSlices(driver: string | undefined, signal: AbortSignal): Promise<void> {
    const ofDriver = driver === undefined ? "" : `,spec.driver=${driver}`;
    const query = { fieldSelector: `spec.nodeName=${this.#nodeName}${ofDriver}` };
    await this.#api.request({ method: "DELETE", path: `${root}/resourceslices`, query, signal, timeoutMs });
  }
}
