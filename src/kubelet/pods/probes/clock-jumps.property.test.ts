import { unaffectedByJumps } from "../../../../test/builders/clock-jumps.ts";
import { probe, startProbedPod } from "./fake-probed-pod.ts";

unaffectedByJumps(
  "probes and their results",
  150_000,
  async (clock) => {
    const pod = await startProbedPod(
      {
        containers: [
          {
            startupProbe: probe({ initialDelaySeconds: 5, periodSeconds: 3, failureThreshold: 10 }),
            livenessProbe: probe({ initialDelaySeconds: 10, failureThreshold: 2 }),
            readinessProbe: probe({ periodSeconds: 7 }),
          },
          { readinessProbe: probe({ initialDelaySeconds: 40 }) },
        ],
      },
      { clock },
    );
    // The first container starts late, is not ready for a while, and is killed and replaced once.
    pod.failWhile((kind) => {
      const seconds = clock.elapsedMs / 1000;
      if (kind === "startup") return seconds < 20;
      return kind === "liveness" ? seconds > 60 && seconds < 85 : seconds > 30 && seconds < 45;
    });
    const recorded: string[] = [];
    pod.setContainer("c0#1", "running");
    pod.setContainer("c1#1", "running");
    for (let second = 1; second <= 150; second++) {
      await clock.advance(1000);
      if (second === 90) pod.setContainer("c0#2", "running");
      recorded.push(...pod.takeAttempts(), ...pod.changes.splice(0));
    }
    pod.stop.abort();
    return recorded;
  },
  { numRuns: 15 },
);
