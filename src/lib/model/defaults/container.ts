import type { Container } from "../pod.ts";
import { roundedToMilli } from "../quantity-form.ts";

type Probe = NonNullable<Container["livenessProbe"]>;
type HttpGet = NonNullable<Probe["httpGet"]>;
type ResourceList = Record<string, string>;

export function defaultContainer(container: Container): void {
  container.imagePullPolicy ||= defaultPullPolicy(container.image ?? "");
  container.terminationMessagePath ||= "/dev/termination-log";
  container.terminationMessagePolicy ||= "File";
  for (const port of container.ports ?? []) port.protocol ||= "TCP";
  for (const variable of container.env ?? []) defaultValueFrom(variable.valueFrom);
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe])
    defaultProbe(probe);
  defaultHttpGet(container.lifecycle?.postStart?.httpGet);
  defaultHttpGet(container.lifecycle?.preStop?.httpGet);
  container.resources ??= {};
  roundResources(container.resources);
}

/** A missing request defaults to the limit. */
export function defaultRequestsToLimits(container: Container): void {
  const { limits, requests } = container.resources ?? {};
  if (limits && container.resources) container.resources.requests = { ...limits, ...requests };
}

export function roundResources(resources: { limits?: ResourceList; requests?: ResourceList }): void {
  for (const list of [resources.limits, resources.requests]) roundList(list);
}

export function roundList(list: ResourceList | undefined): void {
  for (const [name, amount] of Object.entries(list ?? {})) if (list) list[name] = roundedToMilli(amount);
}

function defaultValueFrom(from: NonNullable<Container["env"]>[number]["valueFrom"]): void {
  if (from?.fieldRef) from.fieldRef.apiVersion ||= "v1";
  // The API writes an unset divisor as zero.
  if (from?.resourceFieldRef) from.resourceFieldRef.divisor ??= "0";
  const file = (from as { fileKeyRef?: { optional?: boolean } } | undefined)?.fileKeyRef;
  if (file) file.optional ??= false;
}

function defaultProbe(probe: Probe | undefined): void {
  if (!probe) return;
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  defaultHttpGet(probe.httpGet);
  if (probe.grpc) probe.grpc.service ??= "";
}

function defaultHttpGet(http: HttpGet | undefined): void {
  if (!http) return;
  http.path ||= "/";
  http.scheme ||= "HTTP";
}

/** Always for ":latest", written or implied; one with another tag or a digest is pulled once. */
export function defaultPullPolicy(image: string): "Always" | "IfNotPresent" {
  const [reference = "", digest] = image.split("@", 2);
  const last = reference.slice(reference.lastIndexOf("/") + 1);
  const colon = last.indexOf(":");
  const tag = colon >= 0 ? last.slice(colon + 1) : digest === undefined && reference !== "" ? "latest" : "";
  return tag === "latest" ? "Always" : "IfNotPresent";
}
