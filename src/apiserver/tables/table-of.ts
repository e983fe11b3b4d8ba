import type { ApiObject } from "../storage/object.ts";
import {
  certificateSigningRequestTable,
  clusterTrustBundleTable,
  podCertificateRequestTable,
} from "./certificates.ts";
import { leaseTable, priorityClassTable, runtimeClassTable } from "./classes.ts";
import { configMapTable, namespaceTable, secretTable, serviceAccountTable } from "./core.ts";
import { csiDriverTable, csiNodeTable } from "./csi.ts";
import { endpointSliceTable, endpointsTable } from "./endpoints.ts";
import { eventTable } from "./events.ts";
import { nodeMetricsTable, podMetricsTable } from "./metrics.ts";
import { nodeTable } from "./nodes.ts";
import { podTable } from "./pods.ts";
import { resourceClaimTable, resourceSliceTable } from "./resources.ts";
import { serviceTable } from "./services.ts";
import { simpleTable } from "./simple.ts";
import type { Cell, ColumnDefinition, RowCondition, TableDefinition } from "./table-definition.ts";
import {
  persistentVolumeClaimTable,
  persistentVolumeTable,
  storageClassTable,
  volumeAttachmentTable,
} from "./volumes.ts";

const tableDefinitions: ReadonlyMap<string, TableDefinition> = new Map(
  Object.entries({
    pods: podTable,
    nodes: nodeTable,
    namespaces: namespaceTable,
    configmaps: configMapTable,
    secrets: secretTable,
    serviceaccounts: serviceAccountTable,
    services: serviceTable,
    endpoints: endpointsTable,
    events: eventTable,
    persistentvolumes: persistentVolumeTable,
    persistentvolumeclaims: persistentVolumeClaimTable,
    "events.events.k8s.io": eventTable,
    "endpointslices.discovery.k8s.io": endpointSliceTable,
    "leases.coordination.k8s.io": leaseTable,
    "runtimeclasses.node.k8s.io": runtimeClassTable,
    "priorityclasses.scheduling.k8s.io": priorityClassTable,
    "resourceclaims.resource.k8s.io": resourceClaimTable,
    "resourceslices.resource.k8s.io": resourceSliceTable,
    "csidrivers.storage.k8s.io": csiDriverTable,
    "csinodes.storage.k8s.io": csiNodeTable,
    "volumeattachments.storage.k8s.io": volumeAttachmentTable,
    "storageclasses.storage.k8s.io": storageClassTable,
    "certificatesigningrequests.certificates.k8s.io": certificateSigningRequestTable,
    "clustertrustbundles.certificates.k8s.io": clusterTrustBundleTable,
    "podcertificaterequests.certificates.k8s.io": podCertificateRequestTable,
    "nodes.metrics.k8s.io": nodeMetricsTable,
    "pods.metrics.k8s.io": podMetricsTable,
  }),
);

export type IncludeObject = "Metadata" | "Object" | "None";

export interface TableOptions {
  readonly now: number;
  readonly includeObject: IncludeObject;
  readonly withHeaders: boolean;
}

export interface TableRow {
  readonly cells: readonly Cell[];
  readonly conditions?: readonly RowCondition[];
  readonly object: unknown;
}

/** A Table of meta.k8s.io/v1, but for the list's metadata. */
export interface Table {
  readonly kind: "Table";
  readonly apiVersion: "meta.k8s.io/v1";
  readonly columnDefinitions: readonly ColumnDefinition[] | null;
  readonly rows: readonly TableRow[];
}

/** Objects of one kind as rows of cells, for `kubectl get`. Columns for `-o wide` are always in it. */
export function tableOf(
  definition: {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
    readonly name: string;
  },
  objects: readonly ApiObject[],
  options: TableOptions,
): Table {
  const { group, name } = definition;
  const table = tableDefinitions.get(group === "" ? name : `${name}.${group}`) ?? simpleTable;
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    columnDefinitions: options.withHeaders ? table.columns : null,
    rows: objects.map((object) => {
      const conditions = table.conditions?.(object) ?? [];
      return {
        cells: table.row(object, options.now),
        ...(conditions.length > 0 && { conditions }),
        object: included(object, options.includeObject),
      };
    }),
  };
}

function included(object: ApiObject, include: IncludeObject): unknown {
  if (include === "Object") return object;
  // The bookmark that ends the initial events is identified by its annotation, which must be kept.
  if (include === "None" && !endsInitialEvents(object)) return null;
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: object.metadata };
}

function endsInitialEvents(object: ApiObject): boolean {
  const annotations = object.metadata.annotations as Record<string, string> | undefined;
  return annotations?.["k8s.io/initial-events-end"] === "true";
}
