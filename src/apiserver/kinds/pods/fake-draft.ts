import type { Unstructured } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import { defaultPod } from "./defaults.ts";
import { FakeObjects, type FakeObjectsOptions } from "./fake-objects.ts";
import { podDefinition } from "./pod-definition.ts";

type Loose = Record<string, unknown>;

/** A pod as a user writes it, for tests. */
export function podDraft(spec: Loose = {}, metadata: Loose = {}): Unstructured {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "default", uid: "u1", ...metadata },
    spec: { containers: [{ name: "c", image: "example/app:1" }], ...structuredClone(spec) },
  };
}

/** The same with its defaults, as it would be stored. */
export function storedPod(spec: Loose = {}, metadata: Loose = {}, status: Loose = {}): ApiObject {
  const draft = podDraft(spec, { resourceVersion: "1", generation: 1, ...metadata });
  draft.status = { phase: "Pending", qosClass: "BestEffort", ...status };
  defaultPod(draft);
  return draft;
}

/** A modified copy of a stored object. */
export function changed(oldObject: ApiObject, change: (draft: Unstructured) => void): Unstructured {
  const draft: Unstructured = structuredClone(oldObject);
  change(draft);
  defaultPod(draft);
  return draft;
}

/** An API with pods and the service account that they need. */
export function podObjects(options: Omit<FakeObjectsOptions, "definitions"> = {}): FakeObjects {
  const objects = new FakeObjects({ ...options, definitions: [podDefinition({ mountTokens: false })] });
  objects.put("serviceaccounts", { metadata: { name: "default", namespace: "default" } });
  return objects;
}

export function messagesOf(problems: readonly { path: string; message: string }[]): string[] {
  return problems.map(({ path, message }) => `${path}: ${message}`);
}
