import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fakeContainer, fakePod } from "./fake-pod.ts";
import {
  containerAnnotations,
  containerLabels,
  readContainerInfo,
  sandboxAnnotations,
  sandboxLabels,
} from "./labels.ts";

const pod = fakePod({
  metadata: { labels: { app: "x", "io.kubernetes.pod.name": "forged" }, annotations: { note: "hi" } },
  spec: { terminationGracePeriodSeconds: 30 },
});
const container = fakeContainer({
  terminationMessagePath: "/dev/termination-log",
  terminationMessagePolicy: "File",
  ports: [{ protocol: "TCP", containerPort: 80, name: "http" }],
  lifecycle: { preStop: { httpGet: { port: 80, path: "/bye" } } },
});

describe("labels", () => {
  it("a sandbox has the pod's labels, overridden by those of its identity", () => {
    assert.deepEqual(sandboxLabels(pod), {
      app: "x",
      "io.kubernetes.pod.name": "web",
      "io.kubernetes.pod.namespace": "default",
      "io.kubernetes.pod.uid": pod.metadata.uid,
    });
    assert.deepEqual(sandboxAnnotations(pod), { note: "hi" });
  });
  it("a container has only the labels of its identity", () => {
    assert.equal(containerLabels(pod, container)["io.kubernetes.container.name"], "c0");
    assert.equal(Object.hasOwn(containerLabels(pod, container), "app"), false);
  });
  it("labels identify the owner of a container", () => {
    assert.deepEqual(containerLabels(pod, container), {
      "io.kubernetes.container.name": "c0",
      "io.kubernetes.pod.name": "web",
      "io.kubernetes.pod.namespace": "default",
      "io.kubernetes.pod.uid": pod.metadata.uid,
    });
  });
});

describe("container annotations", () => {
  const annotations = containerAnnotations(pod, container, 3, {
    "dev/x": "1",
    "io.kubernetes.container.hash": "forged",
  });
  it("override those of devices", () => {
    assert.equal(annotations["dev/x"], "1");
    assert.notEqual(annotations["io.kubernetes.container.hash"], "forged");
  });
  it("write fields in the order of the API, regardless of that of the manifest", () => {
    assert.equal(
      annotations["io.kubernetes.container.ports"],
      '[{"name":"http","containerPort":80,"protocol":"TCP"}]',
    );
    assert.equal(
      annotations["io.kubernetes.container.preStopHandler"],
      '{"httpGet":{"path":"/bye","port":80}}',
    );
  });
  it("are read back", () => {
    const parsed = readContainerInfo(annotations);
    assert.equal(parsed.restartCount, 3);
    assert.equal(parsed.terminationMessagePath, "/dev/termination-log");
  });
  it("invalid annotations count as absent", () => {
    const parsed = readContainerInfo({ "io.kubernetes.container.restartCount": "many" });
    assert.deepEqual([parsed.restartCount, parsed.hash], [0, undefined]);
  });
  it("contain the grace periods of the pod and of its deletion", () => {
    assert.equal(annotations["io.kubernetes.pod.terminationGracePeriod"], "30");
    assert.equal(annotations["io.kubernetes.pod.deletionGracePeriod"], undefined);
    const deleted = fakePod({ metadata: { deletionGracePeriodSeconds: 5 } });
    const more = containerAnnotations(deleted, container, 0);
    assert.equal(more["io.kubernetes.pod.deletionGracePeriod"], "5");
  });
});
