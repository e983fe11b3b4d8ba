import { silentLogger } from "../../../lib/base/logger.ts";
import { changeOf, decodeJson, podManifest, seeded } from "./fake-manifests.ts";
import { ManifestStore } from "./manifest-store.ts";

// A process that sends changes until it is killed, and prints each acknowledged one. For tests:
// fake-put-process.ts DIR SEED
const [dir = "", seed = ""] = process.argv.slice(2);
const store = new ManifestStore({ dir, decode: decodeJson, logger: silentLogger });
await store.open();
const random = seeded(Number(seed));
for (let version = 1; ; version++) {
  const change = changeOf(random, version);
  if (change.version === undefined) await store.remove(change.name);
  else await store.put(change.name, podManifest(change.name, `img:${change.version}`));
  process.stdout.write(".");
}
