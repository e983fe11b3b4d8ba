import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "../../definition.ts";
import { ephemeralContainersSubresource as subresource } from "./ephemeral-containers.ts";
import { changed, messagesOf, storedPod } from "./fake-draft.ts";
import { FakeObjects } from "./fake-objects.ts";

const context = new FakeObjects().context();
const debug = { name: "debug", image: "busybox:1" };
const path = "spec.ephemeralContainers";
const not = "Forbidden: cannot be set for an Ephemeral Container";

function update(
  before: ReturnType<typeof storedPod>,
  change: (draft: Unstructured) => void,
): { draft: Unstructured; problems: string[] } {
  const draft = changed(before, change);
  subresource.prepareUpdate(draft, before, context);
  return { draft, problems: messagesOf(subresource.validateUpdate?.(draft, before, context) ?? []) };
}

test("containers are added, and no other field changes", () => {
  const before = storedPod({}, { labels: { a: "b" } });
  const { draft, problems } = update(before, (pod) => {
    pod.spec.ephemeralContainers = [{ ...debug, targetContainerName: "c" }];
    pod.spec.containers[0].image = "other";
    pod.metadata.labels = {};
    pod.status = {};
  });
  assert.deepEqual(problems, []);
  const { ephemeralContainers, ...spec } = draft.spec;
  assert.equal(ephemeralContainers.length, 1);
  assert.deepEqual({ ...draft, spec }, before);
});

const rows: [rule: string, added: object[], ...problems: string[]][] = [
  ["existing containers, in another order", [{ name: "e2", image: "i:1" }, debug]],
  [
    "removal of an existing container",
    [],
    `${path}: Forbidden: existing ephemeral containers "debug" may not be removed\n`,
  ],
  [
    "another image for an existing container",
    [{ ...debug, image: "busybox:2" }],
    `${path}: Forbidden: existing ephemeral containers "debug" may not be changed\n@@ -1,5 +1,5 @@\n {\n- "image": "busybox:1",\n+ "image": "busybox:2",\n  "imagePullPolicy": "IfNotPresent",\n  "name": "debug",\n  "resources": {},\n`,
  ],
  [
    "one with the name of a container",
    [debug, { name: "c", image: "i:1" }],
    `${path}[1].name: Duplicate value: "c"`,
  ],
  ["two containers of the same name", [debug, debug], `${path}[1].name: Duplicate value: "debug"`],
  [
    "one without a target",
    [debug, { name: "e", image: "i:1", targetContainerName: "x" }],
    `${path}[1].targetContainerName: Not found: "x"`,
  ],
  ["one without an image", [debug, { name: "e" }], `${path}[1].image: Required value`],
  [
    "one with fields that ephemeral containers may not have",
    [
      debug,
      {
        name: "e",
        image: "i:1",
        ports: [{ containerPort: 80 }],
        resources: { limits: { cpu: "1" } },
        livenessProbe: { exec: { command: ["x"] } },
        lifecycle: { preStop: { exec: { command: ["x"] } } },
        volumeMounts: [{ name: "v", mountPath: "/v", subPath: "s" }],
      },
    ],
    `${path}[1].ports: ${not}`,
    `${path}[1].resources: ${not}`,
    `${path}[1].livenessProbe: ${not}`,
    `${path}[1].lifecycle: ${not}`,
    `${path}[1].volumeMounts[0].subPath: ${not}`,
  ],
  [
    "forbidden fields are not validated further",
    [debug, { name: "e", image: "i:1", livenessProbe: {}, ports: [{ containerPort: -1 }] }],
    `${path}[1].ports: ${not}`,
    `${path}[1].livenessProbe: ${not}`,
  ],
  [
    "one with a mount of a missing volume",
    [debug, { name: "e", image: "i:1", volumeMounts: [{ name: "w", mountPath: "/w" }] }],
    `${path}[1].volumeMounts[0].name: Not found: "w"`,
  ],
];
for (const [rule, added, ...problems] of rows)
  test(`ephemeral containers: ${rule}`, () => {
    const before = storedPod({ ephemeralContainers: [debug], volumes: [{ name: "v", emptyDir: {} }] });
    const found = update(before, ({ spec }) => {
      spec.ephemeralContainers = structuredClone(added);
    });
    assert.deepEqual(found.problems, problems);
  });

test("a mirror pod gets no ephemeral containers", () => {
  const before = storedPod({ nodeName: "n" }, { annotations: { "kubernetes.io/config.mirror": "h" } });
  const { problems } = update(before, ({ spec }) => {
    spec.ephemeralContainers = [debug];
  });
  assert.deepEqual(problems, [": Forbidden: static pods do not support ephemeral containers"]);
});

test("the subresource writes the list of ephemeral containers and no other field", () => {
  const owned = subresource.ignored.map((field) => field.join("."));
  assert.ok(owned.includes("spec.containers") && owned.includes("status") && owned.includes("metadata"));
  assert.ok(!owned.includes("spec.ephemeralContainers"));
});
