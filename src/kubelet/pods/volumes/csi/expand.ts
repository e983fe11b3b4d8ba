import { isAbort, messageOf } from "../../../../lib/base/errors.ts";
import { wholeUnits } from "../../../../lib/model/quantity.ts";
import { ExpansionError } from "../persistent/volume-expander.ts";
import type { VolumeSpec } from "../volume-plugin.ts";
import type { AccessType } from "./csi-client.ts";
import type { CsiDeps } from "./csi-deps.ts";
import { codeOf, isFinalError } from "./csi-failure.ts";
import { accessModeOf, type PersistentCsiSource, persistentSourceOf, type StringMap } from "./source.ts";

export interface ExpandRequest {
  readonly spec: VolumeSpec;
  /** The path of the volume for a pod. */
  readonly volumePath: string;
  readonly stagingPath: string;
  /** A quantity: "2Gi". */
  readonly size: string;
}

const infeasible = new Set(["INVALID_ARGUMENT", "OUT_OF_RANGE", "NOT_FOUND"]);

/** Expands the filesystem or the device on this node. Throws an ExpansionError. */
export async function expandVolume(
  deps: CsiDeps,
  request: ExpandRequest,
  signal: AbortSignal,
): Promise<void> {
  const { spec, volumePath, stagingPath, size } = request;
  const source = persistentSourceOf(spec);
  if (!source) throw new ExpansionError("failed", "Expander.NodeExpand failed to get CSI persistent source");
  const { client, capabilities, secrets } = await prepared(deps, source, signal);
  if (!capabilities.expands) {
    const message = `NodeExpand is not supported by the CSI driver ${source.driver}`;
    throw new ExpansionError("not-supported", message);
  }
  const accessType: AccessType =
    spec.persistent?.mode === "Block"
      ? { kind: "block" }
      : { kind: "mount", fsType: source.fsType, options: source.mountOptions, group: undefined };
  const { handle } = source;
  const accessMode = accessModeOf(source);
  const bytes = wholeUnits(size);
  try {
    const call = { handle, accessMode, accessType, capabilities, secrets, volumePath, stagingPath, bytes };
    await client.expand(call, signal);
  } catch (error) {
    if (isAbort(error)) throw error;
    throw toExpansionError(error);
  }
}

/** A missing driver or secret does not make the size infeasible: an earlier expansion may still be in progress. */
async function prepared(deps: CsiDeps, source: PersistentCsiSource, signal: AbortSignal) {
  try {
    const client = deps.drivers.client(source.driver);
    const capabilities = await client.capabilities(signal);
    const secrets: StringMap = source.expandSecret ? await deps.secrets.get(source.expandSecret, signal) : {};
    return { client, capabilities, secrets };
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ExpansionError("uncertain", `${failed} : ${messageOf(error)}`, { cause: error });
  }
}

const failed = "Expander.NodeExpand failed to expand the volume";

function toExpansionError(error: unknown): ExpansionError {
  const code = codeOf(error) ?? "";
  const text = messageOf(error);
  if (code === "FAILED_PRECONDITION")
    return new ExpansionError("in-use", `${failed} : ${text}`, { cause: error });
  if (infeasible.has(code)) return new ExpansionError("infeasible", `${failed} ${text}`, { cause: error });
  const kind = isFinalError(error) ? "failed" : "uncertain";
  return new ExpansionError(kind, `${failed} : ${text}`, { cause: error });
}
