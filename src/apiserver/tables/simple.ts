import { column, type Named, nameColumn, tableDefinition } from "./table-definition.ts";

/** For kinds without a table of their own. */
export const simpleTable = tableDefinition<Named>([
  nameColumn,
  column(
    "Created At",
    "When the object was created.",
    (o) => {
      const created = Date.parse(o.metadata.creationTimestamp ?? "");
      if (Number.isNaN(created)) return "0001-01-01T00:00:00Z";
      return new Date(created).toISOString().replace(/\.\d+Z$/, "Z");
    },
    { type: "date" },
  ),
]);
