import {
  annotationSource,
  type Container,
  type Pod,
  type PodSpec,
  type PodUid,
} from "../../src/model/pod.ts";
import { aContainer, aPod } from "../builders/pods.ts";
import type { Program } from "../fake-runtime/program.ts";

/** What the main process of a container does, by the first word of its name. */
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
    case "side":
      return { steps: [{ do: "run-forever" }], onTerm: 0 };
    default:
      return { steps: [{ do: "run-forever" }], onTerm: 143 };
  }
}

/** What may be changed about a pod that keeps its UID. */
export interface Edits {
  /** Another one gives containers another hash. */
  revision: number;
  image: string;
  deadlineSeconds?: number;
}

export const unedited: Edits = { revision: 0, image: "busybox:1" };

type Make = (c: (name: string, more?: Partial<Container>) => Container) => Partial<PodSpec>;
const always = "Always";

/** Pods that differ in how they live and end. */
export const kinds = {
  servers: (c) => ({ containers: [c("server"), c("stubborn")] }),
  inits: (c) => ({ initContainers: [c("init-a"), c("init-b")], containers: [c("stubborn")] }),
  sidecar: (c) => ({
    initContainers: [c("init-a"), c("side", { restartPolicy: always }), c("flaky-b")],
    containers: [c("server")],
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
  crashing: (c) => ({ containers: [c("bad")] }),
  limited: (c) => ({ activeDeadlineSeconds: 4, containers: [c("server")] }),
  refused: (c) => ({ containers: [c("server")] }),
} satisfies Record<string, Make>;

export type Kind = keyof typeof kinds;

export function podOf(kind: Kind, source: "file" | "api", uid: string, name: string, edits: Edits): Pod {
  const { revision, image, deadlineSeconds } = edits;
  const env = [{ name: "REVISION", value: String(revision) }];
  const spec: Partial<PodSpec> = (kinds[kind] as Make)((container, more) =>
    aContainer(container, { image, env, ...more }),
  );
  return aPod(
    {
      terminationGracePeriodSeconds: 4,
      ...spec,
      ...(deadlineSeconds === undefined ? {} : { activeDeadlineSeconds: deadlineSeconds }),
    },
    { uid: uid as PodUid, name, labels: { kind }, annotations: { [annotationSource]: source } },
  );
}
