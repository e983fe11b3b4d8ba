import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fixture } from "../../../../test/kube/api-server.ts";
import { FakeClock } from "../../base/fake-clock.ts";
import { metricValues } from "../../base/fixtures.ts";
import { silentLogger } from "../../base/logger.ts";
import { createMetrics } from "../../base/metrics.ts";
import { certificateAuthority, PemFiles } from "./pem-files.ts";
import { requestMetrics } from "./request-metrics.ts";

test("each reload of a CA file is counted with its result", async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "pem-"));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, "ca.pem");
  const clock = new FakeClock();
  const metrics = createMetrics();
  const { caReloaded: onReload } = requestMetrics(metrics, clock);
  const source = { kind: "file", path, field: "certificate-authority" } as const;
  const make = ([pem = ""]: readonly string[]) => certificateAuthority(pem, source.field);
  const files = new PemFiles([source], make, { clock, logger: silentLogger, onReload });
  const reload = async (content: string | undefined) => {
    if (content === undefined) await rm(path);
    else await writeFile(path, content);
    await clock.advance(1000);
    return files.current();
  };
  await reload(fixture("ca.pem"));
  assert.deepEqual(
    await metricValues(metrics, "rest_client_transport_ca_reload_total"),
    {},
    "the first read",
  );
  await reload(fixture("ca.pem"));
  await reload(fixture("other-ca.pem"));
  await reload("no certificate");
  assert.equal(await reload(undefined), fixture("other-ca.pem"), "the last valid value remains in use");
  assert.deepEqual(await metricValues(metrics, "rest_client_transport_ca_reload_total"), {
    "result=success,reason=unchanged": 1,
    "result=success,reason=updated": 1,
    "result=failure,reason=ca_parse_error": 1,
    "result=failure,reason=read_error": 1,
  });
});
