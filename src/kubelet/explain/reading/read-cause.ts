import { exitShapes } from "./exit-shapes.ts";
import { imageShapes } from "./image-shapes.ts";
import { podShapes } from "./pod-shapes.ts";
import { probeShapes } from "./probe-shapes.ts";
import { sandboxShapes } from "./sandbox-shapes.ts";
import { findShape, type Shape, type Values } from "./shape.ts";
import { startShapes } from "./start-shapes.ts";
import { volumeShapes } from "./volume-shapes.ts";

/** The part of a pod that failed: it decides which shapes are tried. */
export type CauseKind = "image" | "start" | "exit" | "hook" | "probe" | "volume" | "sandbox" | "pod" | "wait";

export interface Cause {
  readonly kind: CauseKind;
  /** As the runtime, a program, the API or the kernel reported it. */
  readonly text: string;
  /** The cause as a whole, if its text has no known shape. */
  readonly line: string;
  /** How often, behind the sentence: "; restarted 2 times". */
  readonly again?: string;
  readonly values: Values;
}

export interface CauseReading {
  readonly sentence: string;
  /** The text that the sentence was read from; undefined if the sentence contains it. */
  readonly raw?: string;
  /** The next thing to try, with a command. */
  readonly step?: string;
}

const shapes: Record<CauseKind, readonly Shape[]> = {
  image: imageShapes,
  start: startShapes,
  exit: exitShapes,
  hook: probeShapes,
  probe: probeShapes,
  volume: volumeShapes,
  sandbox: sandboxShapes,
  pod: podShapes,
  wait: [],
};

/** For texts of unknown shape. A step that is only slow needs nothing. */
const otherSteps: Partial<Record<CauseKind, string>> = {
  image: "pull it on the node: crictl pull {image}",
  start: "compare the error with the pod: kubectl get pod {pod} -n {namespace} -o yaml",
  exit: "read its last output: {previousLogs}",
  hook: "read the logs of the container: {logs}",
  probe: "read the logs of the container: {logs}",
  volume: "compare the error with the volumes of the pod: kubectl describe pod {pod} -n {namespace}",
  sandbox: "see the log of the runtime: journalctl -u containerd -n 50",
  pod: "compare the pod with the node: kubectl describe node {node}",
};

/** Wrappers of the kubelet and of gRPC around the text of the runtime, and a suffix of containerd. */
const wrappers = [
  /^Back-off pulling image "[^"]*": (?:ErrImagePull: )?/,
  /^(?:Failed to pull image "[^"]*": )/,
  /^rpc error: code = \w+ desc = /,
];

function unwrapped(text: string): string {
  let inner = text;
  for (const wrapper of wrappers) inner = inner.replace(wrapper, "");
  return inner.replace(/: unknown$/, "");
}

const isPull = /^(?:Back-off pulling image|failed to pull|Failed to pull|ErrImagePull)/;

/** A sentence for people, and what to try. A text of unknown shape is passed through unchanged. */
export function readCause(cause: Cause): CauseReading {
  const { line, again = "" } = cause;
  const kind = cause.kind === "start" && isPull.test(cause.text) ? "image" : cause.kind;
  const text = unwrapped(cause.text.trim());
  const values = kind === "image" ? imageValues(cause, text) : cause.values;
  const found = findShape(shapes[kind], kind === "image" ? withoutImage(text, values) : text, values);
  if (found) {
    const sentence = `${found.sentence.replace(/ \(\)|: $| (?= )/g, "")}${again}`;
    return { sentence, step: found.step, ...(text !== "" && !sentence.includes(text) && { raw: text }) };
  }
  const step = otherSteps[kind];
  const sentence = line;
  if (step === undefined || text === "") return { sentence };
  return { sentence, step: findShape([{ pattern: /^/, sentence: "", step }], "", values)!.step };
}

/** The name of an image may contain the text of another error: "docker.io/team/unauthorized:1". */
function withoutImage(text: string, { repository, reference }: Values): string {
  if (!repository) return text;
  return text
    .replaceAll(`/${repository}:${reference}`, "/…")
    .replaceAll(`/${repository}/manifests/${reference}`, "/…")
    .replaceAll(`/${repository}`, "/…");
}

/** The registry is in the URL of the failed request, or in the name of the image. */
function imageValues({ kind, text: wrapped, values }: Cause, text: string): Values {
  const named = /image "(?<name>[^"]+)"/.exec(wrapped)?.groups?.name;
  const image = (kind === "image" ? values.image : named) ?? named ?? "";
  const [, scheme = "https", registryOfUrl] = /(https?):\/\/([^/\s"]+)/.exec(text) ?? [];
  const parts = imageParts(image);
  const registry = registryOfUrl ?? parts.registry;
  const [url, plainUrl] = [`${scheme}://${registry}`, `http://${registry}`];
  const [host = registry, port] = registry.split(/:(?=\d+$)/);
  const address = /dial tcp (\S+:\d+): /.exec(text)?.[1] ?? `${host}:${port ?? 443}`;
  return { ...values, ...parts, image, registry, host, address, url, plainUrl };
}

/** The parts of an image name, with the defaults of Docker Hub. */
function imageParts(image: string): {
  registry: string;
  repository: string;
  reference: string;
  digest: string | undefined;
} {
  const [name = "", digest] = image.split("@", 2);
  const [, path = "", tag = "latest"] = /^(.*?)(?::([\w.-]+))?$/.exec(name) ?? [];
  const [first = "", ...rest] = path.split("/");
  const hasRegistry = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  const own = hasRegistry ? rest.join("/") : path;
  const isHub = !hasRegistry || first === "docker.io";
  return {
    registry: isHub ? "registry-1.docker.io" : first,
    repository: isHub && !own.includes("/") ? `library/${own}` : own,
    reference: digest ?? tag,
    digest,
  };
}
