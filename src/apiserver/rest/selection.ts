import type { Unstructured } from "../definition.ts";
import { selectableFields } from "../selectors/field-labels.ts";
import { matchesFields, parseFieldSelector, requiredField } from "../selectors/field-selector.ts";
import { type Labels, matchesLabels } from "../selectors/label-selector.ts";
import { parseLabelSelector } from "../selectors/parse-labels.ts";
import type { Scope } from "../storage/change-event.ts";
import type { ApiObject } from "../storage/object.ts";
import { fromStored, type Served } from "./catalog.ts";
import { badRequest } from "./problems.ts";

export interface Selected {
  /** "" for all namespaces. */
  readonly namespace: string;
  /** The name in the path, if it has one. */
  readonly name: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
}

/** The objects that a list, a watch or a deletecollection selects. */
export function selection(served: Served, selected: Selected): Scope {
  const { namespace, name } = selected;
  const { kind } = served.definition;
  const labels = parseLabelSelector(selected.labelSelector);
  const fields = parseFieldSelector(selected.fieldSelector, served.apiVersion, kind);
  const required = requiredField(fields, "metadata.name");
  if (name !== "" && fields.length > 0 && required !== name)
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  const only = name || required;
  // The store looks up a single name itself.
  const byFields = fields.length > (required === undefined ? 0 : 1);
  const byLabels = labels === "nothing" || labels.length > 0;
  const matches = (object: ApiObject): boolean => {
    if (byLabels && !matchesLabels(labels, object.metadata.labels as Labels | undefined)) return false;
    if (!byFields) return true;
    return matchesFields(fields, selectableFields(served.apiVersion, kind, inServedForm(served, object)));
  };
  return {
    resource: served.storedAs,
    ...(namespace !== "" && { namespace }),
    ...(only !== undefined && only !== "" && { name: only }),
    ...((byLabels || byFields) && { matches }),
  };
}

function inServedForm(served: Served, object: ApiObject): ApiObject {
  if (!served.conversion) return object;
  const copy: Unstructured = structuredClone(object);
  fromStored(served, copy);
  return copy;
}

/** The name with which a list or watch is authorized. It comes from a metadata.name selector. */
export function nameInSelector(fieldSelector: string): string {
  const found = /(?:^|,)metadata\.name==?([^,=\\]+)(?:,|$)/.exec(fieldSelector);
  return found?.[1] ?? "";
}
