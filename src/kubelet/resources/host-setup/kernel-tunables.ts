import { errnoOf, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Sysctls } from "../../../lib/host/sysctls.ts";

/** Kernel settings that containers rely on, by their path below /proc/sys. */
const expected: Readonly<Record<string, number>> = {
  /** Memory is overcommitted: limits and evictions decide, not the kernel at allocation. */
  "vm/overcommit_memory": 1,
  /** An out-of-memory condition kills a process, not the machine. */
  "vm/panic_on_oom": 0,
  /** Seconds until a machine whose kernel has panicked reboots. */
  "kernel/panic": 10,
  "kernel/panic_on_oops": 1,
  /** Runtimes create a key for each container. */
  "kernel/keys/root_maxkeys": 1_000_000,
  "kernel/keys/root_maxbytes": 25_000_000,
};

const inUserNamespaceHint =
  "running in a user namespace; the feature gate KubeletInUserNamespace ignores the error";

/** The action for a setting that differs. */
export type TunableBehavior = "modify" | "fail" | "warn";

/** In a user namespace, the settings of the machine cannot be changed: an error unless the gate KubeletInUserNamespace is on. */
export type UserNamespaceSupport = "not in one" | "off" | "on";

/** All settings are checked before the first failure is reported. A setting that this kernel does not have is skipped. */
export async function ensureKernelTunables(
  behavior: TunableBehavior,
  o: { sysctls: Sysctls; logger: Logger; userNamespace: UserNamespaceSupport },
): Promise<void> {
  const { sysctls, logger } = o;
  const failures: string[] = [];
  const update = async (flag: string, value: number) => {
    try {
      await sysctls.set(flag, value);
    } catch (error) {
      if (o.userNamespace === "not in one") throw error;
      if (o.userNamespace === "off")
        throw new KubeletError("KernelTunables", `${messageOf(error)} (${inUserNamespaceHint})`, {
          cause: error,
        });
      logger.debug(2, "Updating kernel flag failed (running in UserNS, ignoring)", {
        flag,
        err: messageOf(error),
      });
    }
  };
  for (const [flag, expectedValue] of Object.entries(expected)) {
    try {
      const actualValue = await sysctls.get(flag);
      if (actualValue === expectedValue) continue;
      const fields = { flag, expectedValue, actualValue };
      if (behavior === "fail")
        failures.push(
          `invalid kernel flag: ${flag}, expected value: ${expectedValue}, actual value: ${actualValue}`,
        );
      else if (behavior === "warn") logger.warn("Invalid kernel flag", fields);
      else {
        logger.debug(2, "Updating kernel flag", fields);
        await update(flag, expectedValue);
      }
    } catch (error) {
      if (errnoOf(error) === "ENOENT") logger.debug(2, "Kernel does not have this flag", { flag });
      else failures.push(`kernel flag ${flag}: ${messageOf(error)}`);
    }
  }
  if (failures.length === 0) return;
  throw new KubeletError("KernelTunables", failures.length === 1 ? failures[0]! : `[${failures.join(", ")}]`);
}
