import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdmissionRequest, Attributes } from "../access.ts";
import { allowAll } from "../fixtures.ts";
import { ApiServer } from "../server.ts";
import { StatusError } from "../status-error.ts";
import { memoryStore } from "../storage/fixtures.ts";
import { configMap, mapsPath, testApi, widget, widgetsPath } from "./fixtures.ts";
import { forbiddenError } from "./permission.ts";
import type { ServedRequest } from "./rest-handler.ts";

const noResource = { group: "", version: "", resource: "", subresource: "", namespace: "", name: "" };
const messages: [Partial<Attributes>, string][] = [
  [
    { verb: "list", resource: "pods", namespace: "default" },
    'pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "default"',
  ],
  [
    { verb: "get", resource: "pods", subresource: "status", namespace: "default", name: "p" },
    'pods "p" is forbidden: User "x" cannot get resource "pods/status" in API group "" in the namespace "default"',
  ],
  [
    { verb: "watch", group: "coordination.k8s.io", resource: "leases" },
    'leases.coordination.k8s.io is forbidden: User "x" cannot watch resource "leases" in API group "coordination.k8s.io" at the cluster scope',
  ],
  [
    { verb: "get", resource: "namespaces", name: "n" },
    'namespaces "n" is forbidden: User "x" cannot get resource "namespaces" in API group "" in the namespace "n"',
  ],
  [{ verb: "get", path: "/metrics" }, 'forbidden: User "x" cannot get path "/metrics"'],
];
for (const [attributes, message] of messages)
  test(`a forbidden request is reported with its attributes: ${message}`, () => {
    const problem = forbiddenError({ name: "x", groups: [] }, { ...noResource, verb: "", ...attributes });
    assert.deepEqual([problem.status, problem.reason, problem.message], [403, "Forbidden", message]);
  });

test("a server without an authenticator or an authorizer does not compile", (t) => {
  const store = memoryStore();
  t.after(() => store.close());
  const parts = { store, definitions: [] };
  const servers = [
    // @ts-expect-error there is no authorizer
    () => new ApiServer({ ...parts, authenticator: allowAll.authenticator }),
    // @ts-expect-error there is no authenticator
    () => new ApiServer({ ...parts, authorizer: allowAll.authorizer }),
  ];
  assert.equal(servers.length, 2);
});

test("an unauthenticated request is rejected with a Status", async (t) => {
  const api = await testApi(t, { authenticator: { authenticate: async () => undefined } });
  const { status, body } = await api.send("GET", mapsPath);
  assert.deepEqual([status, body.reason, body.message], [401, "Unauthorized", "Unauthorized"]);
});

const requested: [string, string, string][] = [
  ["GET", mapsPath, "list configmaps default/"],
  ["GET", `${mapsPath}?watch=true`, "watch configmaps default/"],
  ["GET", `${mapsPath}?watch=true&fieldSelector=metadata.name%3Da`, "watch configmaps default/a"],
  ["GET", `${mapsPath}/a`, "get configmaps default/a"],
  ["POST", mapsPath, "create configmaps default/"],
  ["PUT", `${mapsPath}/a`, "update configmaps default/a"],
  ["PATCH", `${mapsPath}/a`, "patch configmaps default/a"],
  ["DELETE", `${mapsPath}/a`, "delete configmaps default/a"],
  ["DELETE", mapsPath, "deletecollection configmaps default/"],
  ["GET", "/api/v1/configmaps", "list configmaps /"],
  ["GET", "/api/v1/namespaces/default", "get namespaces /default"],
  ["PUT", "/api/v1/namespaces/default/finalize", "update namespaces/finalize /default"],
  ["POST", `${widgetsPath}/w/echo/a/b`, "create widgets/echo default/w"],
  ["GET", "/healthz", "get /healthz"],
  ["GET", "/apis/things.example/v1", "get /apis/things.example/v1"],
];
for (const [method, path, expected] of requested)
  test(`${method} ${path} is authorized as "${expected}"`, async (t) => {
    const seen: Attributes[] = [];
    const authorizer = {
      async allows(_: unknown, attributes: Attributes) {
        seen.push(attributes);
        return { allowed: false, reason: "no" };
      },
    };
    const api = await testApi(t, { authorizer });
    const response = await api.send(method, path, method === "GET" ? undefined : {});
    assert.equal(response.status, 403);
    assert.match(response.body.message, /: no$/);
    const [{ verb, resource, subresource, namespace, name, path: other }] = seen as [Attributes];
    assert.equal(
      other === undefined
        ? `${verb} ${resource}${subresource && `/${subresource}`} ${namespace}/${name}`
        : `${verb} ${other}`,
      expected,
    );
  });

test("creating an object by an update or an apply requires the permission to create", async (t) => {
  const authorizer = {
    allows: async (_: unknown, { verb }: Attributes) => ({ allowed: verb !== "create" }),
  };
  const api = await testApi(t, { authorizer });
  assert.equal((await api.send("PUT", `${widgetsPath}/w`, widget("w"))).status, 403);
  const apply = await api.send(
    "PATCH",
    `${mapsPath}/a?fieldManager=me`,
    { apiVersion: "v1", kind: "ConfigMap" },
    { "content-type": "application/apply-patch+yaml" },
  );
  assert.equal(apply.status, 403);
});

test("admission can change or reject an object", async (t) => {
  const seen: AdmissionRequest[] = [];
  const admission = {
    async admit(request: AdmissionRequest) {
      if (request.resource === "namespaces") return;
      seen.push(request);
      if (request.object?.data?.secret) throw new StatusError(403, "Forbidden", "not that");
      if (request.object && request.operation === "CREATE" && request.subresource === "")
        request.object.metadata.labels = { admitted: "yes" };
    },
  };
  const api = await testApi(t, { admission });
  const created = await api.send("POST", mapsPath, configMap("a", { k: "1" }));
  assert.deepEqual(created.body.metadata.labels, { admitted: "yes" });
  const rejected = await api.send("PUT", `${mapsPath}/a`, configMap("a", { secret: "x" }));
  assert.deepEqual([rejected.status, rejected.body.message], [403, "not that"]);
  assert.equal((await api.send("GET", `${mapsPath}/a`)).body.data.secret, undefined);
  await api.send("DELETE", `${mapsPath}/a`, { gracePeriodSeconds: 3 });
  await api.send("POST", widgetsPath, widget("w"));
  await api.send("POST", `${widgetsPath}/w/paint`, { color: "red" });
  assert.deepEqual(
    seen.map(({ operation, resource, subresource, name, oldObject }) =>
      [operation, resource, subresource, name, oldObject === undefined ? "" : "oldObject"].join(" "),
    ),
    [
      "CREATE configmaps  a ",
      "UPDATE configmaps  a oldObject",
      "DELETE configmaps  a oldObject",
      "CREATE widgets  w ",
      "CREATE widgets paint w ",
      "UPDATE widgets  w oldObject",
    ],
  );
});

test("each request is logged once it is complete", async (t) => {
  const seen: ServedRequest[] = [];
  const caller = { name: "x", groups: [] };
  const api = await testApi(t, {
    authenticator: { authenticate: async () => caller },
    onRequest: (request) => seen.push(request),
  });
  await api.send("GET", `${mapsPath}/a?x=1`);
  assert.deepEqual(seen, [{ caller, verb: "get", path: `${mapsPath}/a`, query: "x=1", status: 404 }]);
});
