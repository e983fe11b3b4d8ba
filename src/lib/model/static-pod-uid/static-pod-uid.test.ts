import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { assertGrowth } from "../../../../test/growth.ts";
import { applyPodDefaults } from "../defaults/pod.ts";
import { decodePod } from "../validation/decode-pod.ts";
import { goQuantity, goSum } from "./go-quantity.ts";
import { goPod, staticPodUid } from "./static-pod-uid.ts";

interface Recorded {
  readonly origin: string;
  readonly uid: string;
  readonly manifest: { readonly metadata: object; readonly spec: object };
}

const recorded: Recorded[] = readFileSync(
  new URL("../../../../test/fixtures/static-pods/uids.jsonl", import.meta.url),
  "utf8",
)
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));

function withDefaults(manifest: unknown) {
  const decoded = decodePod(manifest);
  if ("problems" in decoded) throw new Error(JSON.stringify(decoded.problems));
  return applyPodDefaults(decoded.pod);
}

describe("the UID of a static pod", () => {
  for (const { origin, uid, manifest } of recorded)
    it(`equals that of kubelet v1.36.4: ${origin.split(":").at(-1)}`, () => {
      assert.equal(staticPodUid(withDefaults(manifest), manifest, origin), uid);
    });

  const plain = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" } };
  const container = { name: "c", image: "busybox:1" };
  const textOf = (spec: object, metadata: object = {}) => {
    const manifest = { ...plain, metadata: { ...plain.metadata, ...metadata }, spec };
    return goPod(withDefaults(manifest), manifest);
  };

  it("does not depend on the order of fields, nor on whether defaults are explicit", () => {
    const before = textOf({ containers: [container], hostNetwork: true });
    const { name, image } = container;
    assert.equal(
      textOf({ dnsPolicy: "ClusterFirst", hostNetwork: true, containers: [{ image, name }] }),
      before,
    );
  });

  it("depends on the notation of a quantity, and on whether a list is empty or absent", () => {
    const withCpu = (cpu: string) =>
      textOf({ containers: [{ ...container, resources: { requests: { cpu } } }] });
    assert.notEqual(withCpu("0.5"), withCpu("500m"));
    assert.notEqual(
      textOf({ containers: [{ ...container, args: [] }] }),
      textOf({ containers: [container] }),
    );
  });

  it("ignores legacy annotations that the reference kubelet drops", () => {
    const annotations = { "pod.beta.kubernetes.io/init-containers": "[]", a: "b" };
    const spec = { containers: [container] };
    assert.equal(textOf(spec, { annotations }), textOf(spec, { annotations: { a: "b" } }));
  });
});

describe("the Go representation of a quantity", () => {
  const number = (value: string, scale: number, text: string, format: string) =>
    `{i:(resource.int64Amount){value:(int64)${value} scale:(resource.Scale)${scale}} d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>} s:(string)${text} Format:(resource.Format)${format}}`;
  const big = (abs: string, scale: number, format: string) =>
    `{i:(resource.int64Amount){value:(int64)0 scale:(resource.Scale)0} d:(resource.infDecAmount){Dec:(*inf.Dec){unscaled:(big.Int){neg:(bool)false abs:(big.nat)[${abs}]} scale:(inf.Scale)${scale}}} s:(string) Format:(resource.Format)${format}}`;
  const table: [text: string, isRounded: boolean, expected: string][] = [
    ["0", true, number("0", 0, "0", "DecimalSI")],
    ["100m", true, number("100", -3, "100m", "DecimalSI")],
    ["1.5", true, number("15", -1, "", "DecimalSI")],
    ["64Mi", true, number("67108864", 0, "", "BinarySI")],
    ["65Mi", true, number("68157440", 0, "65Mi", "BinarySI")],
    ["1e3", true, number("1", 3, "1e3", "DecimalExponent")],
    ["1500u", true, number("2", -3, "", "DecimalSI")],
    ["1500u", false, number("1500", -6, "1500u", "DecimalSI")],
    ["1.5Gi", true, big("1610612736000", 3, "BinarySI")],
    ["1.5Gi", false, big("1610612736000000000", 9, "BinarySI")],
    ["1e-2000000000", false, big("1", 9, "DecimalExponent")],
  ];
  for (const [text, isRounded, expected] of table)
    it(`of ${text}${isRounded ? " in a resource list" : ""} equals that of kubelet v1.36.4`, () => {
      assert.equal(goQuantity(text, isRounded), expected);
    });

  it("has a size that an exponent does not determine", () => {
    for (const text of ["1234567890123456789e2000000000", "1e2000000000", "1e-2000000000"]) {
      assert.ok(goQuantity(text, true).length < 150_000, text);
      assert.ok(goSum([text, "1"]).length < 150_000, text);
    }
  });

  it("takes linear time in the number of digits", () =>
    assertGrowth(1, 100, (size) => {
      const text = "9".repeat(size);
      return () => goQuantity(text, true);
    }));

  it("of a sum has the smaller exponent, and no cached string", () => {
    assert.equal(goSum(["1", "500m"]), number("1500", -3, "", "DecimalSI"));
    assert.equal(goSum(["0", "65Mi"]), number("68157440", 0, "", "BinarySI"));
    assert.equal(goSum(["65Mi"]), number("68157440", 0, "65Mi", "BinarySI"));
  });
});
