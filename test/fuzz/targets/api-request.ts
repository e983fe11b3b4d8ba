import assert from "node:assert/strict";
import { parseLogOptions } from "../../../src/apiserver/proxy/log-options.ts";
import { parseProxyName, portNumber } from "../../../src/apiserver/proxy/proxy-target.ts";
import { mediaRanges, negotiate } from "../../../src/apiserver/rest/media-types.ts";
import { dryRun, listQuery, managerOf, writeQuery } from "../../../src/apiserver/rest/query.ts";
import { parsePath } from "../../../src/apiserver/rest/request-path.ts";
import { nameInSelector } from "../../../src/apiserver/rest/selection.ts";
import { parseVersion } from "../../../src/apiserver/storage/version.ts";
import { accepted, partsOf } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

/** The URL and the Accept header of a request to the embedded API. */
export default {
  seeds: [
    "/api/v1/namespaces/default/pods/a/log?follow=true&tailLines=5&sinceTime=2026-01-31T07:05:00Z",
    "/apis/apps/v1/deployments?watch=1&labelSelector=a%3Db&fieldSelector=metadata.name%3Dx&limit=5&timeoutSeconds=9\n---\napplication/json;as=Table;g=meta.k8s.io;v=v1,*/*;q=0.5",
    "/api/v1/nodes/https:n:10250/proxy/a%2Fb?dryRun=All&fieldManager=m&fieldValidation=Strict&force=true",
    "/api/v1/namespaces/a/status",
  ],
  dictionary: [
    "%2F",
    "%00",
    "%",
    "namespaces/",
    "..",
    "//",
    "resourceVersion=",
    "sendInitialEvents=",
    ";q=",
    "tail=",
  ],
  maxLength: 400,
  run(input) {
    const [url = "", accept = ""] = partsOf(input);
    const mark = url.indexOf("?");
    const path = mark < 0 ? url : url.slice(0, mark);
    const query = new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1));
    const target = parsePath(path);
    if (target?.kind === "resource") {
      const { group, version, apiVersion, namespace, resource, name, subresource, rest } = target;
      assert.equal(apiVersion, group === "" ? version : `${group}/${version}`);
      const parts = [
        group === "" ? "api" : "apis",
        group,
        version,
        ...(namespace === "" ? [] : ["namespaces", namespace]),
      ];
      const head = [...parts, resource, name, subresource]
        .filter((part) => part !== "")
        .map(encodeURIComponent);
      const again = parsePath(`/${head.join("/")}${rest}`);
      if (group !== "" && version !== "" && resource !== "" && name !== "" && subresource !== "")
        assert.deepEqual({ ...again, path: "" }, { ...target, path: "" });
      accepted(() => parseProxyName("node", name));
      accepted(() => portNumber(name, "http"));
    }
    const list = accepted(() => listQuery(query));
    for (const count of [list?.limit, list?.timeoutSeconds])
      assert.ok(count === undefined || Number.isSafeInteger(count));
    accepted(() => writeQuery(query, "PatchOptions"));
    accepted(() => dryRun(query.getAll("dryRun"), { kind: "x", group: "" }));
    const logs = accepted(() => parseLogOptions("a", query));
    if (logs) assert.deepEqual(parseLogOptions("a", new URLSearchParams(logs.query)).query, logs.query);
    assert.ok(managerOf("", accept).length <= 128);
    nameInSelector(query.get("fieldSelector") ?? "");
    accepted(() => parseVersion(query.get("resourceVersion") ?? undefined));
    assert.ok(mediaRanges(accept).length <= accept.split(",").length);
    accepted(() => negotiate(accept, true));
  },
} satisfies FuzzTarget;
