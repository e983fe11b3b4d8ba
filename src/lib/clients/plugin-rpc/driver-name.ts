import { KubeletError } from "../../base/errors.ts";
import { driverName } from "../../base/name-rules.ts";
import { maxErrorLength, shortened } from "./shortened.ts";

/** Throws unless a driver may have this name: it is part of objects, paths and metrics, and kept as long as the driver is registered. */
export function requireDriverName(name: string): void {
  const problems = driverName(name);
  if (problems.length === 0) return;
  const shown = JSON.stringify(shortened(name, maxErrorLength));
  throw new KubeletError("DriverName", `invalid driver name ${shown}: ${problems.join(", ")}`);
}
