import { randomUUID } from "node:crypto";
import { dnsSubdomain } from "../../../lib/base/name-rules.ts";
import { shortened } from "../../../lib/clients/plugin-rpc/shortened.ts";
import type { Pod } from "../../../lib/model/pod.ts";

export type EventType = "Normal" | "Warning";

export interface ObjectReference {
  kind: string;
  namespace?: string;
  name: string;
  uid?: string;
  apiVersion: string;
  resourceVersion?: string;
  fieldPath?: string;
}

/** An Event of core/v1. */
export interface ApiEvent {
  apiVersion: "v1";
  kind: "Event";
  metadata: { name: string; namespace: string; annotations?: Readonly<Record<string, string>> };
  involvedObject: ObjectReference;
  reason: string;
  message: string;
  source: { component: string; host: string };
  firstTimestamp: string;
  lastTimestamp: string;
  count: number;
  type: EventType;
  reportingComponent: string;
  reportingInstance: string;
}

const component = "kubelet";
/** Messages contain what pod authors, registries and runtimes wrote: without a limit they fill memory, and an API server fails to store them. */
const maxMessage = 32 * 1024;

export function eventMessage(text: string): string {
  return shortened(text, maxMessage);
}

/** The pod, or one of its containers. */
export function podReference(pod: Pod, container?: string): ObjectReference {
  const { namespace, name, uid, resourceVersion } = pod.metadata;
  return {
    kind: "Pod",
    namespace,
    name,
    uid,
    apiVersion: "v1",
    ...(resourceVersion ? { resourceVersion } : {}),
    ...(container !== undefined ? { fieldPath: fieldPath(pod, container) } : {}),
  };
}

export function nodeReference(name: string): ObjectReference {
  return { kind: "Node", name, apiVersion: "v1" };
}

function fieldPath({ spec }: Pod, name: string): string {
  const lists = ["containers", "initContainers", "ephemeralContainers"] as const;
  const list = lists.find((l) => spec[l]?.some((c) => c.name === name));
  return list ? `spec.${list}{${name}}` : `implicitly required container ${name}`;
}

export interface EventParts {
  involvedObject: ObjectReference;
  type: EventType;
  reason: string;
  message: string;
  nodeName: string;
  /** Nanoseconds since the epoch; unique per event. */
  at: bigint;
  annotations?: Readonly<Record<string, string>> | undefined;
}

export function makeEvent(parts: EventParts): ApiEvent {
  const { involvedObject, type, reason, message, nodeName, at, annotations } = parts;
  const time = isoSeconds(at);
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: {
      name: eventName(involvedObject.name, at),
      namespace: involvedObject.namespace || "default",
      ...(annotations && { annotations }),
    },
    involvedObject,
    reason,
    message: eventMessage(message),
    source: { component, host: nodeName },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
    type,
    reportingComponent: component,
    reportingInstance: nodeName,
  };
}

/** The name of the involved object and the time; a UUID if that is not a valid name. */
export function eventName(objectName: string, at: bigint): string {
  const name = `${objectName}.${at.toString(16)}`;
  return dnsSubdomain(name).length === 0 ? name : randomUUID();
}

/** Timestamps of the API have whole seconds. */
function isoSeconds(at: bigint): string {
  return new Date(Number(at / 1_000_000n)).toISOString().replace(/\.\d+Z$/, "Z");
}
