import type { Container, Pod, PodMeta, PodSpec, PodStatus, PodUid } from "./pod.ts";

export interface FakePodParts {
  metadata?: Partial<PodMeta>;
  spec?: Partial<Omit<PodSpec, "containers">> & { containers?: FakeContainer[] };
  status?: PodStatus;
}

export type FakeContainer = Partial<Container>;

/** A complete pod for tests. A test sets only the relevant fields. */
export function fakePod({ metadata, spec, status }: FakePodParts = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "web",
      namespace: "default",
      uid: "11111111-2222-3333-4444-555555555555" as PodUid,
      ...metadata,
    },
    spec: {
      ...spec,
      containers: (spec?.containers ?? [{}]).map((part, index) => fakeContainer(part, `c${index}`)),
    },
    ...(status && { status }),
  };
}

export function fakeContainer(part: FakeContainer = {}, name = "c0"): Container {
  return { name, image: "example/app:1", ...part };
}
