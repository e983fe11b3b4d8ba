import { KubeletError } from "../../../lib/base/errors.ts";
import type { Container, Pod, PodUid } from "../../../lib/model/pod.ts";
import type { HintProvider, TopologyHint, TopologyHints } from "../../../lib/model/topology.ts";

/** Records its calls; a pod is relevant to it if one of its containers requests the resource. */
export class FakeHintProvider implements HintProvider {
  readonly name: string;
  readonly calls: string[] = [];
  /** By pod UID, the containers that have something. */
  readonly allocated = new Map<PodUid, string[]>();
  hintsOf: (container: Container | undefined) => TopologyHints = () => new Map();
  /** Awaited before each allocation. */
  before: (container: Container, signal: AbortSignal) => Promise<void> = async () => {};

  constructor(name = "fake") {
    this.name = name;
  }

  appliesTo({ spec }: Pod): boolean {
    return [...(spec.initContainers ?? []), ...spec.containers].some((container) =>
      this.#isRequested(container),
    );
  }

  hints(_pod: Pod, container: Container): TopologyHints {
    this.calls.push(`hints ${container.name}`);
    return this.hintsOf(container);
  }

  podHints(pod: Pod): TopologyHints {
    this.calls.push(`pod hints ${pod.metadata.name}`);
    return this.hintsOf(undefined);
  }

  async allocate(pod: Pod, container: Container, affinity: TopologyHint, signal: AbortSignal): Promise<void> {
    await this.before(container, signal);
    const nodes = affinity.numaNodes === undefined ? "any" : affinity.numaNodes.toString(2);
    this.calls.push(`allocate ${container.name} ${nodes}${affinity.preferred ? "" : "!"}`);
    if (!this.#isRequested(container)) return;
    const before = this.allocated.get(pod.metadata.uid) ?? [];
    if (!before.includes(container.name)) this.allocated.set(pod.metadata.uid, [...before, container.name]);
  }

  /** Allocates to the pod as a whole; only a provider that has it does. */
  allocatePod?: (pod: Pod, affinity: TopologyHint) => Promise<void>;

  containerStarted(_pod: Pod, container: Container): void {
    this.calls.push(`started ${container.name}`);
  }

  release(uid: PodUid): void {
    this.calls.push(`release ${uid}`);
    this.allocated.delete(uid);
  }

  holders(): PodUid[] {
    return [...this.allocated.keys()];
  }

  keepOnly(isKnown: (uid: PodUid) => boolean): void {
    for (const uid of [...this.allocated.keys()]) if (!isKnown(uid)) this.release(uid);
  }

  explain(_pod: Pod, container: Container): string {
    return `${this.name} explains ${container.name}`;
  }

  /** Fails each allocation. */
  failWith(code: string, message: string): void {
    this.before = async () => {
      throw new KubeletError(code, message);
    };
  }

  #isRequested({ resources }: Container): boolean {
    return resources?.requests?.[this.name] !== undefined;
  }
}
