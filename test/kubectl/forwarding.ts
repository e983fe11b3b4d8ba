import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { after, before, test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { dial, echoes, forwardedPorts, received, servers } from "./forwarded.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { pod, run } from "./pods.ts";
import { transports } from "./transports.ts";

const connections = 100;
/** The amount of data of all connections together, each way; 100 MiB per connection take minutes. */
const mebibytes = Number(process.env.FORWARD_MIB ?? 100);

/** kubectl port-forward. */
export function forwarding(setup: KubectlSetup): void {
  describeInNamespace(
    setup,
    "forwarding",
    (kubectl) => {
      let inPod: ChildProcess | undefined;
      before(async () => {
        const [uid = ""] = await run(kubectl(), pod("serves"));
        inPod = await setup.node.inNetworkOf(uid, [process.execPath, "-e", servers]);
        await new Promise((resolve) => inPod?.stdout?.once("data", resolve));
      });
      after(() => inPod?.kill());

      for (const { by, env } of transports) {
        const forward = () =>
          kubectl().start(["port-forward", "serves", ":8080", ":8081", ":8082", ":8099"], { env });

        test(`over ${by}: ${connections} concurrent connections transfer ${mebibytes} MiB each way unchanged`, async (t) => {
          const running = forward();
          const portOf = await forwardedPorts(running);
          const began = Date.now();
          const each = Math.floor((mebibytes * 2 ** 20) / connections);
          await Promise.all([...Array(connections).keys()].map((seed) => echoes(portOf(8080), seed, each)));
          t.diagnostic(`${Math.round((2000 * mebibytes) / (Date.now() - began))} MiB/s both ways together`);
          await running.stop();
        });

        test(`over ${by}: after a half-close the other side may still send`, async () => {
          const running = forward();
          const portOf = await forwardedPorts(running);
          // containerd closes the connection half a second after one side has closed; a slow client reconnects.
          await waitFor(async () => {
            const client = dial(portOf(8081));
            client.end("?");
            assert.equal((await received(client)).length, 1 << 20);
            client.destroy();
          });
          await running.stop();
        });

        test(`over ${by}: broken connections do not affect others`, async () => {
          const running = forward();
          const portOf = await forwardedPorts(running);
          const stays = dial(portOf(8080));
          const all = received(stays);
          stays.write("before ");
          for (let i = 0; i < 20; i++) {
            const breaks = dial(portOf(8080));
            breaks.write(Buffer.alloc(1 << 20));
            await new Promise((resolve) => breaks.once("data", resolve));
            breaks.resetAndDestroy();
          }
          await echoes(portOf(8080), 1, 1 << 20);
          stays.end("after");
          assert.equal((await all).toString(), "before after");
          await running.stop();
        });

        test(`over ${by}: a port without a listener is reported`, async () => {
          const running = forward();
          const portOf = await forwardedPorts(running);
          const refused = dial(portOf(8099));
          refused.write("?");
          assert.equal((await received(refused)).length, 0);
          // kubectl closes all of its connections in this case.
          assert.equal(await running.exited, 1);
          assert.match(running.stderr, /connection refused.*lost connection to pod/s);
        });
      }

      test("a pod that does not exist, or does not run, is reported", async () => {
        const k = kubectl();
        assert.match(await k.fails(["port-forward", "nobody", ":8080"]), /pods "nobody" not found/);
        await k.ok(["create", "-f", "-"], {
          input: pod("pends", { spec: { nodeSelector: { no: "node" } } }),
        });
        assert.match(
          await k.fails(["port-forward", "pends", ":8080", "--pod-running-timeout=1s"]),
          /pod is not running|timed out/,
        );
      });
    },
    "parallel",
  );
}
