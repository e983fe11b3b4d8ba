import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Bench, type ContractRuntime } from "./bench.ts";
import { containerContract } from "./container-contract.ts";
import { eventContract } from "./event-contract.ts";
import { imageContract } from "./image-contract.ts";
import { insideContract } from "./inside-contract.ts";
import { missingContract } from "./missing-contract.ts";
import { sandboxContract } from "./sandbox-contract.ts";

export type { ContractRuntime } from "./bench.ts";

/** What the agent relies on, whatever the runtime. Real runtimes and the fake pass the same suite. */
export function describeRuntimeContract(name: string, setup: () => Promise<ContractRuntime>): void {
  describe(`CRI contract: ${name}`, () => {
    const bench = new Bench();
    before(() => bench.open(setup));
    after(() => bench.close());

    it("returns its name and that it is ready", async () => {
      const version = await bench.client.version();
      assert.notEqual(version.runtimeName, "");
      assert.equal(version.runtimeApiVersion, "v1");
      const { status } = await bench.client.status(false);
      assert.equal(status?.conditions.find(({ type }) => type === "RuntimeReady")?.status, true);
      assert.ok(status?.conditions.some(({ type }) => type === "NetworkReady"));
    });

    sandboxContract(bench);
    containerContract(bench);
    insideContract(bench);
    missingContract(bench);
    imageContract(bench);
    eventContract(bench);
  });
}
