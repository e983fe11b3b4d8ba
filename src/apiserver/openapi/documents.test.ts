import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openApiV2 } from "./document-v2.ts";
import { type DocumentRequest, OpenApiDocuments } from "./documents.ts";
import { fakeDefinitions } from "./fake-definitions.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests access any part of a document.
type Any = any;

const v2: Any = openApiV2(fakeDefinitions);
const info = { title: "kubelet-ts", version: "v1.36.4" };
const all = new OpenApiDocuments({ definitions: fakeDefinitions, info, now: () => 0 });
const documentV3 = (name: string): Any => JSON.parse(all.document(name)!.toString());
const v3 = documentV3("api/v1");

function references(value: unknown): string[] {
  return [...JSON.stringify(value).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref!);
}

function resolved(document: Any, reference: string): unknown {
  return reference
    .slice(2)
    .split("/")
    .reduce((at, key) => at?.[key], document);
}

describe("all references resolve", () => {
  const names = Object.keys((all.index as Any).paths);
  test("groups and versions", () =>
    assert.deepEqual(names, ["api/v1", "apis/events.k8s.io/v1", "apis/authentication.k8s.io/v1"]));
  for (const [name, document] of [["v2", v2], ...names.map((one) => [one, documentV3(one)])])
    test(`${name}`, () => {
      assert.ok(references(document).length > 5);
      for (const one of references(document)) assert.ok(resolved(document, one), one);
    });
});

describe("operations", () => {
  const rows: [string, string[]][] = [
    ["/api/v1/pods", ["get"]],
    ["/api/v1/namespaces/{namespace}/pods", ["delete", "get", "post"]],
    ["/api/v1/namespaces/{namespace}/pods/{name}", ["delete", "get", "patch", "put"]],
    ["/api/v1/namespaces/{namespace}/pods/{name}/status", ["get", "patch", "put"]],
    ["/api/v1/namespaces/{namespace}/pods/{name}/eviction", ["post"]],
    ["/api/v1/namespaces/{namespace}/pods/{name}/exec", ["get", "post"]],
    ["/api/v1/nodes/{name}", ["delete", "get", "patch", "put"]],
    ["/apis/events.k8s.io/v1/namespaces/{namespace}/events/{name}", ["delete", "get", "patch", "put"]],
    ["/apis/authentication.k8s.io/v1/tokenreviews", ["post"]],
    ["/apis/authentication.k8s.io/v1/tokenreviews/{name}", []],
  ];
  for (const [path, methods] of rows)
    test(`${path}: ${methods}`, () => {
      const found = Object.keys(v2.paths[path] ?? {}).filter((key) => key !== "parameters");
      assert.deepEqual(
        found.sort((a, b) => a.localeCompare(b)),
        methods,
      );
    });

  test("have unique IDs", () => {
    const ids = Object.values(v2.paths as Any).flatMap((item: Any) =>
      Object.values(item).flatMap((one: Any) => one.operationId ?? []),
    );
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(ids.includes("listCoreV1PodForAllNamespaces"));
    assert.ok(ids.includes("deleteCoreV1CollectionNamespacedPod"));
    assert.ok(ids.includes("connectCoreV1GetNamespacedPodExec"));
  });

  // Clients use server-side validation and strategic merge patches only if every patch operation of a kind documents them.
  test("patches accept fieldValidation and strategic merge patches, and name the kind", () => {
    const patches = Object.values(v3.paths as Any).flatMap((item: Any) => item.patch ?? []);
    assert.equal(patches.length, 4);
    for (const patch of patches) {
      assert.ok(patch.parameters.some((one: Any) => one.name === "fieldValidation" && one.in === "query"));
      assert.ok(patch.parameters.some((one: Any) => one.name === "dryRun"));
      assert.ok(patch.requestBody.content["application/strategic-merge-patch+json"]);
      assert.equal(patch["x-kubernetes-group-version-kind"].version, "v1");
    }
    const shared = v2.paths["/api/v1/nodes/{name}"].patch.parameters.map((one: Any) => one.$ref);
    assert.ok(shared.includes("#/parameters/fieldValidation"));
  });
});

