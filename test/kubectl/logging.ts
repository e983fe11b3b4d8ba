import assert from "node:assert/strict";
import { basename } from "node:path";
import { before, test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { demoImage, pod, podThatPrints, run, uidOf } from "./pods.ts";

const lines = 60_000;
/** Writes in chunks, which is faster than a line at a time. */
const counts = `i=0; while [ $i -lt ${lines} ]; do seq $((i + 1)) $((i + 500)); i=$((i + 500)); sleep 0.1; done`;

/** kubectl logs. */
export function logging(setup: KubectlSetup): void {
  describeInNamespace(
    setup,
    "logging",
    (kubectl) => {
      before(() =>
        run(
          kubectl(),
          pod("lines", {
            labels: { app: "pair" },
            container: { command: ["sh", "-c", "echo one; sleep 5; echo two; echo three; sleep 1000"] },
          }),
          pod("two", {
            labels: { app: "pair" },
            spec: {
              containers: ["a", "b"].map((name) => {
                const command = ["sh", "-c", `echo prints ${name}; sleep 1000`];
                return { name, image: demoImage, command };
              }),
            },
          }),
        ),
      );

      test("-f loses and repeats no line while the log is rotated and compressed", async () => {
        const k = kubectl();
        await k.ok(["create", "-f", "-"], { input: podThatPrints("counts", counts) });
        await k.ok(["wait", "--for=jsonpath={.status.phase}=Running", "pod/counts", "--timeout=60s"]);
        const uid = await uidOf(k, "counts");
        const rotated = new Set<string>();
        const timer = setInterval(() => {
          for (const path of setup.node.logFiles(uid)) rotated.add(basename(path));
        }, 200);
        const followed = k.start(["logs", "-f", "counts"]);
        assert.equal(await followed.exited, 0, followed.stderr);
        clearInterval(timer);
        assertCounted(followed.lines);
        const uncompressed = [...rotated].filter((name) => /^0\.log\.[-0-9]+$/.test(name));
        assert.ok(uncompressed.length >= 3, [...rotated].join(" "));
        assert.ok(
          [...rotated].some((name) => name.endsWith(".gz")),
          [...rotated].join(" "),
        );
        assert.equal(await k.ok(["logs", "counts", "--tail=2"]), `${lines - 1}\n${lines}\n`);
      });

      test("--tail and --limit-bytes limit the output, and --timestamps adds times", async () => {
        const k = kubectl();
        await waitFor(async () => assert.equal(await k.ok(["logs", "lines"]), "one\ntwo\nthree\n"));
        assert.equal(await k.ok(["logs", "lines", "--tail=1"]), "three\n");
        assert.equal(await k.ok(["logs", "lines", "--tail=0"]), "");
        assert.equal(await k.ok(["logs", "lines", "--limit-bytes=6"]), "one\ntw");
        const timed = (await k.ok(["logs", "lines", "--timestamps"])).trimEnd().split("\n");
        assert.deepEqual(
          timed.map((line) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z (\w+)$/.exec(line)?.[1]),
          ["one", "two", "three"],
        );
      });

      test("--since-time and --since select lines by time", async () => {
        const k = kubectl();
        await waitFor(async () => assert.equal(await k.ok(["logs", "lines"]), "one\ntwo\nthree\n"));
        const [, two = ""] = (await k.ok(["logs", "lines", "--timestamps"])).split("\n");
        const moment = two.split(" ", 1)[0] ?? "";
        assert.equal(await k.ok(["logs", "lines", `--since-time=${moment}`]), "two\nthree\n");
        // Two seconds for kubectl to connect; "one" was printed more than two seconds before that.
        await waitFor(async () => {
          const ago = Math.ceil((Date.now() - Date.parse(moment)) / 1000) + 2;
          assert.equal(await k.ok(["logs", "lines", `--since=${ago}s`]), "two\nthree\n");
        });
        assert.equal(await k.ok(["logs", "lines", "--since=1h"]), "one\ntwo\nthree\n");
        assert.match(
          await k.fails(["logs", "lines", "--since=1h", `--since-time=${moment}`]),
          /at most one of/,
        );
      });

      test("--prefix prints the pod and the container of each line", async () => {
        const k = kubectl();
        await waitFor(async () => {
          assert.match(await k.ok(["logs", "two"]), /^prints a\n$/);
          const all = await k.ok(["logs", "two", "--all-containers", "--prefix"]);
          assert.equal(all, "[pod/two/a] prints a\n[pod/two/b] prints b\n");
          const labeled = await k.ok(["logs", "-l", "app=pair", "--all-containers", "--prefix", "--tail=-1"]);
          assert.match(labeled, /^\[pod\/lines\/c\] one$/m);
          assert.match(labeled, /^\[pod\/two\/b\] prints b$/m);
        });
      });

      test("-f follows several logs, up to --max-log-requests", async () => {
        const k = kubectl();
        const all = ["logs", "-f", "-l", "app=pair", "--all-containers"];
        assert.match(
          await k.fails([...all, "--max-log-requests=2"]),
          /attempting to follow 3 log streams, but maximum allowed concurrency is 2/,
        );
        const followed = k.start([...all, "--max-log-requests=3"]);
        await followed.prints(/^prints b$/m);
        await followed.prints(/^three$/m);
        await followed.stop();
      });

      test("--previous prints the log of the previous container", async () => {
        const k = kubectl();
        const script =
          "test -e /kept/first && { echo second; sleep 1000; }; touch /kept/first; echo first; exit 1";
        const kept = { name: "kept", mountPath: "/kept" };
        const manifest = pod("again", { container: { command: ["sh", "-c", script], volumeMounts: [kept] } });
        manifest.spec.volumes = [{ name: "kept", emptyDir: {} }];
        await k.ok(["create", "-f", "-"], { input: manifest });
        await waitFor(async () => assert.equal(await k.ok(["logs", "again"]), "second\n"));
        assert.equal(await k.ok(["logs", "again", "--previous"]), "first\n");
        assert.match(
          await k.fails(["logs", "lines", "--previous"]),
          /previous terminated container "c" in pod "lines" not found/,
        );
      });

      test("-f ends when the container exits, and immediately for a terminated one", async () => {
        const k = kubectl();
        await k.ok(["create", "-f", "-"], { input: podThatPrints("spoke", "echo a; sleep 1; echo the end") });
        await waitFor(async () => assert.equal(await k.ok(["logs", "spoke", "-f"]), "a\nthe end\n"));
        await k.ok(["wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/spoke", "--timeout=60s"]);
        assert.equal(await k.ok(["logs", "spoke", "-f"]), "a\nthe end\n");
      });

      test("-f prints the last lines of a deleted pod", async () => {
        const k = kubectl();
        await run(k, pod("leaves"));
        const followed = k.start(["logs", "-f", "leaves"]);
        await k.ok(["exec", "leaves", "--", "sh", "-c", "echo hello > /proc/1/fd/1"]);
        await followed.prints(/^hello$/m);
        await k.ok(["delete", "pod", "leaves"]);
        assert.equal(await followed.exited, 0, followed.stderr);
        assert.equal(followed.stdout, "hello\nstopping\n");
      });

      test("a missing pod or container is reported", async () => {
        const k = kubectl();
        assert.match(await k.fails(["logs", "nobody"]), /pods "nobody" not found/);
        assert.match(await k.fails(["logs", "lines", "-c", "x"]), /container x is not valid for pod lines/);
      });
    },
    "parallel",
  );
}

/** Asserts that the lines are 1, 2, 3 and so on, each once. */
function assertCounted(printed: readonly string[]): void {
  const wrong = printed.findIndex((line, i) => line !== String(i + 1));
  if (wrong >= 0)
    assert.fail(`line ${wrong + 1} of ${printed.length}: ${printed.slice(wrong - 1, wrong + 3)}`);
  assert.equal(printed.length, lines);
}
