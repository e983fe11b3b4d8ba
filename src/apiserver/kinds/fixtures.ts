import type { Clock } from "../../lib/base/clock.ts";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { epochMs } from "../../lib/base/time.ts";
import type { ActionSubresource, DraftMeta, ResourceDefinition, Unstructured } from "../definition.ts";
import { definitions, resourceOf } from "./definitions.ts";
import { FakeObjects } from "./pods/fake-objects.ts";
import { podDefinition } from "./pods/pod-definition.ts";
import type { AllocationOptions } from "./services/allocation.ts";

/** For tests: all kinds with their rules, on in-memory objects. */
export function testKinds(services: Partial<AllocationOptions> = {}): {
  objects: FakeObjects;
  definitions: readonly ResourceDefinition[];
  clock: FakeClock;
} {
  const clock = new FakeClock();
  const all = testDefinitions(clock, services);
  return {
    clock,
    definitions: all,
    objects: new FakeObjects({ definitions: all, now: () => epochMs(clock.wall()) }),
  };
}

export function testDefinitions(
  clock: Clock,
  services: Partial<AllocationOptions> = {},
): readonly ResourceDefinition[] {
  return definitions({
    pods: podDefinition({ mountTokens: false, clock }),
    reviews: [],
    serviceAccountToken: tokenAction,
    certificateSigningRequests: stub,
    services: { random: () => 0, ...services },
  });
}

const tokenAction: ActionSubresource = {
  type: "action",
  kind: "TokenRequest",
  group: "authentication.k8s.io",
  version: "v1",
  act: () => Promise.reject(new Error("no tokens here")),
};

const stub: ResourceDefinition = {
  group: "certificates.k8s.io",
  version: "v1",
  name: "certificatesigningrequests",
  singular: "certificatesigningrequest",
  kind: "CertificateSigningRequest",
  namespaced: false,
};

/** The validation errors of a new object: "path: message" for each. */
export async function validationErrors(resource: string, object: object): Promise<string[]> {
  const { objects, definitions: all } = testKinds();
  const definition = all.find((one) => resourceOf(one) === resource);
  if (definition === undefined) throw new Error(`no ${resource}`);
  const draft = drafted(definition, object);
  definition.defaults?.(draft);
  await definition.prepareCreate?.(draft, objects.context());
  return (definition.validate?.(draft, objects.context()) ?? []).map(
    ({ path, message }) => `${path}: ${message}`,
  );
}

/** Validation errors of a change; `through` names a subresource. */
export async function updateErrors(
  resource: string,
  oldObject: object,
  newFields: object,
  through?: string,
): Promise<string[]> {
  const { objects, definitions: all } = testKinds();
  const definition = all.find((one) => resourceOf(one) === resource);
  if (definition === undefined) throw new Error(`no ${resource}`);
  const old = drafted(definition, oldObject);
  const draft = drafted(definition, newFields);
  definition.defaults?.(old);
  definition.defaults?.(draft);
  const subresource = through === undefined ? undefined : definition.subresources?.[through];
  const rules = subresource?.type === "update" ? subresource : definition;
  await rules.prepareUpdate?.(draft, old, objects.context());
  return (rules.validateUpdate?.(draft, old, objects.context()) ?? []).map(
    ({ path, message }) => `${path}: ${message}`,
  );
}

function drafted(definition: ResourceDefinition, object: object): Unstructured {
  const { metadata, ...fields } = structuredClone(object) as { metadata?: Partial<DraftMeta> };
  return {
    ...fields,
    metadata: {
      name: "x",
      uid: "uid-x",
      ...(definition.namespaced ? { namespace: "default" } : {}),
      ...metadata,
    },
  };
}
