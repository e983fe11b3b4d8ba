import { createHash } from "node:crypto";

/** A bill of materials (CycloneDX 1.6, JSON) of the packages for one architecture. Depends on its arguments only. */
export function sbom({ release, arch, packages, node, nodeParts }) {
  const nodeComponent = {
    ...npmComponent(node),
    // Libraries that are linked into Node.js, as it reports them.
    components: Object.entries(nodeParts)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, version]) => ({ type: "library", "bom-ref": `${node.name}/${name}`, name, version })),
  };
  const components = [...packages.map(npmComponent), nodeComponent];
  const root = {
    type: "application",
    "bom-ref": "kubelet-ts",
    name: "kubelet-ts",
    version: release.version,
    licenses: [{ license: { id: "Apache-2.0" } }],
    purl: `pkg:npm/kubelet-ts@${release.version}`,
    properties: [
      { name: "kubelet-ts:architecture", value: `linux-${arch}` },
      ...(release.commit ? [{ name: "kubelet-ts:commit", value: release.commit }] : []),
    ],
  };
  const body = {
    metadata: { timestamp: new Date(release.seconds * 1000).toISOString(), component: root },
    components,
    dependencies: [{ ref: "kubelet-ts", dependsOn: components.map((component) => component["bom-ref"]) }],
  };
  const head = { bomFormat: "CycloneDX", specVersion: "1.6", serialNumber: serialNumber(body), version: 1 };
  return `${JSON.stringify({ ...head, ...body }, null, 2)}\n`;
}

function npmComponent({ name, version, integrity, license }) {
  const [group, plain] = name.startsWith("@") ? name.split("/") : [undefined, name];
  const content = Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex");
  return {
    type: "library",
    "bom-ref": `${name}@${version}`,
    ...(group ? { group } : {}),
    name: plain,
    version,
    hashes: [{ alg: "SHA-512", content }],
    licenses: [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }],
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
  };
}

/** A UUID of version 8 made from the content: the same bill has the same number. */
function serialNumber(body) {
  const hex = createHash("sha256").update(JSON.stringify(body)).digest("hex");
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return `urn:uuid:${parts.join("-")}`;
}
