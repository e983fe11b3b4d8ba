import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { isObject } from "../../../src/lib/base/json-value.ts";
import { decodeConfiguration } from "../../../src/lib/config/decode.ts";
import { withDefaults } from "../../../src/lib/config/defaults.ts";
import { parseDocument } from "../../../src/lib/config/document.ts";
import { mergePatch } from "../../../src/lib/config/drop-ins.ts";
import { encodeConfiguration } from "../../../src/lib/config/encode.ts";
import { FeatureGates } from "../../../src/lib/config/feature-gates.ts";
import { validateConfiguration } from "../../../src/lib/config/validate/validate.ts";
import { assertSize } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

const head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

/** A configuration file, and a drop-in that is merged into it. */
export default {
  seeds: [
    readFileSync(new URL("../../fixtures/config/kubeadm.yaml", import.meta.url)),
    `${head}evictionHard: {memory.available: 5%}\nreservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n`,
    `${head}featureGates: {AllAlpha: true}\nsyncFrequency: 1m30s\nlogging: {format: json, flushFrequency: 5000000000}\n`,
    `${head}a: &a {b: c}\nd: *a\n<<: *a\nauthentication: {x509: {clientCAFile: ca.pem}}\n`,
    `${head}shutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 2}]\n`,
  ],
  dictionary: ["&a ", "*a", "<<: ", "? ", "\n---\n", "__proto__: {a: b}", "constructor", "null", "1e400"],
  maxLength: 1024,
  run(input) {
    const { value, problems } = parseDocument(input.toString("utf8"), "k.yaml");
    if (value === undefined) return void assert.ok(problems.length > 0);
    assertSize(value, 5_000_000, "the document");
    const decoded = decodeConfiguration(value);
    const gates = new FeatureGates(decoded.config.featureGates ?? {});
    const config = withDefaults(decoded.config, gates);
    validateConfiguration(config, gates);
    const encoded = jsonCopy(encodeConfiguration(config));
    // What /configz shows can be decoded again, without any problem that the file did not have.
    const again = decodeConfiguration(encoded);
    if (decoded.problems.length === 0) assert.deepEqual(again.problems, []);
    assert.deepEqual(jsonCopy(encodeConfiguration(withDefaults(again.config, gates))), encoded);
    const merged = mergePatch(encoded, value);
    assert.deepEqual(mergePatch(merged, value), merged, "a drop-in that is applied twice");
    if (isObject(value)) assert.ok(Object.getPrototypeOf(merged) === Object.prototype);
  },
} satisfies FuzzTarget;

const jsonCopy = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
