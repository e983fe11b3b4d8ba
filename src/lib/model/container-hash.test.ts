import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { apiJson, containerHash } from "./container-hash.ts";

const image = "docker.io/library/busybox:1.35";

describe("containerHash", () => {
  // Recorded from the reference kubelet. A changed value restarts every container of every node on an upgrade.
  const recorded: [name: string, hash: string][] = [
    ["c", "78725ff3"],
    ["init", "c8c14269"],
    ["side", "a4273b99"],
    ["app", "5e1854d5"],
  ];
  for (const [name, hash] of recorded) {
    it(`of ${name} equals the reference kubelet's`, () => assert.equal(containerHash({ name, image }), hash));
  }
  it("depends on name and image only", () => {
    const container = { name: "c", image, command: ["x"], env: [{ name: "A", value: "b" }] };
    assert.equal(containerHash(container), containerHash({ name: "c", image }));
    assert.notEqual(containerHash({ name: "c", image: `${image}.1` }), containerHash({ name: "c", image }));
  });
});

describe("apiJson", () => {
  it("escapes as the API machinery does", () =>
    assert.equal(apiJson({ a: "<&>" }), '{"a":"\\u003c\\u0026\\u003e"}'));
});
