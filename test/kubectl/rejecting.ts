import assert from "node:assert/strict";
import { before, test } from "node:test";
import { type Bench, describeIn } from "./kubectl-suite.ts";
import { configMap, type Manifest, pod } from "./pods.ts";

/** Invalid manifests, and the errors they get. */
export function rejecting(bench: Bench): void {
  describeIn(
    bench,
    "rejecting",
    (at) => {
      const strict = (kind: string) => `${kind} in version "v1" cannot be handled as a ${kind}: `;
      const mistakes: [what: string, manifest: Manifest, reported: string[]][] = [
        [
          "fields that do not exist",
          pod("p", { spec: { hostnam: "x" }, container: { imag: "y" } }),
          [
            `${strict("Pod")}strict decoding error: unknown field "spec.containers[0].imag", unknown field "spec.hostnam"`,
          ],
        ],
        [
          "a text where a number belongs",
          pod("p", { spec: { terminationGracePeriodSeconds: "5" } }),
          [
            `${strict("Pod")}json: cannot unmarshal string into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64`,
          ],
        ],
        [
          "a number where a text belongs",
          { ...configMap("c", {}), data: { a: 1 } },
          [
            `${strict("ConfigMap")}json: cannot unmarshal number into Go struct field ConfigMap.data of type string`,
          ],
        ],
        [
          "no name",
          { ...configMap("", {}), metadata: {} },
          [`metadata.name: Required value: name or generateName is required`],
        ],
        [
          "a bad name",
          pod("Bad_Name"),
          [
            'The Pod "Bad_Name" is invalid: ',
            'metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of',
          ],
        ],
        [
          "an invalid image, and an invalid name of a container: both are reported",
          pod("p", { container: { image: " x ", name: "C" } }),
          [
            'The Pod "p" is invalid: \n* ',
            'spec.containers[0].name: Invalid value: "C": a lowercase RFC 1123 label must consist of',
            'spec.containers[0].image: Invalid value: " x ": must not have leading or trailing whitespace',
          ],
        ],
        [
          "no containers",
          pod("p", { spec: { containers: [] } }),
          ['The Pod "p" is invalid: spec.containers: Required value'],
        ],
        [
          "a value of none that there are",
          pod("p", { spec: { restartPolicy: "Sometimes" } }),
          [
            'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"',
          ],
        ],
        [
          "a quantity that is none",
          pod("p", { container: { resources: { limits: { memory: "much" } } } }),
          ["quantities must match the regular expression"],
        ],
        [
          "a lower limit than requested",
          pod("p", { container: { resources: { limits: { cpu: "1" }, requests: { cpu: "2" } } } }),
          ['Invalid value: "2": must be less than or equal to cpu limit of 1'],
        ],
        [
          "an account that does not exist",
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
          "a key that no file could have",
          configMap("c", { "a/b": "1" }),
          ['data[a/b]: Invalid value: "a/b": a valid config key must consist of'],
        ],
        [
          "a namespace other than the one that is typed",
          configMap("c", {}, { namespace: "other" }),
          ['the namespace from the provided object "other" does not match the namespace "rejecting"'],
        ],
      ];
      for (const [what, input, reported] of mistakes) {
        test(what, async () => {
          const error = await at().fails(["create", "-f", "-"], { input });
          for (const text of reported) assert.ok(error.includes(text), error);
        });
      }

      test("duplicate fields are reported, too", async () => {
        const input =
          '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"twice"},"data":{"a":"1","a":"2"}}';
        // kubectl itself would take the last one.
        const raw = "/api/v1/namespaces/rejecting/configmaps?fieldValidation=Strict";
        assert.match(
          await at().fails(["create", "--raw", raw, "-f", "-"], { input }),
          /strict decoding error: duplicate field "data\.a"/,
        );
      });

      test("--validate=warn warns and continues, --validate=false prints nothing", async () => {
        const input = { ...configMap("lenient", {}), dta: {} };
        const warned = await at().type(["create", "--validate=warn", "--dry-run=server", "-f", "-"], {
          input,
        });
        assert.deepEqual([warned.status, warned.stderr], [0, 'Warning: unknown field "dta"\n']);
        const silent = await at().type(["create", "--validate=false", "--dry-run=server", "-f", "-"], {
          input,
        });
        assert.deepEqual([silent.status, silent.stderr], [0, ""]);
      });

      before(() =>
        at().ok(["create", "-f", "-"], { input: { ...configMap("fixed", { a: "1" }), immutable: true } }),
      );
      const changes: [what: string, args: string[], reported: string][] = [
        [
          "an immutable configmap",
          ["patch", "configmap", "fixed", "-p", '{"data":{"a":"2"}}'],
          "data: Forbidden: field is immutable when `immutable` is set",
        ],
        ["a name that is taken", ["create", "configmap", "fixed"], 'configmaps "fixed" already exists'],
        [
          "a namespace that is not there",
          ["create", "configmap", "x", "-n", "none"],
          'namespaces "none" not found',
        ],
        [
          "a selector that cannot be read",
          ["get", "pods", "-l", "a in b"],
          "unable to parse requirement: found 'b' expected: '('",
        ],
        [
          "a field that cannot be selected by",
          ["get", "pods", "--field-selector", "spec.foo=x"],
          "field label not supported: spec.foo",
        ],
      ];
      for (const [what, args, reported] of changes) {
        test(what, async () => {
          const error = await at().fails(args);
          assert.ok(error.includes(reported), error);
        });
      }
    },
    "together",
  );
}
