import { dnsLabel, portName, portNumber } from "../../base/name-rules.ts";
import { core } from "../../schema/types/core/core.ts";
import type { Container, PodSpec, Volume } from "../pod.ts";
import { checkEnv } from "./env.ts";
import { checkLifecycle, checkProbes } from "./handlers.ts";
import { checkMounts } from "./mounts.ts";
import type { Problems } from "./problem.ts";
import { checkContainerResources } from "./resources.ts";
import { checkContainerSecurity, oneOf } from "./security.ts";

const onlySidecars = "may not be set for init containers without restartPolicy=Always";

export function checkContainers(
  spec: PodSpec,
  volumes: ReadonlyMap<string, Volume>,
  problems: Problems,
): void {
  if (spec.containers.length === 0) problems.required("spec.containers");
  const names = new Set<string>();
  for (const kind of ["containers", "initContainers"] as const) {
    for (const [i, container] of (spec[kind] ?? []).entries()) {
      const at = `spec.${kind}[${i}]`;
      if (container.name && names.has(container.name)) problems.duplicate(`${at}.name`, container.name);
      names.add(container.name);
      checkContainer(container, at, spec, volumes, problems);
      checkRestartRules(container, at, problems);
      if (kind === "containers" || container.restartPolicy === "Always") {
        checkProbes(container, at, spec, problems);
        checkLifecycle(container, at, spec, problems);
      } else {
        for (const field of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const)
          if (container[field]) problems.forbidden(`${at}.${field}`, onlySidecars);
      }
    }
  }
  checkHostPorts(spec, problems);
}

function checkContainer(
  container: Container,
  at: string,
  spec: PodSpec,
  volumes: ReadonlyMap<string, Volume>,
  problems: Problems,
): void {
  if (!container.name) problems.required(`${at}.name`);
  else problems.check(`${at}.name`, container.name, dnsLabel(container.name));
  const image = container.image ?? "";
  if (image === "") problems.required(`${at}.image`);
  else if (image.trim() !== image)
    problems.invalid(`${at}.image`, image, "must not have leading or trailing whitespace");
  oneOf(
    container.terminationMessagePolicy,
    core.values("TerminationMessagePolicy"),
    `${at}.terminationMessagePolicy`,
    problems,
  );
  oneOf(container.imagePullPolicy, core.values("PullPolicy"), `${at}.imagePullPolicy`, problems);
  checkPorts(container, at, spec, problems);
  checkEnv(container, at, problems);
  checkFileKeys(container, at, volumes, problems);
  checkMounts(container, at, volumes, problems);
  const claims = new Set((spec.resourceClaims ?? []).map((claim) => claim.name));
  checkContainerResources(container.resources, `${at}.resources`, claims, problems);
  checkResizePolicy(container, at, spec, problems);
  checkContainerSecurity(container, at, spec, problems);
}

function checkPorts(container: Container, at: string, spec: PodSpec, problems: Problems): void {
  const names = new Set<string>();
  for (const [i, port] of (container.ports ?? []).entries()) {
    const path = `${at}.ports[${i}]`;
    if (port.name) {
      if (names.has(port.name)) problems.duplicate(`${path}.name`, port.name);
      else problems.check(`${path}.name`, port.name, portName(port.name));
      names.add(port.name);
    }
    if (!port.containerPort) problems.required(`${path}.containerPort`);
    for (const field of ["containerPort", "hostPort"] as const)
      if (port[field]) problems.check(`${path}.${field}`, port[field], portNumber(port[field]));
    if (spec.hostNetwork && port.hostPort !== port.containerPort)
      problems.invalid(
        `${path}.hostPort`,
        port.hostPort,
        "must match `containerPort` when `hostNetwork` is true",
      );
    oneOf(port.protocol, core.values("Protocol"), `${path}.protocol`, problems);
  }
}

/** Containers that run at the same time cannot share a host port; init containers run one by one. */
function checkHostPorts(spec: PodSpec, problems: Problems): void {
  const check = (container: Container, at: string, taken: Set<string>) => {
    for (const [i, port] of (container.ports ?? []).entries()) {
      if (!port.hostPort) continue;
      const key = `${port.protocol}/${port.hostIP ?? ""}/${port.hostPort}`;
      if (taken.has(key)) problems.duplicate(`${at}.ports[${i}].hostPort`, key);
      taken.add(key);
    }
  };
  const together = new Set<string>();
  for (const [i, container] of spec.containers.entries()) check(container, `spec.containers[${i}]`, together);
  for (const [i, container] of (spec.initContainers ?? []).entries())
    check(container, `spec.initContainers[${i}]`, new Set());
}

function checkFileKeys(
  container: Container,
  at: string,
  volumes: ReadonlyMap<string, Volume>,
  problems: Problems,
): void {
  for (const [i, variable] of (container.env ?? []).entries()) {
    const file = (variable.valueFrom as { fileKeyRef?: { volumeName?: string } } | undefined)?.fileKeyRef;
    if (!file?.volumeName) continue;
    const path = `${at}.env[${i}].valueFrom.fileKeyRef.volumeName`;
    const volume = volumes.get(file.volumeName);
    if (!volume) problems.notFound(path, file.volumeName);
    else if (!volume.emptyDir)
      problems.invalid(path, file.volumeName, "referenced volume must be of type emptyDir");
  }
}

function checkRestartRules(container: Container, at: string, problems: Problems): void {
  oneOf(container.restartPolicy, ["Always", "Never", "OnFailure"], `${at}.restartPolicy`, problems);
  const rules = container.restartPolicyRules ?? [];
  if (rules.length > 0 && container.restartPolicy === undefined)
    problems.required(`${at}.restartPolicy`, "must specify restartPolicy when restart rules are used");
  if (rules.length > 20) problems.tooMany(`${at}.restartPolicyRules`, rules.length, 20);
  for (const [i, rule] of rules.entries()) {
    const path = `${at}.restartPolicyRules[${i}]`;
    oneOf(rule.action ?? "", ["Restart", "RestartAllContainers"], `${path}.action`, problems);
    if (!rule.exitCodes) problems.required(`${path}.exitCodes`, "must be specified");
    else {
      oneOf(rule.exitCodes.operator ?? "", ["In", "NotIn"], `${path}.exitCodes.operator`, problems);
      const codes = rule.exitCodes.values?.length ?? 0;
      if (codes > 255) problems.tooMany(`${path}.exitCodes.values`, codes, 255);
    }
  }
}

function checkResizePolicy(container: Container, at: string, spec: PodSpec, problems: Problems): void {
  const seen = new Set<string>();
  for (const [i, policy] of (container.resizePolicy ?? []).entries()) {
    const path = `${at}.resizePolicy[${i}]`;
    if (seen.has(policy.resourceName)) problems.duplicate(path, policy.resourceName);
    seen.add(policy.resourceName);
    oneOf(policy.resourceName ?? "", ["cpu", "memory"], `${path}.resourceName`, problems);
    oneOf(policy.restartPolicy ?? "", ["NotRequired", "RestartContainer"], `${path}.restartPolicy`, problems);
    if (spec.restartPolicy === "Never" && policy.restartPolicy === "RestartContainer")
      problems.invalid(
        `${path}.restartPolicy`,
        policy.restartPolicy,
        "must be 'NotRequired' when pod `restartPolicy` is 'Never'",
      );
  }
}
