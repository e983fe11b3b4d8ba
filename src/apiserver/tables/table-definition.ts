import { since } from "../../lib/base/human-duration.ts";
import { type ApiObject, typed } from "../storage/object.ts";

export type Cell = string | number | boolean;

export interface ColumnDefinition {
  readonly name: string;
  readonly type: "string" | "integer" | "boolean" | "date";
  /** "name" marks the column with the object's name. */
  readonly format: string;
  readonly description: string;
  /** Other than 0: shown with `-o wide` only. */
  readonly priority: number;
}

export interface RowCondition {
  readonly type: "Completed";
  readonly status: "True";
  readonly reason: string;
  readonly message: string;
}

/** A column and its cell value, so that a row is always as wide as its header. */
export interface Column<View> {
  readonly definition: ColumnDefinition;
  cell(view: View, now: number): Cell;
}

/** The columns and rows of one kind. */
export interface TableDefinition {
  readonly columns: readonly ColumnDefinition[];
  row(object: ApiObject, now: number): readonly Cell[];
  conditions?(object: ApiObject): readonly RowCondition[];
}

/** The metadata that columns show. */
export interface Named {
  readonly metadata: {
    readonly name: string;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

interface ColumnOptions {
  readonly type?: ColumnDefinition["type"];
  readonly format?: string;
  readonly wide?: boolean;
}

export function column<View>(
  name: string,
  description: string,
  cell: (view: View, now: number) => Cell,
  options: ColumnOptions = {},
): Column<View> {
  const { type = "string", format = "", wide = false } = options;
  return { definition: { name, type, format, description, priority: wide ? 1 : 0 }, cell };
}

export const nameColumn: Column<Named> = column("Name", "The name of the object.", (o) => o.metadata.name, {
  format: "name",
});

export const ageColumn: Column<Named> = column("Age", "How long ago the object was created.", (o, now) =>
  since(o.metadata.creationTimestamp, now),
);

/** A table whose columns read the object itself. */
export function tableDefinition<View extends object>(columns: readonly Column<View>[]): TableDefinition {
  return viewTableDefinition((object) => typed<View>(object), columns);
}

/** A table whose view is computed once per row and shared by its columns. */
export function viewTableDefinition<View>(
  view: (object: ApiObject) => View,
  columns: readonly Column<View>[],
): TableDefinition {
  return {
    columns: columns.map((each) => each.definition),
    row(object, now) {
      const seen = view(object);
      return columns.map((each) => each.cell(seen, now));
    },
  };
}
