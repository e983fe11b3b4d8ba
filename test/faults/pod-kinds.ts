import {
  annotationSource,
  type Container,
  type Pod,
  type PodSpec,
  type PodUid,
} from "../../src/lib/model/pod.ts";
import { aContainer, aPod } from "../builders/pods.ts";
import type { Program } from "../fake-runtime/program.ts";
import { probe } from "./simulated-health.ts";
import { type HookKind, hook } from "./simulated-hooks.ts";

/** The program of a container, by the first part of its name. */
export function programOf(name: string, attempt: number): Program {
  const exit = (ms: number, code: number): Program => ({
    steps: [
      { do: "wait", ms },
      { do: "exit", code },
    ],
    onTerm: code,
  });
  switch (name.split("-")[0]) {
    case "stubborn":
      return { steps: [{ do: "run-forever" }], onTerm: "ignore" };
    case "once":
      return exit(700, 0);
    case "init":
      return exit(200, 0);
    case "flaky":
      return exit(200, attempt === 0 ? 1 : 0);
    case "bad":
      return exit(100, 1);
    case "coded":
      return exit(200, attempt === 0 ? 42 : 0);
    case "trigger":
      return attempt === 0 ? exit(600, 42) : { steps: [{ do: "run-forever" }], onTerm: 143 };
    case "side":
    case "gate":
      return { steps: [{ do: "run-forever" }], onTerm: 0 };
    default:
      return { steps: [{ do: "run-forever" }], onTerm: 143 };
  }
}

/** Changes of a pod that keeps its UID. */
export interface Edits {
  /** A different one changes the container hash. */
  revision: number;
  image: string;
  deadlineSeconds?: number;
  /** How many ephemeral containers were added. */
  ephemeralCount: number;
}

export const unedited: Edits = { revision: 0, image: "busybox:1", ephemeralCount: 0 };

type Make = (c: (name: string, more?: Partial<Container>) => Container) => Partial<PodSpec>;
const always = "Always";
const ownPolicy = (restartPolicy: string): Partial<Container> => ({ restartPolicy });
const on42 = (action: string): Partial<Container> => ({
  restartPolicy: "Never",
  restartPolicyRules: [{ action, exitCodes: { operator: "In", values: [42] } }],
});
const probed = (...kinds: ("startup" | "liveness" | "readiness")[]): Partial<Container> =>
  Object.fromEntries(kinds.map((kind) => [`${kind}Probe`, probe(kind)]));
const hooked = (...kinds: HookKind[]): Partial<Container> => ({
  lifecycle: Object.fromEntries(kinds.map((kind) => [kind, hook(kind)])),
});

/** Pods with different lifecycles. */
export const kinds = {
  servers: (c) => ({ containers: [c("server", probed("readiness")), c("stubborn")] }),
  inits: (c) => ({ initContainers: [c("init-a"), c("init-b")], containers: [c("stubborn")] }),
  sidecar: (c) => ({
    initContainers: [c("init-a"), c("side", { restartPolicy: always, ...probed("liveness") }), c("flaky-b")],
    containers: [c("server", probed("startup"))],
  }),
  job: (c) => ({ restartPolicy: "Never", containers: [c("once-a"), c("once-b")] }),
  jobWithSidecar: (c) => ({
    restartPolicy: "Never",
    initContainers: [c("side", { restartPolicy: always })],
    containers: [c("once")],
  }),
  retried: (c) => ({ restartPolicy: "OnFailure", containers: [c("flaky"), c("once")] }),
  halfDone: (c) => ({ restartPolicy: "OnFailure", containers: [c("once"), c("server")] }),
  neverInitialized: (c) => ({
    restartPolicy: "Never",
    initContainers: [c("bad")],
    containers: [c("server")],
  }),
  probedSidecars: (c) => ({
    initContainers: [
      c("gate-a", { restartPolicy: always, ...probed("startup", "liveness", "readiness") }),
      c("init-b"),
      c("gate-c", { restartPolicy: always, ...probed("startup") }),
    ],
    containers: [c("server", probed("startup", "readiness"))],
  }),
  jobWithProbedSidecar: (c) => ({
    restartPolicy: "OnFailure",
    initContainers: [c("gate", { restartPolicy: always, ...probed("startup"), ...hooked("preStop") })],
    containers: [c("flaky", probed("readiness"))],
  }),
  hooked: (c) => ({
    initContainers: [c("side", { restartPolicy: always, ...hooked("postStart", "preStop") })],
    containers: [
      c("server", { ...hooked("postStart", "preStop"), ...probed("readiness") }),
      c("stubborn", hooked("preStop")),
    ],
  }),
  hookedJob: (c) => ({
    restartPolicy: "Never",
    containers: [c("once", hooked("postStart")), c("once-b", hooked("preStop"))],
  }),
  rules: (c) => ({ restartPolicy: "Never", containers: [c("coded", on42("Restart")), c("once")] }),
  ownPolicies: (c) => ({
    containers: [c("once", ownPolicy("Never")), c("flaky", ownPolicy("OnFailure")), c("server")],
  }),
  endsByOwnPolicies: (c) => ({
    containers: [c("once", ownPolicy("OnFailure")), c("bad", ownPolicy("Never"))],
  }),
  ownFailedInit: (c) => ({ initContainers: [c("bad", ownPolicy("Never"))], containers: [c("server")] }),
  restartAll: (c) => ({
    initContainers: [c("init-a"), c("gate", { restartPolicy: always, ...probed("startup") })],
    containers: [c("trigger", on42("RestartAllContainers")), c("server", hooked("preStop"))],
  }),
  restartAllJob: (c) => ({
    restartPolicy: "Never",
    initContainers: [c("init-a"), c("side", { restartPolicy: always })],
    containers: [c("coded", on42("RestartAllContainers")), c("once")],
  }),
  crashing: (c) => ({ containers: [c("bad")] }),
  withDeadline: (c) => ({ activeDeadlineSeconds: 4, containers: [c("server")] }),
  rejected: (c) => ({ containers: [c("server")] }),
} satisfies Record<string, Make>;

export type Kind = keyof typeof kinds;

export function podOf(kind: Kind, source: "file" | "api", uid: string, name: string, edits: Edits): Pod {
  const { revision, image, deadlineSeconds, ephemeralCount } = edits;
  const env = [{ name: "REVISION", value: String(revision) }];
  const spec: Partial<PodSpec> = (kinds[kind] as Make)((container, more) =>
    aContainer(container, { image, env, ...more }),
  );
  return aPod(
    {
      terminationGracePeriodSeconds: 4,
      ...spec,
      containers: spec.containers?.map((c) => ({ livenessProbe: probe("liveness"), ...c })),
      ...(deadlineSeconds === undefined ? {} : { activeDeadlineSeconds: deadlineSeconds }),
      // The first one exits on its own.
      ...(ephemeralCount > 0 && {
        ephemeralContainers: [aContainer("once-debug"), aContainer("debug")].slice(0, ephemeralCount),
      }),
    },
    { uid: uid as PodUid, name, labels: { kind }, annotations: { [annotationSource]: source } },
  );
}
