import type { PodCertificateRequestSpec } from "../../../lib/gen/kubernetes/certificates-beta.d.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { AdmissionRequest } from "../../access.ts";
import type { Objects } from "../../definition.ts";
import { typed } from "../../storage/object.ts";
import { forbidden, notFound } from "../problems.ts";

/** A node requests certificates for the pods that run on it, and their service accounts. */
export async function restrictPodCertificate(
  node: string,
  request: AdmissionRequest,
  objects: Objects,
): Promise<void> {
  const { operation, subresource, namespace } = request;
  if (operation !== "CREATE") throw forbidden(request, `unexpected operation ${operation}`);
  if (subresource) throw forbidden(request, `unexpected subresource ${subresource}`);
  const spec = (request.object?.spec ?? {}) as Partial<PodCertificateRequestSpec>;
  if (spec.nodeName !== node)
    throw forbidden(
      request,
      `PodCertificateRequest.Spec.NodeName="${spec.nodeName ?? ""}", which is not the requesting node "${node}"`,
    );
  const get = async (resource: string, name: string, within = namespace) => {
    const found = await objects.get({ resource, namespace: within, name });
    if (!found) throw notFound(resource, name);
    return found;
  };
  const pod: Pod = typed(await get("pods", spec.podName ?? ""));
  const title = `${namespace}/${spec.podName}`;
  if (pod.spec.nodeName !== node)
    throw forbidden(
      request,
      `pod "${title}" is not running on node "${node}" named in the PodCertificateRequest`,
    );
  if (pod.metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined)
    throw forbidden(request, `pod "${title}" is a mirror pod`);
  if (pod.spec.serviceAccountName !== spec.serviceAccountName)
    throw forbidden(
      request,
      `PodCertificateRequest for pod "${title}" contains serviceAccountName ("${spec.serviceAccountName}") that differs from running pod ("${pod.spec.serviceAccountName}")`,
    );
  const uids: [what: string, requested: string | undefined, actual: string | undefined][] = [
    ["node UID", spec.nodeUID, (await get("nodes", node, "")).metadata.uid],
    ["pod UID", spec.podUID, pod.metadata.uid],
    [
      "service account UID",
      spec.serviceAccountUID,
      (await get("serviceaccounts", spec.serviceAccountName ?? "")).metadata.uid,
    ],
  ];
  for (const [what, requested, actual] of uids)
    if (requested !== actual)
      throw forbidden(
        request,
        `PodCertificateRequest for pod "${title}" names ${what} "${requested}", which differs from the running one ("${actual}")`,
      );
}
