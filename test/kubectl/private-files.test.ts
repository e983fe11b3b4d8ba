import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { after, before, describe, test } from "node:test";
import { podManifest } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { containerdVersions } from "../node/test-node.ts";
import { Kubectl, kubectlAvailable } from "./kubectl.ts";
import { demoImage } from "./pods.ts";
import { UpNode } from "./up-node.ts";

const skip =
  [kubectlAvailable("1.36"), ...containerdVersions().map(({ available }) => available)].find(
    (available) => available !== true,
  ) ?? false;
const secret = "a-value-that-only-root-may-read";
const user = ["--reuid=65534", "--regid=65534", "--clear-groups"];

/** A user without permissions tries to read all files of a node. Several of them contain the value of a Secret. */
describe("files of `kubelet up`", { skip }, () => {
  let node: UpNode;
  let kubectl: Kubectl;

  before(async () => {
    node = await UpNode.start("2.x", "-private");
    kubectl = new Kubectl("1.36", node.kubeconfig);
    await kubectl.ok(["create", "secret", "generic", "key", `--from-literal=value=${secret}`]);
    const prints = ["sh", "-c", 'echo "$VALUE" > /layer; echo "$VALUE"; exec sleep 1000000'];
    const from = { name: "VALUE", valueFrom: { secretKeyRef: { name: "key", key: "value" } } };
    const manifest = podManifest("prints", {
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: "key", secret: { secretName: "key" } }],
      containers: [
        {
          name: "c",
          image: demoImage,
          command: prints,
          env: [from],
          volumeMounts: [{ name: "key", mountPath: "/key" }],
        },
      ],
    });
    await kubectl.ok(["apply", "-f", "-"], { input: manifest });
    // An administrator's file has the modes of the administrator's umask.
    const env = [{ name: "VALUE", value: secret }];
    writeFileSync(
      join(node.files.manifests, "static.yaml"),
      podManifest("static", { containers: [{ name: "c", image: demoImage, env }] }),
      { mode: 0o644 },
    );
    const nodeName = await kubectl.ok(["get", "nodes", "-o", "jsonpath={.items[*].metadata.name}"]);
    for (const name of ["prints", `static-${nodeName}`]) {
      const uid = ["get", "pod", name, "-o", "jsonpath={.status.phase} {.metadata.uid}"];
      await waitFor(async () => assert.match(await kubectl.ok(uid), /^Running /), 60_000);
    }
    await waitFor(async () => {
      const uid = await kubectl.ok(["get", "pod", "prints", "-o", "jsonpath={.metadata.uid}"]);
      assert.match(node.log(uid), new RegExp(secret));
    });
  });
  after(async () => {
    kubectl?.remove();
    await node?.stop();
  });

  /** The files and sockets of the node for which the check of the shell succeeds as the user: their paths are known, or can be guessed. */
  const accessible = (check: "-r" | "-w") => {
    const { base, run } = node.files;
    const paths = execFileSync("find", [
      base,
      run,
      "-xdev",
      "(",
      "-type",
      "f",
      "-o",
      "-type",
      "s",
      ")",
      "-print0",
    ]);
    const each = [
      "xargs",
      "-0",
      "sh",
      "-c",
      `for path; do [ ${check} "$path" ] && echo "$path"; done; true`,
      "sh",
    ];
    const output = execFileSync("setpriv", [...user, ...each], { input: paths });
    return output.toString().split("\n").slice(0, -1);
  };

  test("a user without rights can read none that contains a Secret, or may contain one", () => {
    const { base } = node.files;
    const readable = accessible("-r");
    assert.ok(readable.includes(node.files.serviceRange), "this user cannot read any file");
    const exposing = readable.filter(
      (path) => statSync(path).isFile() && readFileSync(path).includes(secret),
    );
    assert.deepEqual(exposing, []);
    const secretPlaces = /^(api|applied|log|manifests|objects)\/|kubeconfig|console-sessions|\.key$|\.db/;
    assert.deepEqual(
      readable.filter((path) => secretPlaces.test(relative(base, path))),
      [],
    );
  });

  test("the Secret is in the database, in logs, in manifests and in volumes", () => {
    const { base } = node.files;
    const places = execFileSync("grep", ["-rlsF", "--exclude-dir=containerd", secret, base]).toString();
    for (const place of [/\/api\//, /\/log\//, /\/manifests\//, /kubernetes\.io~secret/])
      assert.match(places, place);
  });

  test("a user without rights can write to none, and connect to no socket", () => {
    assert.deepEqual(accessible("-w"), []);
  });
});
