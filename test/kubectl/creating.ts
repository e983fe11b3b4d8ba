import assert from "node:assert/strict";
import { test } from "node:test";
import { AddressRange } from "../../src/apiserver/kinds/services/address-range.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { keyPair } from "./key-pair.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { list, pod, podThatPrints, run, uidOf } from "./pods.ts";

/** kubectl create and run. */
export function creating(setup: KubectlSetup): void {
  describeInNamespace(
    setup,
    "creating",
    (kubectl) => {
      test("a ConfigMap from literals, files and env files reaches a container", async () => {
        const k = kubectl();
        const file = k.file("settings.txt", "from a file\n");
        const env = k.file("settings.env", "A=1\nB=two parts\n");
        assert.equal(
          await k.ok(["create", "configmap", "mixed", "--from-literal=x=y", `--from-file=${file}`]),
          "configmap/mixed created\n",
        );
        assert.equal(
          await k.ok(["create", "configmap", "env", `--from-env-file=${env}`]),
          "configmap/env created\n",
        );
        assert.deepEqual((await k.json(["get", "cm", "mixed"])).data, {
          x: "y",
          "settings.txt": "from a file\n",
        });
        const input = podThatPrints("reads-map", 'echo "A=$A B=$B X=$X"');
        Object.assign(input.spec.containers[0], {
          envFrom: [{ configMapRef: { name: "env" } }],
          env: [{ name: "X", valueFrom: { configMapKeyRef: { name: "mixed", key: "x" } } }],
        });
        await k.ok(["create", "-f", "-"], { input });
        await k.ok(["wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/reads-map", "--timeout=60s"]);
        assert.match(setup.node.log(await uidOf(k, "reads-map")), / A=1 B=two parts X=y$/m);
      });

      test("a generic secret is stored unchanged, described by its size, and reaches a container", async () => {
        const k = kubectl();
        assert.equal(
          await k.ok(["create", "secret", "generic", "login", "--from-literal=password=geheim"]),
          "secret/login created\n",
        );
        const secret = await k.json(["get", "secret", "login"]);
        assert.deepEqual(
          [secret.type, secret.data],
          ["Opaque", { password: Buffer.from("geheim").toString("base64") }],
        );
        const described = await k.ok(["describe", "secret", "login"]);
        assert.match(described, /^password: {2}6 bytes$/m);
        assert.doesNotMatch(described, /geheim/);
        const env = [{ name: "P", valueFrom: { secretKeyRef: { name: "login", key: "password" } } }];
        const input = podThatPrints("reads-secret", 'echo "P=$P"');
        input.spec.containers[0].env = env;
        await k.ok(["create", "-f", "-"], { input });
        await k.ok(["wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/reads-secret", "--timeout=60s"]);
        assert.match(setup.node.log(await uidOf(k, "reads-secret")), / P=geheim$/m);
      });

      test("a tls secret has a certificate and its key", async () => {
        const k = kubectl();
        const { certificate, key } = keyPair();
        const files = [`--cert=${k.file("tls.crt", certificate)}`, `--key=${k.file("tls.key", key)}`];
        assert.equal(await k.ok(["create", "secret", "tls", "tls", ...files]), "secret/tls created\n");
        const { type, data } = await k.json(["get", "secret", "tls"]);
        assert.equal(type, "kubernetes.io/tls");
        assert.equal(Buffer.from(data["tls.crt"], "base64").toString(), certificate);
        assert.equal(Buffer.from(data["tls.key"], "base64").toString(), key);
      });

      test("a docker-registry secret has the credentials of a registry", async () => {
        const k = kubectl();
        const login = ["--docker-server=registry.example", "--docker-username=u", "--docker-password=p"];
        assert.equal(
          await k.ok(["create", "secret", "docker-registry", "pull", ...login]),
          "secret/pull created\n",
        );
        const { type, data } = await k.json(["get", "secret", "pull"]);
        assert.equal(type, "kubernetes.io/dockerconfigjson");
        const { auths } = JSON.parse(Buffer.from(data[".dockerconfigjson"], "base64").toString());
        assert.equal(auths["registry.example"].username, "u");
      });

      test("a service account gets tokens that the API accepts", async () => {
        const k = kubectl();
        assert.equal(await k.ok(["create", "serviceaccount", "robot"]), "serviceaccount/robot created\n");
        const token = (await k.ok(["create", "token", "robot", "--duration=20m"])).trim();
        const { exp, iat, sub } = JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString());
        assert.deepEqual([exp - iat, sub], [1200, "system:serviceaccount:creating:robot"]);
        const robot = await k.as({ token });
        const who = JSON.parse(await robot.ok(["auth", "whoami", "-o", "json"])).status.userInfo;
        assert.equal(who.username, "system:serviceaccount:creating:robot");
        assert.deepEqual(who.groups, [
          "system:serviceaccounts",
          "system:serviceaccounts:creating",
          "system:authenticated",
        ]);
        assert.match(
          await robot.fails(["get", "secrets"]),
          /\(Forbidden\): secrets is forbidden: User "system:serviceaccount:creating:robot" cannot list resource "secrets" in API group "" in the namespace "creating"/,
        );
        await k.ok(["delete", "serviceaccount", "robot"]);
        assert.match(await robot.fails(["auth", "whoami"]), /Unauthorized|must be logged in/);
        assert.match(await k.fails(["create", "token", "robot"]), /serviceaccounts "robot" not found/);
      });

      test("a token that is bound to a pod is invalid after the pod was deleted", async () => {
        const k = kubectl();
        await run(k, pod("bearer"));
        const bound = ["create", "token", "default", "--bound-object-kind=Pod", "--bound-object-name"];
        const token = (await k.ok([...bound, "bearer"])).trim();
        assert.match(await k.fails([...bound, "none"]), /pods "none" not found/);
        const robot = await k.as({ token });
        assert.match(await robot.ok(["auth", "whoami"]), /system:serviceaccount:creating:default/);
        await k.ok(["delete", "pod", "bearer", "--now"]);
        assert.match(await robot.fails(["auth", "whoami"]), /Unauthorized|must be logged in/);
      });

      test("a namespace gets a service account and the CA certificate", async () => {
        const k = kubectl().in("with-defaults");
        assert.equal(
          await k.ok(["create", "namespace", "with-defaults"]),
          "namespace/with-defaults created\n",
        );
        await k.ok(["wait", "--for=create", "serviceaccount/default", "--timeout=20s"]);
        await k.ok(["wait", "--for=create", "configmap/kube-root-ca.crt", "--timeout=20s"]);
        assert.match(
          await k.fails(["create", "namespace", "with-defaults"]),
          /\(AlreadyExists\): namespaces "with-defaults" already exists/,
        );
        await k.ok(["delete", "namespace", "with-defaults"]);
      });

      test("a priority class sets the priority of pods; pods with a missing one are rejected", async () => {
        const k = kubectl();
        const created = await k.ok([
          "create",
          "priorityclass",
          "urgent",
          "--value=1000",
          "--description=first",
        ]);
        assert.equal(created, "priorityclass.scheduling.k8s.io/urgent created\n");
        await run(k, pod("urgent", { spec: { priorityClassName: "urgent" } }));
        assert.equal(await k.ok(["get", "pod", "urgent", "-o", "jsonpath={.spec.priority}"]), "1000");
        await k.ok(["delete", "priorityclass", "urgent"]);
        assert.match(
          await k.fails(["create", "-f", "-"], {
            input: pod("late", { spec: { priorityClassName: "urgent" } }),
          }),
          /pods "late" is forbidden: no PriorityClass with name urgent was found/,
        );
      });

      test("a pod gets a resource claim from a template, and reports that no device is available", async () => {
        const k = kubectl();
        const apiVersion = "resource.k8s.io/v1";
        const requests = [{ name: "gpu", exactly: { deviceClassName: "none" } }];
        const deviceClass = { apiVersion, kind: "DeviceClass", metadata: { name: "none" }, spec: {} };
        const template = {
          apiVersion,
          kind: "ResourceClaimTemplate",
          metadata: { name: "one-gpu" },
          spec: { spec: { devices: { requests } } },
        };
        const claiming = pod("claiming", {
          spec: { resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "one-gpu" }] },
        });
        await k.ok(["create", "-f", "-"], { input: list(deviceClass, template, claiming) });
        const scheduled = '{.status.conditions[?(@.type=="PodScheduled")].message}';
        const message =
          "0/1 nodes are available: cannot allocate all claims: .*needs 1 devices of class none, 0 available";
        await k.ok(["wait", `--for=jsonpath=${scheduled}`, "pod/claiming", "--timeout=60s"]);
        await waitFor(async () =>
          assert.match(
            await k.ok(["get", "pod", "claiming", "-o", `jsonpath=${scheduled}`]),
            new RegExp(message),
          ),
        );
        const table = await k.ok(["get", "resourceclaims"]);
        assert.match(table, /^NAME +STATE +AGE\nclaiming-gpu-[a-z0-9]+ +pending +\S+\n$/);
        await k.ok(["delete", "pod/claiming", "resourceclaimtemplate/one-gpu", "deviceclass/none"]);
      });

      test("generateName generates a name for each object", async () => {
        const k = kubectl();
        const input = { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "made-" } };
        const names = [
          await k.ok(["create", "-f", "-"], { input }),
          await k.ok(["create", "-f", "-"], { input }),
        ];
        for (const name of names) assert.match(name, /^configmap\/made-[a-z0-9]{5} created\n$/);
        assert.notEqual(names[0], names[1]);
      });

      test("a service gets an address", async () => {
        const k = kubectl();
        assert.equal(
          await k.ok(["create", "service", "clusterip", "web", "--tcp=80:8080"]),
          "service/web created\n",
        );
        const { clusterIP } = (await k.json(["get", "service", "web"])).spec;
        assert.ok(new AddressRange(setup.node.serviceRange).has(clusterIP), clusterIP);
        await run(k, pod("served", { labels: { app: "web" } }));
        assert.equal(
          await k.ok(["expose", "pod", "served", "--port=80", "--name=exposed"]),
          "service/exposed exposed\n",
        );
        assert.equal(
          await k.ok(["get", "service", "exposed", "-o", "jsonpath={.spec.selector}"]),
          '{"app":"web"}',
        );
      });
    },
    "parallel",
  );
}