describe("schemas", () => {
  const pod = v3.components.schemas["io.k8s.api.core.v1.Pod"];
  const spec = v3.components.schemas["io.k8s.api.core.v1.PodSpec"];

  test("name their group, version and kind", () => {
    const kind = { group: "", version: "v1", kind: "Pod" };
    assert.deepEqual(pod["x-kubernetes-group-version-kind"], [kind]);
    const list = v3.components.schemas["io.k8s.api.core.v1.PodList"];
    assert.deepEqual(list["x-kubernetes-group-version-kind"], [{ ...kind, kind: "PodList" }]);
    const options = v2.definitions["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"];
    assert.equal(options["x-kubernetes-group-version-kind"].length, 3);
  });

  test("specify how lists are merged", () =>
    assert.partialDeepStrictEqual(spec.properties.volumes, {
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      "x-kubernetes-patch-merge-key": "name",
      "x-kubernetes-patch-strategy": "merge,retainKeys",
    }));

  test("specify required fields, enums, formats and descriptions", () => {
    assert.deepEqual(spec.required, ["containers"]);
    assert.deepEqual(spec.properties.restartPolicy.enum, ["Always", "Never", "OnFailure"]);
    assert.equal(spec.properties.activeDeadlineSeconds.format, "int64");
    assert.equal(spec.properties.restartPolicy.description.length > 0, true);
  });

  test("wrap references in allOf in version 3", () =>
    assert.deepEqual(Object.keys(pod.properties.spec), ["description", "allOf"]));
});

describe("responses", () => {
  const documents = new OpenApiDocuments({
    definitions: fakeDefinitions,
    info: { title: "t", version: "v1" },
    now: () => 0,
  });
  const index = documents.index as Any;
  const [, hash = ""] = index.paths["api/v1"].serverRelativeURL.split("hash=");
  const protobuf = "application/com.github.proto-openapi.spec.v2";
  const rows: [string, DocumentRequest, number, Record<string, string>][] = [
    [
      "the index",
      { path: "/openapi/v3", accept: "application/json, */*" },
      200,
      { "content-type": "application/json" },
    ],
    ["a document", { path: "/openapi/v3/api/v1", accept: undefined }, 200, { etag: `"${hash}"` }],
    [
      "a document with its hash is immutable",
      { path: "/openapi/v3/api/v1", accept: "application/json", hash },
      200,
      { "cache-control": "public, immutable", expires: "Fri, 01 Jan 1971 00:00:00 GMT" },
    ],
    [
      "an outdated hash redirects to the current one",
      { path: "/openapi/v3/api/v1", accept: "*/*", hash: "OLD" },
      301,
      { location: `/openapi/v3/api/v1?hash=${hash}` },
    ],
    ["a matching ETag", { path: "/openapi/v3/api/v1", accept: "*/*", ifNoneMatch: `"${hash}"` }, 304, {}],
    ["an unknown document", { path: "/openapi/v3/apis/apps/v1", accept: "*/*" }, 404, {}],
    ["an unsupported media type", { path: "/openapi/v3/api/v1", accept: "text/html" }, 406, {}],
    ["JSON", { path: "/openapi/v2", accept: "application/*" }, 200, { "content-type": "application/json" }],
    [
      "protobuf",
      { path: "/openapi/v2", accept: `${protobuf}.v1.0+protobuf` },
      200,
      { "content-type": `${protobuf}.v1.0+protobuf` },
    ],
    [
      "protobuf by its old name",
      { path: "/openapi/v2", accept: `${protobuf}@v1.0+protobuf` },
      200,
      { etag: `"${hash}-pb"` },
    ],
    ["neither JSON nor protobuf", { path: "/openapi/v2", accept: "image/png" }, 406, {}],
  ];
  for (const [rule, request, status, headers] of rows)
    test(rule, () => {
      const response = documents.handle(request);
      assert.equal(response.status, status);
      assert.partialDeepStrictEqual(response.headers, headers);
      assert.equal(response.body.length > 0, status === 200);
    });

  test("documents are cached", () => assert.equal(documents.v2(), documents.v2()));

  test("other kinds have another hash", () => {
    const other = new OpenApiDocuments({
      definitions: fakeDefinitions.slice(1),
      info: { title: "t", version: "v1" },
      now: () => 0,
    });
    assert.notDeepEqual(other.index, documents.index);
    assert.ok(!JSON.stringify(other.index).includes(hash));
  });
});
