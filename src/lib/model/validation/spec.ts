import { isIP } from "node:net";
import { dnsLabel, dnsSearch, dnsSubdomain, qualifiedName } from "../../base/name-rules.ts";
import { core } from "../../schema/types/core/core.ts";
import type { PodSpec } from "../pod.ts";
import { checkLabels } from "./metadata.ts";
import type { Problems } from "./problem.ts";
import { oneOf } from "./security.ts";
import { checkToleration } from "./tolerations.ts";

/** The fields of a pod's spec that belong to no container and no volume. */
export function checkSpecFields(
  spec: PodSpec,
  problems: Problems,
  options: { readonly comparesTaints?: boolean } = {},
): void {
  oneOf(spec.restartPolicy, core.values("RestartPolicy"), "spec.restartPolicy", problems);
  oneOf(spec.dnsPolicy, core.values("DNSPolicy"), "spec.dnsPolicy", problems);
  oneOf(spec.preemptionPolicy, core.values("PreemptionPolicy"), "spec.preemptionPolicy", problems);
  checkNames(spec, problems);
  checkSeconds(spec, problems);
  checkLabels(spec.nodeSelector, "spec.nodeSelector", problems);
  checkDnsConfig(spec, problems);
  for (const [i, toleration] of (spec.tolerations ?? []).entries())
    checkToleration(toleration, `spec.tolerations[${i}]`, problems, options);
  checkHostAliases(spec, problems);
  for (const [i, gate] of (spec.readinessGates ?? []).entries()) {
    const type = gate.conditionType ?? "";
    problems.check(`spec.readinessGates[${i}].conditionType`, type, qualifiedName(type));
  }
  if (spec.os && !spec.os.name) problems.required("spec.os.name");
  else oneOf(spec.os?.name, ["linux", "windows"], "spec.os.name", problems);
  if (spec.ephemeralContainers?.length)
    problems.forbidden("spec.ephemeralContainers", "cannot be set on create");
  if (spec.schedulingGates?.length)
    problems.forbidden(
      "spec.schedulingGates",
      "a pod that is assigned to a node cannot have scheduling gates",
    );
}

function checkNames(spec: PodSpec, problems: Problems): void {
  const checks = [
    ["hostname", dnsLabel],
    ["subdomain", dnsLabel],
    ["nodeName", dnsSubdomain],
    ["serviceAccountName", dnsSubdomain],
    ["priorityClassName", dnsSubdomain],
    ["runtimeClassName", dnsSubdomain],
    ["hostnameOverride", dnsSubdomain],
  ] as const;
  for (const [field, validate] of checks) {
    const name = spec[field];
    if (name) problems.check(`spec.${field}`, name, validate(name));
  }
  const override = spec.hostnameOverride;
  if (override === undefined) return;
  if (spec.setHostnameAsFQDN)
    problems.forbidden("spec.hostnameOverride", "may not be specified when setHostnameAsFQDN is true");
  if (spec.hostNetwork)
    problems.forbidden("spec.hostnameOverride", "may not be specified when hostNetwork is true");
  if (override.length > 64) problems.tooLong("spec.hostnameOverride", 64);
}

function checkSeconds(spec: PodSpec, problems: Problems): void {
  const { terminationGracePeriodSeconds: grace, activeDeadlineSeconds: deadline } = spec;
  if (grace === undefined) problems.required("spec.terminationGracePeriodSeconds");
  if (deadline !== undefined && (deadline < 1 || deadline > 2147483647))
    problems.invalid("spec.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive");
}

function checkDnsConfig(spec: PodSpec, problems: Problems): void {
  const { dnsConfig, dnsPolicy } = spec;
  const at = "spec.dnsConfig";
  if (dnsPolicy === "None") {
    if (!dnsConfig) {
      problems.required(at, "must provide `dnsConfig` when `dnsPolicy` is None");
      return;
    }
    if (!dnsConfig.nameservers?.length) {
      problems.required(
        `${at}.nameservers`,
        "must provide at least one DNS nameserver when `dnsPolicy` is None",
      );
      return;
    }
  }
  const { nameservers = [], searches = [], options = [] } = dnsConfig ?? {};
  if (nameservers.length > 3)
    problems.invalid(`${at}.nameservers`, nameservers, "must not have more than 3 nameservers");
  for (const [i, server] of nameservers.entries()) checkIp(server, `${at}.nameservers[${i}]`, problems);
  if (searches.length > 32)
    problems.invalid(`${at}.searches`, searches, "must not have more than 32 search paths");
  if (searches.join(" ").length > 2048)
    problems.invalid(
      `${at}.searches`,
      searches,
      "must not have more than 2048 characters (including spaces) in the search list",
    );
  for (const [i, search] of searches.entries())
    if (search !== ".") problems.check(`${at}.searches[${i}]`, search, dnsSearch(search.replace(/\.$/, "")));
  for (const [i, option] of options.entries())
    if (!option.name) problems.required(`${at}.options[${i}]`, "must not be empty");
}

function checkHostAliases(spec: PodSpec, problems: Problems): void {
  for (const [i, alias] of (spec.hostAliases ?? []).entries()) {
    checkIp(alias.ip ?? "", `spec.hostAliases[${i}].ip`, problems);
    for (const [j, name] of (alias.hostnames ?? []).entries())
      problems.check(`spec.hostAliases[${i}].hostnames[${j}]`, name, dnsSubdomain(name));
  }
}

function checkIp(value: string, at: string, problems: Problems): void {
  if (isIP(value) === 0 || value.includes("%"))
    problems.invalid(at, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
}
