import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fakePod } from "../../../../lib/model/fake-pod.ts";
import type { CsiDriverSpec } from "./csi-drivers.ts";
import { isFinished } from "./csi-failure.ts";
import { publishContent } from "./publish-content.ts";
import type { CsiSource } from "./source.ts";

const pod = fakePod({ spec: { serviceAccountName: "sa" } });
const never = new AbortController().signal;
const source: CsiSource = {
  mode: "Ephemeral",
  driver: "d",
  fsType: "",
  attributes: { color: "red" },
  readOnly: false,
  publishSecret: { namespace: "default", name: "s" },
};
const deps = {
  secrets: { get: async () => ({ key: "value" }) },
  tokens: {
    get: async (_: unknown, { audiences }: { audiences: readonly string[] }) => ({
      token: `t-${audiences.join()}`,
      expirationTimestamp: "e",
    }),
  },
};
const attribute = "csi.storage.k8s.io/serviceAccount.tokens";

describe("what a driver is told of the pod", () => {
  const tokens =
    '{"":{"token":"t-","expirationTimestamp":"e"},"b":{"token":"t-b","expirationTimestamp":"e"}}';
  const cases: [string, CsiDriverSpec | undefined, object, object][] = [
    ["nothing, if it has no object", undefined, { color: "red" }, { key: "value" }],
    ["nothing, if its object does not say so", { podInfoOnMount: false }, { color: "red" }, { key: "value" }],
    [
      "its tokens, sorted, with the attributes",
      { tokenRequests: [{ audience: "b" }, {}] },
      { color: "red", [attribute]: tokens },
      { key: "value" },
    ],
    [
      "its tokens among the secrets",
      { tokenRequests: [{ audience: "b" }, {}], serviceAccountTokenInSecrets: true },
      { color: "red" },
      { key: "value", [attribute]: tokens },
    ],
    [
      "who it is",
      { podInfoOnMount: true },
      {
        color: "red",
        "csi.storage.k8s.io/pod.name": "web",
        "csi.storage.k8s.io/pod.namespace": "default",
        "csi.storage.k8s.io/pod.uid": pod.metadata.uid,
        "csi.storage.k8s.io/serviceAccount.name": "sa",
        "csi.storage.k8s.io/ephemeral": "true",
      },
      { key: "value" },
    ],
  ];
  for (const [rule, driver, volumeContext, secrets] of cases)
    it(rule, async () =>
      assert.deepEqual(await publishContent(deps, pod, source, driver, never), { volumeContext, secrets }),
    );

  it("and what is missing may come: the volume is tried again", async () => {
    const fails = async () => {
      throw new Error("not there");
    };
    const without = publishContent({ ...deps, secrets: { get: fails } }, pod, source, undefined, never);
    await assert.rejects(without, (error: Error) => {
      assert.equal(error.message, "fetching NodePublishSecretRef default/s failed: not there");
      return !isFinished(error);
    });
    const wants = { tokenRequests: [{}] };
    const tokenless = publishContent({ ...deps, tokens: { get: fails } }, pod, source, wants, never);
    await assert.rejects(tokenless, (error: Error) => /not there$/.test(error.message) && !isFinished(error));
  });
});
