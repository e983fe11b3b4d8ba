import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { freePort } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { StandaloneAgent } from "./standalone-agent.ts";

const agent = await StandaloneAgent.create();
after(() => agent.destroy());

test("/healthz?verbose shows an unreadable manifest directory, and /healthz is still ok", async () => {
  const blocked = join(agent.dir, "blocked");
  await writeFile(blocked, "not a directory");
  const port = await freePort();
  const seconds = "--file-check-frequency=1s";
  agent.start([`--healthz-port=${port}`, `--pod-manifest-path=${join(blocked, "manifests")}`, seconds]);
  await agent.ready();
  const health = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: response.status, body: await response.text() };
  };
  const verbose = () => health("/healthz?verbose");
  await waitFor(async () =>
    assert.match((await verbose()).body, /^\[i\]pod-config not healthy: file: cannot read /m),
  );
  assert.equal((await verbose()).status, 200);
  assert.match((await verbose()).body, /\nhealthz check passed\n$/);
  assert.deepEqual(await health("/healthz"), { status: 200, body: "ok" });
  assert.equal(
    (await health("/healthz/pod-config")).status,
    404,
    "a component without a check has an endpoint",
  );
  await rm(blocked);
  await mkdir(join(blocked, "manifests"), { recursive: true });
  await waitFor(async () => assert.match((await verbose()).body, /^\[i\]pod-config ok$/m));
});
