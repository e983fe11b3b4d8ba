import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { applyCommand } from "../../src/cli/apply-command.ts";
import { deleteCommand } from "../../src/cli/delete-command.ts";
import { KubeletError } from "../../src/lib/base/errors.ts";
import { fakeImages } from "../fake-runtime/fake-runtime.ts";
import { StandaloneAgent } from "../faults/standalone-agent.ts";
import { cli } from "./cli-process.ts";
import { writeManifest } from "./manifests.ts";
import { waitFor } from "./wait-for.ts";

const pod = (name: string, version = 1, more = "") => `apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  labels: { v: "${version}" }
${more}spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 1
  containers:
    - name: c
      image: ${fakeImages.busybox}
      imagePullPolicy: Never
`;

/** Runs a command in this process, which is much faster than starting one. */
async function inProcess(command: typeof applyCommand, args: readonly string[], input = "") {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const output = Promise.all([text(stdout), text(stderr)]);
  const status = await command(args, { stdin: Readable.from([input]), stdout, stderr }).catch((error) => {
    assert.ok(error instanceof KubeletError, String(error));
    stderr.write(`kubelet: ${error.message}\n`);
    return 1;
  });
  stdout.end();
  stderr.end();
  const [out, err] = await output;
  return { status, stdout: out, stderr: err };
}

