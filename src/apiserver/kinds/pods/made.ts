import { success } from "../../rest/status.ts";
import type { ApiObject } from "../../storage/object.ts";

/** The answer of an action that makes nothing to look at. */
export function made(): ApiObject {
  const { details: _none, ...status } = success({}, 201);
  return status as unknown as ApiObject;
}
