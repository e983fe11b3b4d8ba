import type { ResourceDefinition } from "../definition.ts";
import { StatusError } from "../status-error.ts";
import { defineKind } from "./define.ts";
import { nameIsPathSegment } from "./names.ts";

/** The older form of `pods/binding`, with the pod's name in the body. Bindings are not stored. */
export function bindings(pods: ResourceDefinition): ResourceDefinition {
  return {
    ...defineKind({
      group: "",
      version: "v1",
      name: "bindings",
      singular: "binding",
      kind: "Binding",
      namespaced: true,
      verbs: ["create"],
      nameRule: nameIsPathSegment,
    }),
    async handleCreate(draft, context) {
      const binding = pods.subresources?.binding;
      if (binding?.type !== "action")
        throw new StatusError(
          405,
          "MethodNotAllowed",
          "the server does not allow this method on the requested resource",
        );
      const { name, namespace = "" } = draft.metadata;
      return binding.act({ resource: "pods", namespace, name }, draft, context);
    },
  };
}
