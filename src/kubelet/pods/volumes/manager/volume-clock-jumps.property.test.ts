import { unaffectedByJumps } from "../../../../../test/builders/clock-jumps.ts";
import { FakeVolumeHost, podWithVolumes } from "./fake-volumes.ts";

unaffectedByJumps(
  "the operations and timeouts of the volume manager",
  400_000,
  async (clock) => {
    const host = new FakeVolumeHost(clock);
    const recorded: string[] = [];
    const stop = new AbortController();
    const manager = host.manager({
      plugins: [host.plugin("own", { requiresRemount: true }), host.plugin("shared")],
      nodePods: { phaseOf: () => "syncing" },
    });
    await manager.start(stop.signal);
    host.behavior.set("fake/own/a-x", { failures: 6 });
    host.behavior.set("fake/shared/pv-one", { hangs: true });
    const pod = podWithVolumes("a", ["x", "y"], ["one"]);
    void manager.waitFor(pod, stop.signal).then(
      () => recorded.push(`${clock.elapsedMs} mounted`),
      () => recorded.push(`${clock.elapsedMs} not mounted`),
    );
    let calls = 0;
    for (let second = 0; second < 400; second++) {
      if (second === 200) host.behavior.delete("fake/shared/pv-one");
      // As the sync of a pod does, about once a minute.
      if (second % 45 === 44) manager.register(pod);
      await clock.advance(1000);
      for (; calls < host.calls.length; calls++) recorded.push(`${clock.elapsedMs} ${host.calls[calls]}`);
    }
    stop.abort();
    await clock.advance(0);
    return recorded;
  },
  { numRuns: 8 },
);
