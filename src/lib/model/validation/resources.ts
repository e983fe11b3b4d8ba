import { dnsLabel, type Messages, qualifiedName } from "../../base/name-rules.ts";
import {
  containerTotals,
  isHugePages,
  isPodLevelResource,
  mayOvercommit,
} from "../defaults/pod-resources.ts";
import type { PodSpec, ResourceRequirements } from "../pod.ts";
import { compareQuantities, parseQuantity } from "../quantity.ts";
import { formatQuantity } from "../quantity-form.ts";
import type { Problems } from "./problem.ts";

type Lists = "limits" | "requests";
const standard = new Set(["cpu", "memory", "ephemeral-storage"]);

export function checkContainerResources(
  resources: ResourceRequirements | undefined,
  at: string,
  claims: ReadonlySet<string>,
  problems: Problems,
): void {
  checkRequirements(resources, at, containerResourceName, problems);
  const seen = new Set<string>();
  for (const [i, claim] of (resources?.claims ?? []).entries()) {
    const { name, request } = claim as { name: string; request?: string };
    const key = request ? `${name}/${request}` : name;
    if (!name) problems.required(`${at}.claims[${i}]`);
    else if (seen.has(key) || seen.has(name)) problems.duplicate(`${at}.claims[${i}]`, key);
    else if (!claims.has(name)) problems.notFound(`${at}.claims[${i}]`, name);
    if (request) problems.check(`${at}.claims[${i}].request`, request, dnsLabel(request));
    seen.add(key);
  }
}

/** Pod-level resources: each must cover the sum of its containers. */
export function checkPodResources(spec: PodSpec, problems: Problems): void {
  const { resources } = spec;
  if (!resources) return;
  const at = "spec.resources";
  checkRequirements(resources, at, podResourceName, problems);
  if (resources.claims?.length)
    problems.forbidden(`${at}.claims`, "claims may not be set for Resources at pod-level");
  if (problems.list.length > 0) return; // sums of invalid quantities mean nothing
  for (const which of ["requests", "limits"] as const) {
    for (const [name, total] of containerTotals(spec, which)) {
      const own = resources[which]?.[name];
      if (own === undefined || (which === "limits" && !isHugePages(name))) continue;
      if (total > (parseQuantity(own) ?? 0n))
        problems.invalid(
          `${at}.${which}[${name}]`,
          own,
          `must be greater than or equal to aggregate container ${which} of ${formatQuantity(total, name === "cpu" ? "decimal" : "binary")}`,
        );
    }
  }
  for (const [i, container] of spec.containers.entries()) {
    for (const [name, limit] of Object.entries(container.resources?.limits ?? {})) {
      const own = resources.limits?.[name];
      if (own !== undefined && compareQuantities(limit, own) > 0)
        problems.invalid(
          `spec.containers[${i}].resources.limits[${name}]`,
          limit,
          `must be less than or equal to pod limits of ${own}`,
        );
    }
  }
}

export function checkOverhead(overhead: Record<string, string> | undefined, problems: Problems): void {
  checkRequirements(
    { limits: overhead },
    "spec.overhead",
    containerResourceName,
    problems,
    () => "spec.overhead",
  );
}

function checkRequirements(
  resources: { limits?: Record<string, string>; requests?: Record<string, string> } | undefined,
  at: string,
  nameRule: (name: string) => Messages,
  problems: Problems,
  pathOf = (which: Lists) => `${at}.${which}`,
): void {
  const { limits = {}, requests = {} } = resources ?? {};
  const mentioned = new Set([...Object.keys(limits), ...Object.keys(requests)]);
  for (const which of ["limits", "requests"] as const) {
    for (const [name, amount] of Object.entries(which === "limits" ? limits : requests)) {
      const path = `${pathOf(which)}[${name}]`;
      problems.check(path, name, nameRule(name));
      checkAmount(name, amount, path, problems);
    }
  }
  for (const [name, request] of Object.entries(requests)) {
    const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
    const path = `${pathOf("requests")}[${name}]`;
    if (limit === undefined) {
      if (!mayOvercommit(name))
        problems.required(pathOf("limits"), `Limit must be set for non overcommitable resources (${name})`);
    } else if (!mayOvercommit(name) && compareQuantities(request, limit) !== 0) {
      problems.invalid(path, request, `must be equal to ${name} limit of ${limit}`);
    } else if (compareQuantities(request, limit) > 0) {
      problems.invalid(path, request, `must be less than or equal to ${name} limit of ${limit}`);
    }
  }
  if ([...mentioned].some(isHugePages) && !mentioned.has("cpu") && !mentioned.has("memory"))
    problems.forbidden(at, "HugePages require cpu or memory");
}

function checkAmount(name: string, amount: string, path: string, problems: Problems): void {
  const nano = parseQuantity(amount);
  if (nano === undefined) {
    problems.invalid(path, amount, "is not a quantity");
    return;
  }
  if (nano < 0n) {
    problems.invalid(path, amount, "must be greater than or equal to 0");
    return;
  }
  if (isExtended(name) && nano % 1_000_000_000n !== 0n) {
    problems.invalid(path, amount, "must be an integer");
    return;
  }
  if (!isHugePages(name)) return;
  const page = parseQuantity(name.slice("hugepages-".length));
  if (page === undefined || page <= 0n)
    problems.invalid(path, name, "must name a page size, as hugepages-2Mi does");
  else if (nano % page !== 0n) problems.invalid(path, amount, `is not positive integer multiple of ${name}`);
}

function isExtended(name: string): boolean {
  return name.includes("/") && !name.includes("kubernetes.io/");
}

function containerResourceName(name: string): Messages {
  const messages = qualifiedName(name);
  if (messages.length > 0) return messages;
  if (!name.includes("/"))
    return standard.has(name) || isHugePages(name) ? [] : ["must be a standard resource for containers"];
  return isExtended(name) && name.startsWith("requests.")
    ? ["doesn't follow extended resource name standard"]
    : [];
}

function podResourceName(name: string): Messages {
  return isPodLevelResource(name) ? [] : ["must be cpu, memory or hugepages-<size> at pod level"];
}
