import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { demoImage, pod, run } from "./pods.ts";
import { transports } from "./transports.ts";

const echoesLines = ["sh", "-c", 'echo up; while read -r x; do echo "got $x"; done; sleep 1000'];
const image = `--image=${demoImage}`;

/** kubectl attach, and commands that attach: run -i, debug -i. */
export function attaching(setup: KubectlSetup): void {
  describeInNamespace(
    setup,
    "attaching",
    (kubectl) => {
      for (const { by, env } of transports) {
        const named = (name: string) => `${name}-${by.toLowerCase()}`;

        test(`over ${by}: attach -i streams to the container's main process, which keeps running afterwards`, async () => {
          const k = kubectl();
          const name = named("echo");
          const [uid = ""] = await run(k, pod(name, { container: { stdin: true, command: echoesLines } }));
          const attached = k.start(["attach", "-i", name], { env, open: true });
          attached.write("a\n");
          await attached.prints(/^got a$/m);
          const observer = k.start(["attach", name], { env });
          await waitFor(() => {
            attached.write("b\n");
            assert.match(observer.stdout, /^got b$/m);
          });
          attached.child.stdin?.end();
          assert.equal(await attached.exited, 0, attached.stderr);
          await observer.stop();
          assert.equal((await setup.node.running(uid)).length, 1);
          assert.match(await k.ok(["logs", name]), /^up\ngot a\ngot b\n/);
        });

        test(`over ${by}: attach -it resizes the container's terminal with the user's`, async () => {
          const k = kubectl();
          const name = named("terminal");
          await run(k, pod(name, { container: { stdin: true, tty: true, command: ["sh"] } }));
          const attached = k.start(["attach", "-it", name], { env, terminal: true, open: true });
          const until = (size: string) =>
            `until [ "$(stty size 2> /dev/null)" = "${size}" ]; do sleep 0.05; done`;
          attached.write(`${until("24 80")}; echo $((40 + 2))\n`);
          await attached.prints(/^42\r$/m);
          await attached.resize(33, 91);
          attached.write(`${until("33 91")}; echo $((50 + 2))\n`);
          await attached.prints(/^52\r$/m);
          attached.write("exit 0\n");
          assert.equal(await attached.exited, 0, attached.stdout);
        });

        test(`over ${by}: run -i --rm passes standard input, and deletes the pod`, async () => {
          const k = kubectl();
          const name = named("piped");
          const input = `${randomBytes(500_000).toString("hex")}\n`;
          const flags = ["-i", "--rm", "--quiet", "--restart=Never", image];
          const { status, stdout, stderr } = await k.run(["run", name, ...flags, "--", "md5sum"], {
            env,
            input,
          });
          assert.equal(status, 0, stderr);
          assert.equal(stdout.split("\n", 1)[0], `${createHash("md5").update(input).digest("hex")}  -`);
          assert.match(await k.fails(["get", "pod", name]), /NotFound/);
        });

        test(`over ${by}: run -it --rm runs a shell and returns its exit code`, async () => {
          const k = kubectl();
          const name = named("shell");
          const shell = k.start(["run", name, "-it", "--rm", "--restart=Never", image, "--", "sh"], {
            env,
            terminal: true,
            open: true,
          });
          shell.write("echo $((6 * 7))\n");
          await shell.prints(/^42\r$/m);
          shell.write("exit 3\n");
          assert.equal(await shell.exited, 3, shell.stdout);
          assert.match(await k.fails(["get", "pod", name]), /NotFound/);
        });

        test(`over ${by}: debug -it starts a shell that sees the processes of a container`, async () => {
          const k = kubectl();
          const name = named("debugged");
          await run(k, pod(name, { container: { command: ["sh", "-c", "exec sleep 12345"] } }));
          const added = ["-it", image, "--target=c", "--container=tool", "--profile=general"];
          const shell = k.start(["debug", name, ...added, "--", "sh"], { env, terminal: true, open: true });
          shell.write("tr '\\0' ' ' < /proc/1/cmdline; echo\n");
          await shell.prints(/^sleep 12345 \r$/m);
          shell.write("exit 0\n");
          assert.equal(await shell.exited, 0, shell.stdout);
          const exited = "--for=jsonpath={.status.ephemeralContainerStatuses[0].state.terminated.exitCode}=0";
          await k.ok(["wait", exited, `pod/${name}`, "--timeout=30s"]);
          assert.match(await k.ok(["logs", name, "-c", "tool"]), /sleep 12345/);
        });
      }
    },
    "parallel",
  );
}
