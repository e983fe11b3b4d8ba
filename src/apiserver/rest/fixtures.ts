import type { TestContext } from "node:test";
import type { ResourceDefinition } from "../definition.ts";
import { allowAll } from "../fixtures.ts";
import { ApiServer, type ApiServerOptions } from "../server.ts";
import { memoryStore } from "../storage/fixtures.ts";
import type { Store } from "../storage/store.ts";

/** For tests: kinds with few rules. */
export const configMaps: ResourceDefinition = {
  group: "",
  version: "v1",
  name: "configmaps",
  singular: "configmap",
  kind: "ConfigMap",
  namespaced: true,
  shortNames: ["cm"],
  validate: ({ data }) =>
    data?.forbidden === undefined
      ? []
      : [{ path: "data[forbidden]", message: 'Invalid value: "forbidden": not this one' }],
};

export const namespaces: ResourceDefinition = {
  group: "",
  version: "v1",
  name: "namespaces",
  singular: "namespace",
  kind: "Namespace",
  namespaced: false,
  shortNames: ["ns"],
  countsGenerations: false,
  prepareCreate(draft) {
    draft.status = { phase: "Active" };
  },
};

/** A resource with spec, status, grace period, action and connect subresources. */
export const widgets: ResourceDefinition = {
  group: "things.example",
  version: "v1",
  name: "widgets",
  singular: "widget",
  kind: "Widget",
  namespaced: true,
  shortNames: ["wd"],
  categories: ["all"],
  createsOnUpdate: true,
  defaults(draft) {
    draft.spec ??= {};
    draft.spec.size ??= 1;
  },
  prepareCreate(draft) {
    delete draft.status;
  },
  validate: ({ spec }) =>
    spec.size > 100 ? [{ path: "spec.size", message: `Invalid value: ${spec.size}: too big` }] : [],
  prepareUpdate(draft, oldObject) {
    if (oldObject.status === undefined) delete draft.status;
    else draft.status = oldObject.status;
  },
  validateUpdate: ({ spec }) =>
    spec.size > 100 ? [{ path: "spec.size", message: `Invalid value: ${spec.size}: too big` }] : [],
  deletionGrace: (_, requested) => requested ?? 30,
  subresources: {
    status: {
      type: "update",
      ignored: [["spec"]],
      prepareUpdate(draft, oldObject) {
        draft.spec = oldObject.spec;
      },
    },
    hidden: {
      type: "update",
      internal: true,
      countsGenerations: false,
      ignored: [["spec"]],
      prepareUpdate() {},
    },
    paint: {
      type: "action",
      kind: "Paint",
      group: "things.example",
      version: "v1",
      async act(ref, body, { objects }) {
        const painted = await objects.change(ref, (draft) => {
          draft.spec.color = body.color;
        });
        return { ...body, metadata: { ...body.metadata, uid: painted?.metadata.uid ?? "" } };
      },
    },
    echo: {
      type: "connect",
      verbs: ["get", "create"],
      async connect(ref, rest, requested) {
        const text = `${ref.namespace}/${ref.name} ${rest}`;
        if (requested.kind === "request") requested.response.end(text);
        else
          requested.socket.end(
            `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n${text}`,
          );
      },
    },
  },
};

/** ConfigMaps, which are served under a second group with another name for their data. */
export const notes: ResourceDefinition = {
  ...configMaps,
  name: "notes",
  singular: "note",
  kind: "Note",
  alsoServedAs: [
    {
      group: "notes.example",
      version: "v1",
      toStored(draft) {
        if (draft.words !== undefined) draft.data = draft.words;
        delete draft.words;
      },
      fromStored(draft) {
        if (draft.data !== undefined) draft.words = draft.data;
        delete draft.data;
      },
    },
  ],
};

export interface TestResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests access any part of a body.
  readonly body: any;
}

export interface TestApi {
  readonly server: ApiServer;
  readonly store: Store;
  readonly url: string;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<TestResponse>;
}

/** A server with the namespace "default", stopped after the test. */
export async function testApi(
  t: Pick<TestContext, "after">,
  options: Partial<ApiServerOptions> & { readonly storeOptions?: Parameters<typeof memoryStore>[0] } = {},
): Promise<TestApi> {
  const { storeOptions, ...rest } = options;
  const store =
    options.store ?? memoryStore({ ...(options.clock && { clock: options.clock }), ...storeOptions });
  const definitions = [namespaces, configMaps, widgets, notes];
  const server = new ApiServer({ store, definitions, ...allowAll, ...rest });
  await server.start();
  t.after(async () => {
    await server.stop();
    store.close();
  });
  await server.objects.create("namespaces", { metadata: { name: "default" } });
  const url = `http://127.0.0.1:${server.port}`;
  return {
    server,
    store,
    url,
    async send(method, path, body, headers = {}) {
      const sent = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
      const response = await fetch(url + path, {
        method,
        headers: { ...(sent !== undefined && { "content-type": "application/json" }), ...headers },
        ...(sent !== undefined && { body: sent }),
      });
      const text = await response.text();
      let parsed: unknown;
      try {
        parsed = JSON.parse(text);
      } catch {
        parsed = undefined;
      }
      return { status: response.status, headers: response.headers, text, body: parsed };
    },
  };
}

export const mapsPath = "/api/v1/namespaces/default/configmaps";
export const widgetsPath = "/apis/things.example/v1/namespaces/default/widgets";

export function configMap(name: string, data: Record<string, string> = {}, more: object = {}): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...more }, data };
}

export function widget(name: string, spec: object = {}, more: object = {}): object {
  return { apiVersion: "things.example/v1", kind: "Widget", metadata: { name, ...more }, spec };
}
