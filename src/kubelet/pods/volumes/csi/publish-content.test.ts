import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CSIDriverSpec } from "../../../../lib/gen/kubernetes/storage.d.ts";
import { fakePod } from "../../../../lib/model/fake-pod.ts";
import { isFinalError } from "./csi-failure.ts";
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

describe("the content of NodePublishVolume", () => {
  const tokens =
    '{"":{"token":"t-","expirationTimestamp":"e"},"b":{"token":"t-b","expirationTimestamp":"e"}}';
  const cases: [string, CSIDriverSpec | undefined, object, object][] = [
    ["has no pod info without a CSIDriver object", undefined, { color: "red" }, { key: "value" }],
    ["has no pod info without podInfoOnMount", { podInfoOnMount: false }, { color: "red" }, { key: "value" }],
    [
      "has tokens in the volume context, sorted",
      { tokenRequests: [{ audience: "b" }, { audience: "" }] },
      { color: "red", [attribute]: tokens },
      { key: "value" },
    ],
    [
      "has tokens in the secrets",
      { tokenRequests: [{ audience: "b" }, { audience: "" }], serviceAccountTokenInSecrets: true },
      { color: "red" },
      { key: "value", [attribute]: tokens },
    ],
    [
      "has pod info",
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

  it("a missing secret or token is a transient error", async () => {
    const fails = async () => {
      throw new Error("not found");
    };
    const without = publishContent({ ...deps, secrets: { get: fails } }, pod, source, undefined, never);
    await assert.rejects(without, (error: Error) => {
      assert.equal(error.message, "fetching NodePublishSecretRef default/s failed: not found");
      return !isFinalError(error);
    });
    const driver = { tokenRequests: [{ audience: "" }] };
    const tokenless = publishContent({ ...deps, tokens: { get: fails } }, pod, source, driver, never);
    await assert.rejects(
      tokenless,
      (error: Error) => /not found$/.test(error.message) && !isFinalError(error),
    );
  });
});
