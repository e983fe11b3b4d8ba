import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { before, test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { longRunningCommand, pod, run } from "./pods.ts";
import { transports } from "./transports.ts";

const sum = (data: Buffer) => createHash("md5").update(data).digest("hex");

/** kubectl exec. */
export function executing(setup: KubectlSetup): void {
  describeInNamespace(
    setup,
    "executing",
    (kubectl) => {
      before(() =>
        run(
          kubectl(),
          pod("worked"),
          pod("two", {
            spec: {
              containers: ["a", "b"].map((name) => ({
                ...pod("").spec.containers[0],
                name,
                command: longRunningCommand,
              })),
            },
          }),
        ),
      );

      for (const { by, env } of transports) {
        const exec = (...command: readonly string[]) =>
          kubectl().run(["exec", "worked", "--", ...command], { env });

        test(`over ${by}: exec returns the output, the errors and the exit code of the command`, async () => {
          const { status, stdout, stderr } = await exec("sh", "-c", "echo a; echo b >&2; exit 7");
          assert.deepEqual([status, stdout], [7, "a\n"]);
          assert.equal(stderr, "b\ncommand terminated with exit code 7\n");
          assert.deepEqual(await exec("echo", "hello"), { status: 0, stdout: "hello\n", stderr: "" });
          assert.equal((await exec("sh", "-c", "kill -9 $$")).status, 137);
        });

        test(`over ${by}: 20 MiB of standard input are passed with EOF, and echoed unchanged`, async () => {
          const input = randomBytes(20 * 1024 * 1024);
          const k = kubectl();
          const inside = await k.ok(["exec", "-i", "worked", "--", "md5sum"], { env, input });
          assert.equal(inside, `${sum(input)}  -\n`);
          const echo = async () => {
            const running = k.start(["exec", "-i", "worked", "--", "cat"], { env, input });
            assert.equal(await running.exited, 0, running.stderr);
            return running.output;
          };
          let output = await echo();
          // If the runtime closes a SPDY connection while kubectl still sends on it, it is reset, and the end of the output may be lost,
          // whatever kubelet is in between. The rest is checked anyway.
          for (let attempt = 2; by === "SPDY" && output.length < input.length && attempt <= 3; attempt++) {
            assert.equal(sum(output), sum(input.subarray(0, output.length)));
            output = await echo();
          }
          assert.equal(sum(output), sum(input));
        });

        test(`over ${by}: a TTY has the size of the user's terminal, follows resizes, and has one stream`, async () => {
          const until = (size: string) =>
            `until [ "$(stty size 2> /dev/null)" = "${size}" ]; do sleep 0.05; done`;
          const script = `${until("24 80")}; echo small; ${until("33 91")}; echo err >&2; exit 5`;
          const command = ["exec", "-it", "worked", "--", "sh", "-c", script];
          const running = kubectl().start(command, { env, terminal: true, open: true });
          await running.prints(/^small\r$/m);
          await running.resize(33, 91);
          assert.equal(await running.exited, 5, running.stdout);
          assert.match(running.stdout, /^err\r\ncommand terminated with exit code 5\r$/m);
        });

        test(`over ${by}: a shell reads the input of a TTY, including Ctrl-C`, async () => {
          const running = kubectl().start(["exec", "-it", "worked", "--", "sh"], {
            env,
            terminal: true,
            open: true,
          });
          running.write("echo $((6 * 7))\n");
          await running.prints(/^42\r$/m);
          running.write("echo begun; sleep 1000\n");
          await running.prints(/^begun\r$/m);
          // A shell that is about to start its child may lose the signal: it is sent until the shell reads commands again.
          await waitFor(() => {
            running.write("\x03echo interrupted\n");
            assert.match(running.stdout, /^interrupted\r$/m);
          });
          running.write("exit 3\n");
          assert.equal(await running.exited, 3, running.stdout);
        });

        test(`over ${by}: a missing command, container or pod is reported`, async () => {
          const k = kubectl();
          const none = await k.fails(["exec", "worked", "--", "no-such-command"], { env });
          assert.match(none, /"no-such-command": executable file not found in \$PATH/);
          assert.match(
            await k.fails(["exec", "worked", "-c", "x", "--", "true"], { env }),
            /container x is not valid for pod worked/,
          );
          assert.match(await k.fails(["exec", "nobody", "--", "true"], { env }), /pods "nobody" not found/);
        });

        test(`over ${by}: a command of maximum length is executed`, async () => {
          const long = "ä b%".repeat(20_000);
          const script = 'printf %s "$0" | md5sum';
          const inside = await kubectl().ok(["exec", "worked", "--", "sh", "-c", script, long], { env });
          assert.equal(inside, `${sum(Buffer.from(long))}  -\n`);
        });

        test(`over ${by}: the named container is used, otherwise the first`, async () => {
          const k = kubectl();
          await k.ok(["exec", "two", "-c", "b", "--", "touch", `/here-${by}`], { env });
          const checkFile = ["--", "sh", "-c", `test -e /here-${by} && echo yes || echo no`];
          assert.equal(await k.ok(["exec", "two", ...checkFile], { env }), "no\n");
          assert.equal(await k.ok(["exec", "two", "-c", "b", ...checkFile], { env }), "yes\n");
        });

        test(`over ${by}: a command ends when its container exits`, async () => {
          const k = kubectl();
          const name = `ends-${by.toLowerCase()}`;
          await run(k, pod(name, { spec: { restartPolicy: "Never" } }));
          const running = k.start(["exec", "-i", name, "--", "sh", "-c", "echo up; sleep 1000"], {
            env,
            open: true,
          });
          await running.prints(/^up$/m);
          await k.run(["exec", name, "--", "kill", "1"], { env });
          assert.equal(await running.exited, 137, running.stderr);
          await waitFor(async () =>
            assert.match(
              await k.fails(["exec", name, "--", "true"], { env }),
              /container not found|completed pod/,
            ),
          );
        });

        test(`over ${by}: an interrupted command does not affect others`, async () => {
          const k = kubectl();
          const cats = [0, 1].map(() => k.start(["exec", "-i", "worked", "--", "cat"], { env, open: true }));
          const [one, other] = cats as [(typeof cats)[0], (typeof cats)[0]];
          for (const cat of cats) cat.write("first\n");
          for (const cat of cats) await cat.prints(/^first$/m);
          one.child.kill("SIGKILL");
          await one.exited;
          other.write("second\n");
          await other.prints(/^second$/m);
          other.child.stdin?.end();
          assert.equal(await other.exited, 0, other.stderr);
        });
      }
    },
    "parallel",
  );
}
