import assert from "node:assert/strict";
import { before, test } from "node:test";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { configMap, type Manifest, pod } from "./pods.ts";

/** Invalid manifests, and the errors they get. */
export function rejecting(setup: KubectlSetup): void {
  describeInNamespace(
    setup,
    "rejecting",
    (kubectl) => {
      const strict = (kind: string) => `${kind} in version "v1" cannot be handled as a ${kind}: `;
      const invalid: [what: string, manifest: Manifest, reported: string[]][] = [
        [
          "a manifest with unknown fields",
          pod("p", { spec: { hostnam: "x" }, container: { imag: "y" } }),
          [
            `${strict("Pod")}strict decoding error: unknown field "spec.containers[0].imag", unknown field "spec.hostnam"`,
          ],
        ],
        [
          "a string in a numeric field",
          pod("p", { spec: { terminationGracePeriodSeconds: "5" } }),
          [
            `${strict("Pod")}json: cannot unmarshal string into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64`,
          ],
        ],
        [
          "a number in a string field",
          { ...configMap("c", {}), data: { a: 1 } },
          [
            `${strict("ConfigMap")}json: cannot unmarshal number into Go struct field ConfigMap.data of type string`,
          ],
        ],
        [
          "an object without a name",
          { ...configMap("", {}), metadata: {} },
          [`metadata.name: Required value: name or generateName is required`],
        ],
        [
          "an invalid name",
          pod("Bad_Name"),
          [
            'The Pod "Bad_Name" is invalid: ',
            'metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of',
          ],
        ],
        [
          "a container with an invalid image and an invalid name",
          pod("p", { container: { image: " x ", name: "C" } }),
          [
            'The Pod "p" is invalid: \n* ',
            'spec.containers[0].name: Invalid value: "C": a lowercase RFC 1123 label must consist of',
            'spec.containers[0].image: Invalid value: " x ": must not have leading or trailing whitespace',
          ],
        ],
        [
          "a pod without containers",
          pod("p", { spec: { containers: [] } }),
          ['The Pod "p" is invalid: spec.containers: Required value'],
        ],
        [
          "an unsupported value",
          pod("p", { spec: { restartPolicy: "Sometimes" } }),
          [
            'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"',
          ],
        ],
        [
          "an invalid quantity",
          pod("p", { container: { resources: { limits: { memory: "much" } } } }),
          ["quantities must match the regular expression"],
        ],
        [
          "a limit below the request",
          pod("p", { container: { resources: { limits: { cpu: "1" }, requests: { cpu: "2" } } } }),
          ['Invalid value: "2": must be less than or equal to cpu limit of 1'],
        ],
        [
          "a missing service account",
          pod("p", { spec: { serviceAccountName: "none" } }),
          [
            'pods "p" is forbidden: error looking up service account rejecting/none: serviceaccount "none" not found',
          ],
        ],
        [
          "a kind that is not served",
          { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "d" } },
          ['no matches for kind "Deployment" in version "apps/v1"'],
        ],
        [
          "an invalid key in a ConfigMap",
          configMap("c", { "a/b": "1" }),
          ['data[a/b]: Invalid value: "a/b": a valid config key must consist of'],
        ],
        [
          "a namespace other than that of the command",
          configMap("c", {}, { namespace: "other" }),
          ['the namespace from the provided object "other" does not match the namespace "rejecting"'],
        ],
      ];
      for (const [what, input, reported] of invalid) {
        test(`${what} is rejected`, async () => {
          const error = await kubectl().fails(["create", "-f", "-"], { input });
          for (const text of reported) assert.ok(error.includes(text), error);
        });
      }

      test("a duplicate field is rejected", async () => {
        const input =
          '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"twice"},"data":{"a":"1","a":"2"}}';
        // kubectl itself would send only the last one.
        const raw = "/api/v1/namespaces/rejecting/configmaps?fieldValidation=Strict";
        assert.match(
          await kubectl().fails(["create", "--raw", raw, "-f", "-"], { input }),
          /strict decoding error: duplicate field "data\.a"/,
        );
      });

      test("--validate=warn warns and continues, --validate=false prints nothing", async () => {
        const input = { ...configMap("lenient", {}), dta: {} };
        const warned = await kubectl().run(["create", "--validate=warn", "--dry-run=server", "-f", "-"], {
          input,
        });
        assert.deepEqual([warned.status, warned.stderr], [0, 'Warning: unknown field "dta"\n']);
        const silent = await kubectl().run(["create", "--validate=false", "--dry-run=server", "-f", "-"], {
          input,
        });
        assert.deepEqual([silent.status, silent.stderr], [0, ""]);
      });

      before(() =>
        kubectl().ok(["create", "-f", "-"], {
          input: { ...configMap("fixed", { a: "1" }), immutable: true },
        }),
      );
      const changes: [what: string, args: string[], reported: string][] = [
        [
          "a change to an immutable ConfigMap",
          ["patch", "configmap", "fixed", "-p", '{"data":{"a":"2"}}'],
          "data: Forbidden: field is immutable when `immutable` is set",
        ],
        ["a name that is in use", ["create", "configmap", "fixed"], 'configmaps "fixed" already exists'],
        ["a missing namespace", ["create", "configmap", "x", "-n", "none"], 'namespaces "none" not found'],
        [
          "an invalid label selector",
          ["get", "pods", "-l", "a in b"],
          "unable to parse requirement: found 'b' expected: '('",
        ],
        [
          "an unsupported field selector",
          ["get", "pods", "--field-selector", "spec.foo=x"],
          "field label not supported: spec.foo",
        ],
      ];
      for (const [what, args, reported] of changes) {
        test(`${what} is rejected`, async () => {
          const error = await kubectl().fails(args);
          assert.ok(error.includes(reported), error);
        });
      }
    },
    "parallel",
  );
}
