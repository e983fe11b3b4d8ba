import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { ApiObject } from "../../storage/object.ts";
import { defaultPod } from "./defaults.ts";
import { podDraft } from "./fake-draft.ts";

for (const name of ["pod-running", "pod-full", "pod-hostnet", "pod-crash"])
  test(`defaults of ${name} equal those of kube-apiserver`, () => {
    const url = new URL(`../../../../test/fixtures/recorded/${name}.json`, import.meta.url);
    const observed = JSON.parse(readFileSync(url, "utf8")) as ApiObject;
    const draft = structuredClone(observed) as never;
    defaultPod(draft);
    assert.deepEqual(draft, observed);
  });

test("a pod without a spec gets an empty one, which validation rejects", () => {
  const draft = podDraft();
  delete draft.spec;
  defaultPod(draft);
  assert.deepEqual(draft.spec.containers, []);
});

test("empty fields are omitted, so that equal pods have equal text", () => {
  const wordy = podDraft(
    {
      hostNetwork: false,
      hostPID: false,
      nodeName: "",
      nodeSelector: {},
      tolerations: [],
      imagePullSecrets: null,
      initContainers: [],
      volumes: [{ name: "v", emptyDir: { medium: "", sizeLimit: "1024Mi" } }],
      containers: [
        {
          name: "c",
          image: "example/app:1",
          command: [],
          env: [{ name: "A", value: "" }],
          stdin: false,
          resources: { limits: {}, requests: { cpu: "0.5" } },
          volumeMounts: [{ name: "v", mountPath: "/v", readOnly: false, subPath: "" }],
          ports: [{ containerPort: 80, hostPort: 0, name: "" }],
        },
      ],
    },
    { labels: {}, annotations: {} },
  );
  const brief = podDraft({
    volumes: [{ name: "v", emptyDir: { sizeLimit: "1Gi" } }],
    containers: [
      {
        name: "c",
        image: "example/app:1",
        env: [{ name: "A" }],
        resources: { requests: { cpu: "500m" } },
        volumeMounts: [{ name: "v", mountPath: "/v" }],
        ports: [{ containerPort: 80 }],
      },
    ],
  });
  defaultPod(wordy);
  defaultPod(brief);
  assert.deepEqual(wordy, brief);
});

test("an empty value with a meaning is kept", () => {
  const spec = {
    nodeSelector: { value: "", hostname: "" },
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    shareProcessNamespace: false,
    terminationGracePeriodSeconds: 0,
    dnsConfig: { options: [{ name: "x", value: "" }] },
    securityContext: { runAsUser: 0, runAsNonRoot: false },
    volumes: [{ name: "v", emptyDir: {} }],
    containers: [{ name: "c", image: "i:1", securityContext: {} }],
  };
  const draft = podDraft(spec);
  defaultPod(draft);
  for (const [field, value] of Object.entries(spec))
    if (field !== "containers") assert.deepEqual(draft.spec[field], value, field);
  assert.deepEqual(draft.spec.containers[0].securityContext, {});
});

test("defaults of an ephemeral container are those of any other", () => {
  const draft = podDraft({ ephemeralContainers: [{ name: "debug", image: "busybox" }] });
  defaultPod(draft);
  assert.deepEqual(draft.spec.ephemeralContainers, [
    {
      name: "debug",
      image: "busybox",
      imagePullPolicy: "Always",
      terminationMessagePath: "/dev/termination-log",
      terminationMessagePolicy: "File",
      resources: {},
    },
  ]);
});

test("defaulting is idempotent", () => {
  const draft = podDraft({
    hostNetwork: true,
    volumes: [{ name: "a" }, { name: "b", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }],
    resources: { limits: { cpu: 2 } },
    containers: [
      { name: "c", image: "i", ports: [{ containerPort: 80 }], resources: { limits: { cpu: 1 } } },
    ],
  });
  defaultPod(draft);
  const once = structuredClone(draft);
  defaultPod(draft);
  assert.deepEqual(draft, once);
});