/** The output of `kubelet apply` and `kubelet delete` and the pods that run afterwards, on a runtime in memory. */
describe("kubelet apply and kubelet delete", () => {
  let agent: StandaloneAgent;
  let dir: string;

  before(async () => {
    agent = await StandaloneAgent.create();
    dir = join(agent.dir, "files");
    mkdirSync(join(dir, "directory"), { recursive: true });
    mkdirSync(join(dir, "manifests"));
    agent.start([`--pod-manifest-path=${join(dir, "manifests")}`]);
    await agent.ready();
  });
  after(() => agent?.destroy());

  const file = (name: string, content: string) => {
    writeFileSync(join(dir, name), content);
    return join(dir, name);
  };
  const run = async (args: string[], input?: string) => {
    const [command, ...rest] = [...args, `--root-dir=${agent.rootDir}`];
    const { status, stdout, stderr } = await inProcess(
      command === "apply" ? applyCommand : deleteCommand,
      rest,
      input,
    );
    return { status, stdout, stderr: stderr.replaceAll(`${dir}/`, "") };
  };
  const output = (...lines: string[]) => ({
    status: 0,
    stdout: lines.map((l) => `${l}\n`).join(""),
    stderr: "",
  });
  const runs = (...expected: string[]) =>
    waitFor(() =>
      assert.deepEqual(
        agent
          .running()
          .map(({ pod: name, version }) => `${name} ${version}`)
          .sort((a, b) => (a < b ? -1 : 1)),
        expected,
      ),
    );

  test("applying a file creates its pods; applying it again changes nothing; an edit replaces them", async () => {
    const two = file("two.yaml", `${pod("a")}---\n${pod("b")}`);
    assert.deepEqual(
      await run(["apply", "-f", two]),
      output("default/a-node-a: created", "default/b-node-a: created"),
    );
    await runs("a 1", "b 1");
    assert.deepEqual(
      await run(["apply", "-f", two]),
      output("default/a-node-a: unchanged", "default/b-node-a: unchanged"),
    );
    file("two.yaml", `${pod("a")}---\n${pod("b", 2)}`);
    assert.deepEqual(
      await run(["apply", "-f", two]),
      output("default/a-node-a: unchanged", "default/b-node-a: replaced"),
    );
    await runs("a 1", "b 2");
  });

  test("a directory, a namespace, a list and standard input are accepted too", async () => {
    file("directory/c.yml", pod("c"));
    file("directory/ignored.txt", "no pod");
    file("directory/d.yaml", pod("d", 1, "  namespace: shop\n"));
    assert.deepEqual(
      await run(["apply", "-f", join(dir, "directory")]),
      output("default/c-node-a: created", "shop/d-node-a: created"),
    );
    const spec = {
      hostNetwork: true,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: "c", image: fakeImages.busybox, imagePullPolicy: "Never" }],
    };
    const list = { kind: "PodList", items: [{ metadata: { name: "e", labels: { v: "1" } }, spec }] };
    assert.deepEqual(
      await run(["apply", "-f", "-"], JSON.stringify(list)),
      output("default/e-node-a: created"),
    );
    await runs("a 1", "b 2", "c 1", "d 1", "e 1");
  });

  test("an invalid pod is rejected with line and field; a valid one in the same file is applied", async () => {
    const mixed = file("mixed.yaml", `${pod("a", 3)}---\n${pod("b", 3).replace("image:", "picture:")}`);
    const done = await run(["apply", "-f", mixed]);
    assert.deepEqual([done.status, done.stdout], [1, "default/a-node-a: replaced\n"]);
    assert.match(done.stderr, /^mixed\.yaml:23: spec\.containers\[0\]\.image: /m);
    await runs("a 3", "b 2", "c 1", "d 1", "e 1");
  });

  test("a file with an object that is not a pod is not sent to the agent", async () => {
    const other = file("other.yaml", `${pod("a", 4)}---\nkind: Secret\napiVersion: v1\n`);
    const done = await run(["apply", "-f", other]);
    assert.deepEqual([done.status, done.stdout], [1, ""]);
    assert.match(done.stderr, /other\.yaml:14: kind: "Secret", and only pods can be applied/);
    await runs("a 3", "b 2", "c 1", "d 1", "e 1");
  });

  test("the manifest of another pod is not overwritten", async () => {
    assert.equal((await agent.request("PUT", "/manifests/f", pod("g"))).status, 201);
    const done = await run(["apply", "-f", "-"], pod("f"));
    assert.deepEqual([done.status, done.stdout], [1, ""]);
    assert.match(
      done.stderr,
      /manifest "f" already exists with a different pod than default\/f: `kubelet delete f` first/,
    );
    const twice = await run(["apply", "-f", "-"], pod("g"));
    assert.equal(twice.status, 1);
    assert.match(twice.stderr, /pod "default\/g-node-a" is already in manifest "f"/);
    assert.deepEqual(await run(["delete", "f"]), output("default/f: deleted"));
  });

  test("a pod from a manifest file is neither replaced nor deleted", async () => {
    writeManifest(join(dir, "manifests"), "filed.yaml", pod("filed"));
    await waitFor(() => assert.ok(agent.running().some((c) => c.pod === "filed")));
    const done = await run(["apply", "-f", "-"], pod("filed", 2));
    assert.deepEqual([done.status, done.stdout], [1, ""]);
    assert.match(done.stderr, /pod "default\/filed-node-a" is already in the pods of source "file"/);
    assert.equal((await run(["delete", "filed"])).status, 1);
    await runs("a 3", "b 2", "c 1", "d 1", "e 1", "filed 1");
    rmSync(join(dir, "manifests", "filed.yaml"));
    await runs("a 3", "b 2", "c 1", "d 1", "e 1");
  });

  test("deleted pods terminate, by name or by file; missing ones are reported", async () => {
    const absent = await run(["delete", "a", "d"]);
    assert.deepEqual([absent.status, absent.stdout], [1, "default/a: deleted\n"]);
    assert.match(absent.stderr, /^default\/d: no such pod was applied here\n$/);
    assert.deepEqual(await run(["delete", "d", "-n", "shop"]), output("shop/d: deleted"));
    assert.deepEqual(await run(["delete", "d", "-n", "shop", "--ignore-not-found"]), output());
    await runs("b 2", "c 1", "e 1");
    const all = file("all.yaml", `${pod("b")}---\n${pod("c")}---\n${pod("e")}`);
    assert.deepEqual(
      await run(["delete", "-f", all]),
      output("default/b: deleted", "default/c: deleted", "default/e: deleted"),
    );
    await runs();
  });

  const wrong: [what: string, args: string[], stderr: RegExp][] = [
    ["apply without a file is a usage error", ["apply"], /must specify -f FILE/],
    [
      "apply with a name instead of a file mentions -f",
      ["apply", "a.yaml"],
      /unexpected argument: a\.yaml; specify files with -f/,
    ],
    ["apply of a missing file is an error", ["apply", "-f", "/no/such.yaml"], /\/no\/such\.yaml: ENOENT/],
    ["delete without a name is a usage error", ["delete"], /pod name or -f FILE required/],
    ["delete with an invalid name is an error", ["delete", "../x"], /default\/\.\.\/x: /],
  ];
  for (const [what, args, stderr] of wrong)
    test(what, async () => {
      const done = await run(args);
      assert.deepEqual([done.status, done.stdout], [1, ""]);
      assert.match(done.stderr, stderr);
    });

  test("the process applies standard input, and reports when no agent responds", async () => {
    const applied = await cli(["apply", "-f", "-", `--root-dir=${agent.rootDir}`], { input: pod("h") });
    assert.deepEqual([applied.status, applied.stdout], [0, "default/h-node-a: created\n"], applied.stderr);
    await runs("h 1");
    const done = await cli(["delete", "h", "--root-dir=/no/such"]);
    assert.deepEqual([done.status, done.stdout], [1, ""]);
    assert.match(done.stderr, /^kubelet: cannot connect to the kubelet at \/no\/such\/kubelet\.sock/);
  });

  for (const command of ["apply", "delete"])
    test(`${command} has help`, async () => {
      const done = await run([command, "--help"]);
      assert.equal(done.status, 0);
      assert.match(done.stdout, /-f FILE/);
    });
});
