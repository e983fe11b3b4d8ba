import type { Container } from "../../../lib/model/pod.ts";
import type { FieldProblems } from "../field-problems.ts";
import { same } from "../same.ts";
import { containersOf, type PodDraft } from "./pod-draft.ts";

/** The deprecated annotation for AppArmor profiles, by container name. */
const prefix = "container.apparmor.security.beta.kubernetes.io/";
const localhost = "localhost/";

type Profile = { type: string; localhostProfile?: string };
type Confined = { appArmorProfile?: Profile };

/** An annotation without a field sets the field. */
export function syncAppArmor(pod: PodDraft): void {
  if (pod.spec.os?.name === "windows") return;
  const common = (pod.spec.securityContext as Confined | undefined)?.appArmorProfile;
  for (const { container } of containersOf(pod.spec)) {
    const annotation = pod.metadata.annotations?.[prefix + container.name];
    if (annotation === undefined || fieldOf(container)) continue;
    const profile = profileOf(annotation);
    if (!profile || same(profile, common)) continue;
    container.securityContext = {
      ...container.securityContext,
      appArmorProfile: profile,
    } as Container["securityContext"];
  }
}

/** Annotations must name containers and profiles, and agree with the fields. */
export function checkAppArmorAnnotations(pod: PodDraft, problems: FieldProblems): void {
  for (const [key, value] of Object.entries(pod.metadata.annotations ?? {})) {
    if (!key.startsWith(prefix)) continue;
    const path = `metadata.annotations[${key}]`;
    const name = key.slice(prefix.length);
    if (![...containersOf(pod.spec)].some(({ container }) => container.name === name))
      problems.invalid(path, name, "container not found");
    if (value !== "" && value !== "runtime/default" && value !== "unconfined" && !value.startsWith(localhost))
      problems.invalid(path, value, `invalid AppArmor profile name: ${JSON.stringify(value)}`);
  }
}

export function checkAppArmorAgrees(pod: PodDraft, problems: FieldProblems): void {
  if (pod.spec.os?.name === "windows") return;
  const common = (pod.spec.securityContext as Confined | undefined)?.appArmorProfile;
  for (const { container, path } of containersOf(pod.spec)) {
    const field = fieldOf(container) ?? common;
    const annotation = pod.metadata.annotations?.[prefix + container.name];
    if (!field || annotation === undefined) continue;
    const at = `${path}.securityContext.appArmorProfile`;
    const expected = profileOf(annotation);
    if (expected?.type !== field.type)
      problems.forbidden(`${at}.type`, "apparmor type in annotation and field must match");
    else if (expected.localhostProfile !== field.localhostProfile)
      problems.forbidden(`${at}.localhostProfile`, "apparmor profile in annotation and field must match");
  }
}

export function isAppArmorAnnotation(key: string): boolean {
  return key.startsWith(prefix);
}

function fieldOf(container: Container): Profile | undefined {
  return (container.securityContext as Confined | undefined)?.appArmorProfile;
}

function profileOf(annotation: string): Profile | undefined {
  if (annotation === "unconfined") return { type: "Unconfined" };
  if (annotation === "runtime/default") return { type: "RuntimeDefault" };
  const local = annotation.startsWith(localhost) ? annotation.slice(localhost.length) : "";
  return local !== "" && local.trim() === local ? { type: "Localhost", localhostProfile: local } : undefined;
}
