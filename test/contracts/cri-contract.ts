import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { containerContract } from "./container-contract.ts";
import { ContractPods, type ContractRuntime } from "./contract-pods.ts";
import { eventContract } from "./event-contract.ts";
import { imageContract } from "./image-contract.ts";
import { insideContract } from "./inside-contract.ts";
import { missingContract } from "./missing-contract.ts";
import { sandboxContract } from "./sandbox-contract.ts";

export type { ContractRuntime } from "./contract-pods.ts";

/** The behavior of all runtimes that the agent relies on. Real runtimes and the fake pass the same suite. */
export function describeRuntimeContract(name: string, setup: () => Promise<ContractRuntime>): void {
  describe(`CRI contract: ${name}`, () => {
    const pods = new ContractPods();
    before(() => pods.open(setup));
    after(() => pods.close());

    it("returns its name and its ready condition", async () => {
      const version = await pods.client.version();
      assert.notEqual(version.runtimeName, "");
      assert.equal(version.runtimeApiVersion, "v1");
      const { status } = await pods.client.status(false);
      assert.equal(status?.conditions.find(({ type }) => type === "RuntimeReady")?.status, true);
      assert.ok(status?.conditions.some(({ type }) => type === "NetworkReady"));
    });

    sandboxContract(pods);
    containerContract(pods);
    insideContract(pods);
    missingContract(pods);
    imageContract(pods);
    eventContract(pods);
  });
}
