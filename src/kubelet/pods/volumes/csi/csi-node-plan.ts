import { KubeletError } from "../../../../lib/base/errors.ts";
import { migratedPlugins } from "../migration/translate.ts";
import type { DriverNodeInfo } from "./csi-client.ts";
import type { StringMap } from "./source.ts";

const migrated = migratedPlugins.join(",");
const migratedKey = "storage.alpha.kubernetes.io/migrated-plugins";
const nodeIdKey = "csi.volume.kubernetes.io/nodeid";
const maxCount = 2n ** 31n - 1n;

export interface CsiNodeDriver {
  readonly name: string;
  readonly nodeID: string;
  readonly topologyKeys?: readonly string[] | null;
  readonly allocatable?: { readonly count?: number };
}

export interface CsiNodeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly annotations?: StringMap;
    readonly ownerReferences?: readonly { kind: string; name: string; uid: string; apiVersion: string }[];
    readonly [field: string]: unknown;
  };
  readonly spec: { readonly drivers?: readonly CsiNodeDriver[] | null };
}

export interface NodeMeta {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: StringMap;
    readonly annotations?: StringMap;
  };
}

export function newCsiNode(node: NodeMeta): CsiNodeObject {
  const { name, uid } = node.metadata;
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSINode",
    metadata: {
      name,
      annotations: { [migratedKey]: migrated },
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }],
    },
    spec: { drivers: [] },
  };
}

/** A node that was deleted and recreated has another UID: the CSINode of the previous one is not its own. */
export function isOwnedBy(object: CsiNodeObject, node: NodeMeta): boolean {
  const { name, uid } = node.metadata;
  const owners = object.metadata.ownerReferences ?? [];
  return owners.some((owner) => owner.kind === "Node" && owner.name === name && owner.uid === uid);
}

/** Undefined if the annotation is up to date. */
export function withMigration(object: CsiNodeObject): CsiNodeObject | undefined {
  const annotated = object.metadata.annotations?.[migratedKey] ?? "";
  if (annotated.split(",").sort(byText).join(",") === migrated) return undefined;
  const annotations = { ...object.metadata.annotations, [migratedKey]: migrated };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** Undefined if the entry of the driver is up to date. */
export function withDriver(
  object: CsiNodeObject,
  driver: string,
  info: DriverNodeInfo,
): CsiNodeObject | undefined {
  const drivers = object.spec.drivers ?? [];
  const desired = driverEntry(driver, info);
  const migrated = withMigration(object);
  const isListed = drivers.some((known) => known.name === driver && isSame(known, desired));
  if (isListed) return migrated;
  const others = drivers.filter((known) => known.name !== driver);
  return { ...(migrated ?? object), spec: { ...object.spec, drivers: [...others, desired] } };
}

export function withoutDriver(object: CsiNodeObject, driver: string): CsiNodeObject | undefined {
  const drivers = object.spec.drivers ?? [];
  if (!drivers.some((known) => known.name === driver)) return undefined;
  return { ...object, spec: { ...object.spec, drivers: drivers.filter((known) => known.name !== driver) } };
}

function driverEntry(name: string, { nodeId, maxVolumes, topology }: DriverNodeInfo): CsiNodeDriver {
  const count = Number(maxVolumes > maxCount ? maxCount : maxVolumes);
  const topologyKeys = Object.keys(topology).sort(byText);
  return { name, nodeID: nodeId, topologyKeys, ...(count > 0 && { allocatable: { count } }) };
}

function isSame(a: CsiNodeDriver, b: CsiNodeDriver): boolean {
  const keys = (driver: CsiNodeDriver) => [...(driver.topologyKeys ?? [])].sort(byText).join("\n");
  return a.nodeID === b.nodeID && keys(a) === keys(b) && a.allocatable?.count === b.allocatable?.count;
}

/** The patch of the Node object: the driver's node ID, and its topology labels. */
export function nodePatchFor(node: NodeMeta, driver: string, info: DriverNodeInfo): object | undefined {
  const ids = nodeIdsOf(node);
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(info.topology)) {
    const known = Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (known === undefined || known === value) continue;
    throw new KubeletError(
      "CsiTopology",
      `detected topology value collision: driver reported "${key}":"${value}" but existing label is "${key}":"${known}"`,
    );
  }
  const isLabeled = Object.keys(info.topology).every((key) => Object.hasOwn(labels, key));
  if (ids[driver] === info.nodeId && isLabeled) return undefined;
  const annotations = { [nodeIdKey]: sortedJson({ ...ids, [driver]: info.nodeId }) };
  return { metadata: { annotations, ...(!isLabeled && { labels: info.topology }) } };
}

export function nodePatchWithout(node: NodeMeta, driver: string): object | undefined {
  const ids = nodeIdsOf(node);
  if (!Object.hasOwn(ids, driver)) return undefined;
  const { [driver]: _gone, ...others } = ids;
  const value = Object.keys(others).length > 0 ? sortedJson(others) : null;
  return { metadata: { annotations: { [nodeIdKey]: value } } };
}

function nodeIdsOf(node: NodeMeta): Record<string, string> {
  const text = node.metadata.annotations?.[nodeIdKey];
  if (!text) return {};
  try {
    return (JSON.parse(text) as Record<string, string> | null) ?? {};
  } catch (error) {
    const message = `failed to parse node's "${nodeIdKey}" annotation value ("${text}")`;
    throw new KubeletError("CsiNodeId", message, { cause: error });
  }
}

function sortedJson(map: Record<string, string>): string {
  return JSON.stringify(map, Object.keys(map).sort(byText));
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
