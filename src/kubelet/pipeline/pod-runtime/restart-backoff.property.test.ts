import { unaffectedByJumps } from "../../../../test/builders/clock-jumps.ts";
import { anObservedContainer } from "../../../../test/builders/pods.ts";
import type { FakeClock } from "../../../lib/base/fake-clock.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { ObservedContainer } from "../../state/observed-pods.ts";
import { RestartBackoff } from "./restart-backoff.ts";

/** A container that exits after this time in each run, and is checked every half second until it may start again. */
async function restarts(clock: FakeClock, how: "crashed" | "replaced", runsMs: number) {
  const backoff = new RestartBackoff(clock, 60_000);
  const startedAt: number[] = [];
  let previous: ObservedContainer | undefined;
  for (let attempt = 0; attempt < 7; attempt++) {
    startedAt.push(clock.elapsedMs);
    const started = clock.wall();
    await clock.advance(runsMs);
    const id = `a#${attempt}` as ContainerId;
    const exited = anObservedContainer("a", {
      id,
      state: "exited",
      attempt,
      startedAt: started,
      finishedAt: clock.wall(),
    });
    if (how === "replaced") backoff.replacing("u" as PodUid, exited, previous);
    for (let i = 0; i < 200 && backoff.restartAt("u/a/", exited) !== undefined; i++) await clock.advance(500);
    backoff.restarted("u/a/", exited);
    previous = exited;
  }
  return startedAt;
}

unaffectedByJumps("the restarts of a container that crashes", 160_000, (clock) =>
  restarts(clock, "crashed", 2000),
);
unaffectedByJumps("the restarts of a container that a probe has killed", 200_000, (clock) =>
  restarts(clock, "replaced", 10_000),
);
