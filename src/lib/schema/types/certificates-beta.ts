import { TypePackage } from "../type-package.ts";
import { meta } from "./meta.ts";

/** In the notation of `../notation.ts`. */
const text = `
kind ClusterTrustBundle
   1 metadata meta.ObjectMeta
   2 spec! ClusterTrustBundleSpec
ClusterTrustBundleSpec
   1 signerName string
   2 trustBundle! string
`;

export const certificatesBeta = new TypePackage({
  name: "certificatesBeta",
  group: "certificates.k8s.io",
  version: "v1beta1",
  uses: [meta],
  text,
});
