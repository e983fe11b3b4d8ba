import type { CSIPersistentVolumeSource } from "../../../lib/gen/kubernetes/core.d.ts";
import type { Pod, Volume } from "../../../lib/model/pod.ts";
import type { AdmissionRequest } from "../../access.ts";
import type { ObjectRef, Objects } from "../../definition.ts";
import { typed } from "../../storage/object.ts";
import { claimName } from "../pod-references.ts";
import { forbidden, notFound } from "../problems.ts";

interface TokenSpec {
  readonly audiences?: readonly string[];
  readonly boundObjectRef?: { apiVersion?: string; kind?: string; name?: string; uid?: string };
}

/** A node gets tokens for the pods that run on it, for the audiences in their spec. */
export async function restrictToken(
  node: string,
  request: AdmissionRequest,
  objects: Objects,
): Promise<void> {
  if (request.operation !== "CREATE" || request.subresource !== "token") return;
  const spec = (request.object?.spec ?? {}) as TokenSpec;
  const ref = spec.boundObjectRef;
  if (ref?.apiVersion !== "v1" || ref.kind !== "Pod" || !ref.name)
    throw forbidden(request, "node requested token not bound to a pod");
  if (!ref.uid) throw forbidden(request, "node requested token with a pod binding without a uid");
  const found = await objects.get({ resource: "pods", namespace: request.namespace, name: ref.name });
  if (!found) throw notFound("pods", ref.name);
  const pod: Pod = typed(found);
  if (ref.uid !== pod.metadata.uid)
    throw forbidden(
      request,
      `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  if (pod.spec.nodeName !== node)
    throw forbidden(request, "node requested token bound to a pod scheduled on a different node");
  await restrictAudience(request, spec.audiences ?? [], pod, objects);
}

async function restrictAudience(
  request: AdmissionRequest,
  audiences: readonly string[],
  pod: Pod,
  objects: Objects,
): Promise<void> {
  if (audiences.length > 1) throw forbidden(request, "node may only request 0 or 1 audiences");
  const audience = audiences[0] ?? "";
  const problems: string[] = [];
  for (const volume of pod.spec.volumes ?? []) {
    const sources = volume.projected?.sources ?? [];
    if (sources.some(({ serviceAccountToken: token }) => token && (token.audience ?? "") === audience))
      return;
    const driver = await driverOf(pod, volume, objects);
    const offered = driver === undefined ? undefined : await driverAudiences(driver, objects);
    if (offered && "problem" in offered) problems.push(offered.problem);
    else if (offered?.audiences.includes(audience)) return;
  }
  if (problems.length > 0) {
    const why = problems.length === 1 ? problems[0] : `[${problems.join(", ")}]`;
    throw forbidden(request, `error validating audience "${audience}": ${why}`);
  }
  // A node cannot be granted further audiences: the policy is fixed.
  throw forbidden(
    request,
    `audience "${audience}" not found in pod spec volume, ${request.caller.name} is not authorized to request tokens for this audience`,
  );
}

type Driver = { readonly name: string } | { readonly problem: string };

async function driverOf(pod: Pod, volume: Volume, objects: Objects): Promise<Driver | undefined> {
  if (volume.csi) return { name: volume.csi.driver };
  const claim = claimName(pod, volume);
  if (claim === undefined) return undefined;
  const namespace = pod.metadata.namespace;
  const found = await objects.get({ resource: "persistentvolumeclaims", namespace, name: claim });
  if (!found) return missing({ resource: "persistentvolumeclaims", namespace, name: claim });
  const { volumeName = "" } = (found.spec ?? {}) as { volumeName?: string };
  const bound = await objects.get({ resource: "persistentvolumes", namespace: "", name: volumeName });
  if (!bound) return missing({ resource: "persistentvolumes", namespace: "", name: volumeName });
  const csi: CSIPersistentVolumeSource | undefined = bound.spec?.csi;
  return csi && { name: csi.driver };
}

async function driverAudiences(
  driver: Driver,
  objects: Objects,
): Promise<{ audiences: string[] } | { problem: string }> {
  if ("problem" in driver) return driver;
  const ref = { resource: "csidrivers.storage.k8s.io", namespace: "", name: driver.name };
  const found = await objects.get(ref);
  if (!found) return missing(ref);
  const { tokenRequests = [] } = (found.spec ?? {}) as { tokenRequests?: { audience?: string }[] };
  return { audiences: tokenRequests.map(({ audience = "" }) => audience) };
}

function missing({ resource, name }: ObjectRef): { problem: string } {
  return { problem: `${resource} "${name}" not found` };
}
