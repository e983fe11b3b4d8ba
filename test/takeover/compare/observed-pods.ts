import { readFileSync } from "node:fs";
import type { Pod } from "../../../src/lib/model/pod.ts";

export const observedNodeName = "machine";

interface ObservedPods {
  readonly pods: readonly Pod[];
  readonly static: Pod;
}

const file = new URL("../../fixtures/takeover/observed-pods.json", import.meta.url);

/** The pods of the record, with this image for its own. */
export function observedPods(image: string): { pods: readonly Pod[]; manifest: Pod } {
  const text = readFileSync(file, "utf8").replaceAll(
    /registry\.k8s\.io\/e2e-test-images\/busybox:[\w.-]+/g,
    image,
  );
  const { pods, static: manifest } = JSON.parse(text) as ObservedPods;
  return { pods, manifest };
}

const ended: Readonly<Record<string, string>> = {
  "g-init-done": "Succeeded",
  "j-termmsg": "Failed",
  "q-toobig": "Failed",
};
const waiting: Readonly<Record<string, string>> = {
  "r-noimage": "ErrImageNeverPull",
  "t-badconfig": "CreateContainerConfigError",
};

/** The state in which each pod stays: its phase, whether it is ready, and why its container waits. */
export function phases(pods?: readonly Pod[]): Record<string, string> {
  if (pods)
    return Object.fromEntries(
      pods.map(({ metadata, status }) => {
        const ready = status?.conditions?.find(({ type }) => type === "Ready")?.status;
        const reason = status?.containerStatuses?.[0]?.state?.waiting?.reason ?? "";
        return [metadata.name, `${status?.phase} ${ready === "True"} ${reason}`];
      }),
    );
  const names = [...observedPods("").pods.map(({ metadata }) => metadata.name), `static-${observedNodeName}`];
  return Object.fromEntries(
    names.map((name) => {
      if (ended[name]) return [name, `${ended[name]} false `];
      return [name, waiting[name] ? `Pending false ${waiting[name]}` : "Running true "];
    }),
  );
}
