import { success } from "../../rest/status.ts";
import type { ApiObject } from "../../storage/object.ts";

/** The response of an action that creates no object: a Status with code 201. */
export function createdStatus(): ApiObject {
  const { details: _none, ...status } = success({}, 201);
  // Clients of an action expect a Status instead of an object.
  return status as unknown as ApiObject;
}
