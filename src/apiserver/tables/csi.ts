import type { CSIDriver, CSINode } from "../../lib/gen/kubernetes/storage.d.ts";
import { ageColumn, column, type Named, nameColumn, tableDefinition } from "./table-definition.ts";

const flag = { type: "boolean" } as const;

export const csiDriverTable = tableDefinition<CSIDriver & Named>([
  nameColumn,
  column(
    "AttachRequired",
    "Whether volumes are attached before they are mounted.",
    (o) => o.spec?.attachRequired ?? true,
    flag,
  ),
  column(
    "PodInfoOnMount",
    "Whether pod information is passed to the driver.",
    (o) => o.spec?.podInfoOnMount ?? false,
    flag,
  ),
  column(
    "StorageCapacity",
    "Whether the driver reports its storage capacity.",
    (o) => o.spec?.storageCapacity ?? false,
    flag,
  ),
  column(
    "TokenRequests",
    "The audiences of the tokens that the driver is given.",
    (o) => o.spec?.tokenRequests?.map((request) => request.audience).join(",") ?? "<unset>",
  ),
  column(
    "RequiresRepublish",
    "Whether NodePublishVolume is called periodically.",
    (o) => o.spec?.requiresRepublish ?? false,
    flag,
  ),
  column(
    "Modes",
    "Whether volumes are persistent, ephemeral or both.",
    (o) => o.spec?.volumeLifecycleModes?.join(",") || "<none>",
  ),
  ageColumn,
]);

export const csiNodeTable = tableDefinition<CSINode & Named>([
  nameColumn,
  column("Drivers", "The number of drivers registered on the node.", (o) => o.spec?.drivers?.length ?? 0, {
    type: "integer",
  }),
  ageColumn,
]);
