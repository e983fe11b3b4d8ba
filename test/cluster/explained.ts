import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { explainCommand } from "../../src/cli/explain-command.ts";
import type { PodExplanation } from "../../src/kubelet/explain/pod-explanation.ts";
import type { Explanations } from "../../src/kubelet/explain/pod-explanations.ts";
import { waitFor } from "../e2e/wait-for.ts";

/** Runs `kubelet explain` for the agent with this root directory, in this process. */
export function explained(rootDir: string) {
  const run = async (...args: string[]) => {
    let text = "";
    const out = new Writable({
      write(chunk, _, done) {
        text += chunk;
        done();
      },
    });
    await explainCommand([...args, "--root-dir", rootDir], out);
    return text;
  };
  const all = async (...args: string[]) => JSON.parse(await run(...args, "-o", "json")) as Explanations;
  /** Waits until the explanation of the pod passes the check. */
  const waitForPod = (name: string, check: (pod: PodExplanation) => void, withinMs = 15_000) =>
    waitFor(async () => {
      const { pods } = await all(name);
      assert.equal(pods.length, 1);
      const pod = pods[0]!;
      try {
        check(pod);
      } catch (error) {
        throw new Error(`${(error as Error).message}\n${JSON.stringify(pod, undefined, 1)}`);
      }
      return pod;
    }, withinMs);
  /** Waits until the pod waits for this. */
  const waits = (name: string, step: string, text: RegExp, withinMs?: number) =>
    waitForPod(
      name,
      ({ waitsFor }) => {
        assert.equal(waitsFor?.step, step);
        assert.match(waitsFor?.text ?? "", text);
      },
      withinMs,
    );
  return { run, all, waitForPod, waits };
}
