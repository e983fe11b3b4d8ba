import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Bench, describeIn } from "./bench.ts";
import { pod, run, says } from "./pods.ts";

/** What goes through the API to the node and into containers. */
export function streaming(bench: Bench): void {
  describeIn(bench, "streaming", (at) => {
    test("logs of one that runs, of one that has ended, by line and by time", async () => {
      const k = at();
      await run(
        k,
        pod("talks", { container: { command: ["sh", "-c", "echo one; echo two; echo three; sleep 1000"] } }),
      );
      assert.equal(await k.ok(["logs", "talks"]), "one\ntwo\nthree\n");
      assert.equal(await k.ok(["logs", "talks", "--tail=1"]), "three\n");
      assert.match(
        await k.ok(["logs", "talks", "--tail=1", "--timestamps"]),
        /^\d{4}-\d\d-\d\dT.*Z three\n$/,
      );
      await k.ok(["create", "-f", "-"], { input: says("spoke", "echo the end; exit 0") });
      await k.ok(["wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/spoke", "--timeout=60s"]);
      assert.equal(await k.ok(["logs", "spoke", "-f"]), "the end\n");
      assert.match(await k.refused(["logs", "nobody"]), /pods "nobody" not found/);
    });

    test("exec: output, standard input, and how it ended", async () => {
      const k = at();
      await run(k, pod("worked"));
      assert.equal(await k.ok(["exec", "worked", "--", "echo", "hello"]), "hello\n");
      const { status, stdout, stderr } = await k.type([
        "exec",
        "worked",
        "--",
        "sh",
        "-c",
        "echo a; echo b >&2; exit 7",
      ]);
      assert.deepEqual([status, stdout], [7, "a\n"]);
      assert.match(stderr, /^b\n/);
      assert.equal(
        await k.ok(["exec", "-i", "worked", "--", "cat"], { input: "from outside" }),
        "from outside",
      );
    });

    test("cp into a container and out of it", async () => {
      const k = at();
      await run(k, pod("copied"));
      const from = k.file("sent.txt", "x".repeat(200_000));
      await k.ok(["cp", from, "copied:/tmp/sent.txt"]);
      const back = join(from, "..", "back.txt");
      await k.ok(["cp", "copied:/tmp/sent.txt", back]);
      assert.equal(readFileSync(back, "utf8"), readFileSync(from, "utf8"));
    });

    test("top tells what pods and the node take", async () => {
      const k = at();
      await run(k, pod("measured"));
      assert.match(await k.ok(["top", "pod", "measured"]), /^NAME .*\nmeasured +\d+m +\d+Mi/);
      assert.match(await k.ok(["top", "node"]), /^NAME .*\n\S+ +\d+m +\d+% +\d+Mi +\d+%/);
    });
  });
}
