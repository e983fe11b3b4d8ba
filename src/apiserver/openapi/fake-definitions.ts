import type { ActionSubresource, ConnectSubresource, UpdateSubresource } from "../definition.ts";
import type { DocumentedResource } from "./operations.ts";

const update: UpdateSubresource = { type: "update", ignored: [], prepareUpdate() {} };

function action(group: string, kind: string): ActionSubresource {
  return { type: "action", group, version: "v1", kind, act: () => Promise.reject(new Error("not in tests")) };
}

const connect: ConnectSubresource = {
  type: "connect",
  verbs: ["get", "create"],
  connect: () => Promise.resolve(),
};

/** Kinds with each type of subresource and scope, for tests. */
export const fakeDefinitions: readonly DocumentedResource[] = [
  {
    group: "",
    version: "v1",
    name: "pods",
    kind: "Pod",
    namespaced: true,
    subresources: { status: update, eviction: action("policy", "Eviction"), exec: connect },
  },
  { group: "", version: "v1", name: "nodes", kind: "Node", namespaced: false },
  {
    group: "",
    version: "v1",
    name: "events",
    kind: "Event",
    namespaced: true,
    alsoServedAs: [{ group: "events.k8s.io", version: "v1", toStored() {}, fromStored() {} }],
  },
  {
    group: "authentication.k8s.io",
    version: "v1",
    name: "tokenreviews",
    kind: "TokenReview",
    namespaced: false,
    verbs: ["create"],
  },
];
