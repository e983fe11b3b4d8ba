/** The slowest test files, the slowest first. They start first, so that none of them runs alone at the end. The reporter prints the time of each file. */
export const slowest = [
  "test/faults/kill-agent.test.ts",
  "test/kubectl/kubectl-1.32.test.ts",
  "test/kubectl/kubectl-1.36.test.ts",
  "test/machine/network-volumes.test.ts",
  "test/machine/swap-app-armor.test.ts",
  "test/machine/pressure.test.ts",
  "test/eviction/pressure.test.ts",
  "test/machine/pod-limits.test.ts",
  "test/machine/node-shutdown.test.ts",
  "test/machine/systemd-driver.test.ts",
  "test/machine/packages.test.ts",
  "test/faults/pod-lifecycle.property.test.ts",
  "test/cluster/watch-disconnect.property.test.ts",
  "test/cluster/certificates.test.ts",
  "test/csi/agent.test.ts",
  "test/packages/reproducible.test.ts",
  "test/machine/resize.test.ts",
  "test/devices/kill-plugins.test.ts",
  "test/machine/pod-values.test.ts",
  "test/dra/kill-rounds.test.ts",
  "test/cluster/outage-real.test.ts",
  "test/e2e/agent.test.ts",
  "test/faults/runtime-outage.test.ts",
  "test/faults/applied-manifests.test.ts",
  "test/cluster/kill-cluster.test.ts",
  "test/cluster/restart-real.test.ts",
  "test/e2e/cli.test.ts",
  "test/e2e/probes.test.ts",
];

export function slowestFirst(jobs) {
  const rank = ({ files }) => {
    const at = Math.min(...files.map((file) => slowest.indexOf(file)).filter((index) => index >= 0));
    return Number.isFinite(at) ? at : slowest.length;
  };
  return jobs.toSorted((a, b) => rank(a) - rank(b));
}
