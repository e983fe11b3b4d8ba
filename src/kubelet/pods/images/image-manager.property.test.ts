import { unaffectedByJumps } from "../../../../test/builders/clock-jumps.ts";
import { aContainer, aPod } from "../../../../test/builders/pods.ts";
import { KubeletError } from "../../../lib/base/errors.ts";
import { ImageManager } from "./image-manager.ts";

unaffectedByJumps(
  "failing pulls of an image and their back-off",
  500_000,
  async (clock) => {
    const recorded: string[] = [];
    const images = new ImageManager({
      images: {
        imageStatus: async () => undefined,
        pullImage: async () => {
          recorded.push(`${clock.elapsedMs} pull`);
          throw new Error("no route to registry");
        },
      },
      clock,
      parallelPulls: 2,
      pullsPerSecond: 1,
      pullBurst: 1,
      events: { normal: () => {}, warning: () => {} },
    });
    const never = new AbortController().signal;
    let last = "";
    for (let i = 0; i < 250; i++) {
      void images
        .ensure(aPod(), aContainer("a", { image: "x:1" }), {}, { signal: never, onPull: () => {} })
        .catch((error: unknown) => {
          const code = error instanceof KubeletError ? error.code : String(error);
          if (code !== last) recorded.push(`${clock.elapsedMs} ${code}`);
          last = code;
        });
      await clock.advance(2000);
    }
    return recorded;
  },
  { numRuns: 10 },
);
