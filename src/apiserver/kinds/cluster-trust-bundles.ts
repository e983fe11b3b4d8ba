import { defineKind } from "./define.ts";
import { nameIsSubdomain } from "./names.ts";

const maxBytes = 1024 * 1024;

export const clusterTrustBundles = defineKind({
  group: "certificates.k8s.io",
  version: "v1beta1",
  name: "clustertrustbundles",
  singular: "clustertrustbundle",
  kind: "ClusterTrustBundle",
  namespaced: false,
  // A bundle of a signer has the signer before a colon: "example.com:mysigner:name".
  nameRule: (name, prefix) => nameIsSubdomain(name.split(":").at(-1) ?? "", prefix),
  defaults(draft) {
    draft.spec ??= {};
  },
  check({ metadata, spec }, problems) {
    const signer: string = spec.signerName ?? "";
    const start = `${signer.replace("/", ":")}:`;
    if (signer === "") {
      if (metadata.name.includes(":"))
        problems.invalid(
          "metadata.name",
          metadata.name,
          'ClusterTrustBundle without signer name must not have ":" in its name',
        );
    } else if (!metadata.name.startsWith(start))
      problems.invalid(
        "metadata.name",
        metadata.name,
        `ClusterTrustBundle for signerName ${signer} must be named with prefix ${start}`,
      );
    const bundle: string = spec.trustBundle ?? "";
    if (bundle.length > maxBytes) problems.tooLong("spec.trustBundle", maxBytes);
    else if (!bundle.includes("-----BEGIN CERTIFICATE-----"))
      problems.invalid("spec.trustBundle", "<value omitted>", "at least one trust anchor must be provided");
  },
  checkUpdate(draft, oldObject, problems) {
    problems.immutable("spec.signerName", draft.spec.signerName, oldObject.spec.signerName);
  },
});
