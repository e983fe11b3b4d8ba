import { PullRecords } from "../../src/kubelet/pods/images/records/pull-records.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";

/** Pulls one image at a time, and prints each pulled one, until it is killed: `pull-records.test.ts` starts it. */
const [rootDir = ""] = process.argv.slice(2);
const records = new PullRecords({
  rootDir,
  policy: () => true,
  images: { listImages: async () => [] },
  clock: systemClock,
  logger: silentLogger,
});
await records.start(new AbortController().signal);
const source = { kind: "secret", uid: "uid-s", namespace: "default", name: "s" } as const;
async function pull(n: number): Promise<void> {
  const image = `r.io/i${n}`;
  await records.recordPullIntent(image);
  // From here on the image is on the machine.
  process.stdout.write(`${n}\n`);
  await records.recordImagePulled({ image, imageRef: `id-${n}` }, { username: "u", password: "s", source });
}
for (let n = 0; n < 10_000; n += 3) await Promise.all([pull(n), pull(n + 1), pull(n + 2)]);
