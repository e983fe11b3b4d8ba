import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { rows } from "./kubectl.ts";
import type { KubectlSetup } from "./kubectl-suite.ts";

/** Commands that show what the API publishes about itself: explain, api-resources, version and others. */
export function discovering(setup: KubectlSetup): void {
  describe("discovering", () => {
    const k = () => setup.kubectl;

    test("explain shows kinds, fields, and their types", async () => {
      assert.match(
        await k().ok(["explain", "pod"]),
        /^KIND: +Pod\nVERSION: +v1\n[\s\S]*^ {2}spec\t<PodSpec>$/m,
      );
      assert.match(
        await k().ok(["explain", "pods.spec.containers.image"]),
        /^FIELD: image <string>\n[\s\S]*DESCRIPTION:\n {4}\S/m,
      );
      assert.match(await k().ok(["explain", "pod.spec.restartPolicy"]), /FIELD: restartPolicy <string>/);
      assert.match(
        await k().ok(["explain", "lease.spec.renewTime"]),
        /GROUP: +coordination\.k8s\.io\nKIND: +Lease\nVERSION: +v1\n/,
      );
      assert.match(await k().ok(["explain", "configmaps", "--api-version=v1"]), /KIND: +ConfigMap/);
      assert.equal(
        await k().fails(["explain", "pod.spec.unicorn"]),
        'error: field "unicorn" does not exist\n',
      );
    });

    test("explain --recursive shows nested fields", async () => {
      const all = await k().ok(["explain", "pod", "--recursive"]);
      for (const line of [
        "  spec\t<PodSpec>",
        "    containers\t<[]Container> -required-",
        "      env\t<[]EnvVar>",
        "        name\t<string> -required-",
      ])
        assert.ok(all.includes(`\n${line}\n`), line);
      assert.match(all, /^ {6}terminationMessagePolicy\t<string>$/m);
    });

    test("api-resources lists each kind with its short names, group and scope", async () => {
      const reported = rows(await k().ok(["api-resources"]));
      const of = (name: string) =>
        reported
          .filter((row) => row.NAME === name)
          .map((row) => [row.SHORTNAMES, row.APIVERSION, row.NAMESPACED, row.KIND]);
      assert.deepEqual(of("pods"), [
        ["po", "v1", "true", "Pod"],
        ["", "metrics.k8s.io/v1beta1", "true", "PodMetrics"],
      ]);
      assert.deepEqual(of("nodes"), [
        ["no", "v1", "false", "Node"],
        ["", "metrics.k8s.io/v1beta1", "false", "NodeMetrics"],
      ]);
      assert.deepEqual(of("events"), [
        ["ev", "v1", "true", "Event"],
        ["ev", "events.k8s.io/v1", "true", "Event"],
      ]);
      assert.deepEqual(of("leases"), [["", "coordination.k8s.io/v1", "true", "Lease"]]);
      const names = await k().ok(["api-resources", "--namespaced=false", "-o", "name"]);
      for (const name of ["namespaces", "runtimeclasses.node.k8s.io", "csinodes.storage.k8s.io"])
        assert.ok(names.split("\n").includes(name), names);
      assert.ok(!names.split("\n").includes("pods"));
      const verbs = await k().ok(["api-resources", "-o", "wide"]);
      assert.match(
        verbs,
        /^pods +po +v1 +true +Pod +create,delete,deletecollection,get,list,patch,update,watch +all$/m,
      );
      assert.match(verbs, /^tokenreviews +authentication\.k8s\.io\/v1 +false +TokenReview +create *$/m);
    });

    test("each kind with the verb list can be listed", async () => {
      const names = (await k().ok(["api-resources", "--verbs=list", "-o", "name"])).trim().split("\n");
      assert.ok(names.length > 15, names.join());
      for (const name of names) await k().ok(["get", name, "-A"]);
    });

    test("api-versions, cluster-info, version and config view show this API server", async () => {
      const versions = (await k().ok(["api-versions"])).split("\n");
      for (const one of ["v1", "coordination.k8s.io/v1", "certificates.k8s.io/v1"])
        assert.ok(versions.includes(one));
      assert.match(
        await k().ok(["cluster-info"]),
        /Kubernetes control plane.* is running at .*https:\/\/127\.0\.0\.1:\d+/,
      );
      const { clientVersion, serverVersion } = JSON.parse(await k().ok(["version", "-o", "json"]));
      assert.equal(serverVersion.gitVersion, "v1.36.4");
      assert.ok(clientVersion.gitVersion.startsWith(`v${setup.kubectl.version}.`));
      const config = await k().ok(["config", "view"]);
      assert.match(config, /client-key-data: DATA\+OMITTED/);
      assert.equal(await k().ok(["config", "current-context"]), "kubelet-ts\n");
    });

    test("auth whoami and can-i show the user and its permissions", async () => {
      const who = JSON.parse(await k().ok(["auth", "whoami", "-o", "json"])).status.userInfo;
      assert.deepEqual(
        [who.username, who.groups],
        ["kubernetes-admin", ["system:masters", "system:authenticated"]],
      );
      assert.equal(await k().ok(["auth", "can-i", "delete", "pods", "-A"]), "yes\n");
      assert.match(await k().ok(["auth", "can-i", "--list"]), /^\*\.\* +\[\] +\[\] +\[\*\]$/m);
      const { status, stdout } = await k().run(["auth", "can-i", "list", "secrets", "--as=somebody"]);
      assert.deepEqual([status, stdout], [1, "no\n"]);
      assert.match(
        await k().ok(["auth", "whoami", "--as=somebody", "--as-group=some"]),
        /somebody\n[\s\S]*\[some system:authenticated\]/,
      );
      assert.match(
        await k().fails(["get", "nodes", "--as=somebody"]),
        /\(Forbidden\): nodes is forbidden: User "somebody" cannot list resource "nodes" in API group "" at the cluster scope/,
      );
    });
  });
}
