import assert from "node:assert/strict";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { http1, http2 } from "../../src/kubelet/server/auth/fake-clients.ts";
import { send, testAuthority, testPair } from "../../src/kubelet/server/fixtures.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { GuardedNode } from "./guarded-node.ts";

let node: GuardedNode;
let stop: () => Promise<void>;
before(async () => {
  ({ node, stop } = await GuardedNode.start());
});
after(() => stop?.());

const path = "/pods";
const other = testAuthority("other");
const otherAdmin = testPair(other, "admin");

/** Replaces clientCAFile, as an operator would, and waits until new connections show that the agent has read it. */
async function replaceBundle(...authorities: readonly (typeof other)[]): Promise<void> {
  const file = join(node.cluster.dir, "ca.crt");
  writeFileSync(`${file}.new`, `# edited\n${authorities.map(({ certificate }) => certificate).join("")}`);
  renameSync(`${file}.new`, file);
  for (const [authority, pair] of [
    [node.ca, node.admin],
    [other, otherAdmin],
  ] as const) {
    const expected = authorities.includes(authority) ? 200 : 401;
    await waitFor(
      async () => assert.equal((await send(node.port, path, { ...pair })).status, expected),
      150_000,
    );
  }
}

for (const protocol of [http1, http2])
  describe(`clientCAFile of a running agent, ${protocol.name}`, { timeout: 600_000 }, () => {
    for (const count of [0, 1])
      test(`a certificate of a removed CA is rejected on an open connection after ${count} requests`, async () => {
        await replaceBundle(node.ca);
        const client = await protocol(node.port, node.admin);
        for (let i = 0; i < count; i++) assert.equal(await client.get(path), 200);
        await replaceBundle(other);
        assert.notEqual(await client.get(path), 200);
        client.end();
      });

    test("a certificate with an intermediate still works after an unrelated edit", async () => {
      const intermediate = testAuthority("intermediate", node.ca);
      const chained = testPair(intermediate, "admin", { chain: intermediate.certificate });
      await replaceBundle(node.ca);
      const client = await protocol(node.port, chained);
      assert.equal(await client.get(path), 200);
      await replaceBundle(other, node.ca);
      assert.equal(await client.get(path), 200);
      client.end();
      node.assertHealthy();
    });
  });

// parity: gate ReloadKubeletClientCAFile=true, gate ReloadKubeletClientCAFile=false
test("without ReloadKubeletClientCAFile the CAs are those of the start", { timeout: 300_000 }, async () => {
  const featureGates = { ReloadKubeletClientCAFile: false };
  const { node: fixed, stop: stopFixed } = await GuardedNode.start({ featureGates });
  try {
    await replaceBundle(node.ca);
    writeFileSync(join(fixed.cluster.dir, "ca.crt"), other.certificate);
    // The node that reloads is the clock: when it has read its new file, the other one had as much time.
    await replaceBundle(other);
    assert.equal((await send(fixed.port, path, { ...fixed.admin })).status, 200);
    assert.equal((await send(fixed.port, path, { ...otherAdmin })).status, 401);
  } finally {
    await stopFixed();
  }
});
