import type { Tracer } from "../../lib/base/tracing/tracer.ts";
import { type Pod, type PodUid, podRef } from "../../lib/model/pod.ts";
import type { PodSyncer } from "../pipeline/pod-workers/pod-syncer.ts";

/** Wraps each sync of a pod in a span with upstream's name. Without a tracer the syncer is not wrapped. */
export function tracedSyncer(syncer: PodSyncer, tracer: Tracer | undefined): PodSyncer {
  if (!tracer) return syncer;
  return {
    ...syncer,
    sync: (pod, report, signal, kind) =>
      tracer.run(
        "syncPod",
        { isRoot: true, attributes: { ...attributesOf(pod), ...(kind && { "k8s.pod.update_type": kind }) } },
        () => syncer.sync(pod, report, signal, kind),
      ),
    stop: (uid, pod, options) =>
      tracer.run(
        "syncTerminatingPod",
        { isRoot: true, attributes: pod ? attributesOf(pod) : { "k8s.pod.uid": uid } },
        () => syncer.stop(uid, pod, options),
      ),
    release: (uid, signal) =>
      tracer.run("syncTerminatedPod", { isRoot: true, attributes: { "k8s.pod.uid": uid } }, () =>
        syncer.release(uid, signal),
      ),
    remove: (id, signal) =>
      tracer.run("removePod", { isRoot: true, attributes: attributesOf({ metadata: id }) }, () =>
        syncer.remove(id, signal),
      ),
  };
}

function attributesOf(
  pod: Pick<Pod, "metadata"> | { metadata: { uid: PodUid; name: string; namespace: string } },
) {
  const { uid, name, namespace } = pod.metadata;
  return {
    "k8s.pod.uid": uid,
    "k8s.pod": podRef(pod),
    "k8s.pod.name": name,
    "k8s.namespace.name": namespace,
  };
}
