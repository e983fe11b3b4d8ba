import { fileURLToPath } from "node:url";

/** Kubelets of tests, and their plugins, use the root directory: the directory of the machine belongs to its own kubelet. */
process.env.KUBELET_TS_DEVICE_PLUGINS = "root-dir";

/**
 * The file that Node.js runs as the kubelet. `npm test` builds the bundles first and sets the variable: they start with a quarter of
 * the CPU time, and are what users run. A test file that is run directly tests the sources, which are never older than the change
 * under test.
 */
export const kubeletProgram =
  process.env.KUBELET_TS_TEST_PROGRAM ?? fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));
