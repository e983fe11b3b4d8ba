import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { PodExplanation } from "../../src/kubelet/explain/pod-explanation.ts";
import { nodeFiles } from "../../src/single-node/node-files.ts";
import { repoDir } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { type Area, brokenPods, objects, taint } from "./broken-pods.ts";
import { BrokenRegistry } from "./broken-registry.ts";
import { CauseTable } from "./cause-table.ts";
import { nodeName } from "./cluster-node.ts";
import { explained } from "./explained.ts";
import { NodeWithApi } from "./node-with-api.ts";

const withinMs = 240_000;
const document = join(repoDir, "docs/EXPLAIN.md");
/** How many causes of each area there are at least. */
const atLeast: Record<Area, number> = {
  images: 12,
  starts: 12,
  volumes: 10,
  probes: 8,
  "sandbox and network": 8,
  "admission, resources and node": 10,
};

/** These run between their failures, and are started again without an error. */
const pauses = new Set(["start-completes", "start-hook", "start-hook-silent", "probe-startup"]);

/** The parts of the output of `kubelet explain --all`, by pod. */
function partsOf(output: string): Map<string, string> {
  return new Map(
    output.split("\n\n").map((part) => [/^default\/(\S+)/.exec(part)?.[1] ?? "", part.trimEnd()]),
  );
}

/** A text of more than 40 characters that stands twice. */
function repeated(text: string): string | undefined {
  const known = new Set<string>();
  for (const line of text.split("\n"))
    for (let at = 0; at + 41 <= line.length; at++) {
      const part = line.slice(at, at + 41);
      if (known.has(part)) return part;
      known.add(part);
    }
  return undefined;
}

function assertReadable(part: string): void {
  const [first = "", second = ""] = part.split("\n");
  assert.ok(first.length <= 160, `${first.length} characters: ${first}`);
  assert.match(second, /^ {2}try: \S.*: \S/, part);
  assert.equal(repeated(part), undefined, part);
  const rows = part.split("\n").reduce((sum, line) => sum + Math.ceil(line.length / 80), 0);
  assert.ok(rows <= 23, `${rows} lines of 80 characters: ${part}`);
}

/** All pods are bound to the node at the same time, without a scheduler. */
describeOnContainerd("kubelet explain names the cause and a step to try", (version) => {
  let apiNode: NodeWithApi;
  let registry: BrokenRegistry;
  const pods = brokenPods({});
  /** By pod, the last observed part of the output, and the first one that named the cause. */
  const last = new Map<string, string>();
  const named = new Map<string, string>();
  const missingAgain: string[] = [];
  const table = new CauseTable();

  /** Polls all pods until the cause of each has been named. */
  const poll = async () => {
    const parts = partsOf(await explain().run("--all"));
    for (const { name, area, names } of pods) {
      const part = parts.get(name) ?? "";
      last.set(name, part);
      if (!names.test(part.split("\n", 1)[0] ?? "")) {
        if (named.has(name) && !pauses.has(name)) missingAgain.push(part);
      } else if (!named.has(name)) {
        named.set(name, part);
        table.add(area, part);
      }
    }
    assert.equal(named.size, pods.length);
  };

  before(async () => {
    apiNode = await NodeWithApi.start(version, {
      flags: () => [`--register-with-taints=${taint}`],
      config: { serializeImagePulls: false, allowedUnsafeSysctls: ["net.*"] },
      prepare: async (node) => {
        registry = await BrokenRegistry.start(node);
        mkdirSync(join(node.rootDir, "seccomp"), { recursive: true });
        writeFileSync(join(node.rootDir, "seccomp/broken.json"), "{ nothing");
      },
    });
    const { hosts } = registry;
    for (const { path, body } of objects(hosts.http ?? ""))
      await apiNode.admin.request({ method: "POST", path, body });
    await apiNode.addPod("holder", { ports: [{ containerPort: 80, hostPort: 18080 }] }, bound);
    await apiNode.runs("holder", 60_000);
    await Promise.all(
      brokenPods(hosts).map(({ name, container, spec }) =>
        apiNode.addPod(name, container, { ...bound, ...spec }),
      ),
    );
    // The test of a pod whose cause was not named reports it.
    await waitFor(poll, withinMs).catch(() => {});
  });
  after(async () => {
    await apiNode?.destroy();
    registry?.stop();
  });

  const bound = { nodeName, tolerations: [{ operator: "Exists" as const }] };
  const explain = () => explained(apiNode.node.rootDir);

  for (const { name, names, step } of pods)
    test(`of the broken pod ${name}`, () => {
      const part = named.get(name);
      assert.ok(part, `${names} is not in: ${last.get(name)}`);
      assert.match(part.split("\n")[1] ?? "", step);
      assertReadable(part);
    });

  test("as long as it lasts, including during retries", () => assert.deepEqual(missingAgain, []));

  test("of exactly the pods that are not ready or failed, if no pod is given", async () => {
    const { pods: listed } = await explain().all();
    assert.deepEqual(
      listed.map(({ name }) => name),
      pods.map(({ name }) => name).sort((a, b) => (a < b ? -1 : 1)),
    );
  });

  test("on a screen of 24 lines, however often the pod was tried", async () => {
    const { pods: listed } = await explain().all();
    const isRetried = ({ history }: PodExplanation) => history.filter(({ error }) => error).length > 4;
    assert.ok(listed.filter(isRetried).length > 10, "too few pods were retried");
    for (const { name } of listed.filter(isRetried)) assertReadable((await explain().run(name)).trimEnd());
  });

  test("of a failed pod after it was deleted", async () => {
    await apiNode.deletePod("node-selector");
    await apiNode.isGone("node-selector");
    const pod = await explain().waitForPod("node-selector", ({ goneAt }) => assert.ok(goneAt));
    assert.match(pod.cause ?? "", /^NodeAffinity: .*disk=ssd/);
    assert.ok((await explain().all()).pods.some(({ name }) => name === "node-selector"));
  });

  const network = [
    [
      "network-plugin",
      /the sandbox has no network: CNI plugin absent is not installed in \//,
      /: ls \//,
      (config: { plugins: object[] }) => void Object.assign(config.plugins[0]!, { type: "absent" }),
    ],
    [
      "network-range",
      /the sandbox has no network: all IP addresses of [\d.]+-[\d.]+ are in use/,
      /podCIDR/,
      (config: { plugins: { ipam: object }[] }) => {
        const ranges = [
          [{ subnet: "198.51.100.0/24", rangeStart: "198.51.100.2", rangeEnd: "198.51.100.2" }],
        ];
        Object.assign(config.plugins[0]!.ipam, { ranges });
      },
    ],
    [
      "network-subnet",
      // containerd 1.6 removes what is there of the network first.
      /the (?:sandbox has no network|network of the sandbox cannot be removed): CNI plugin bridge failed: /,
      /journalctl -u containerd/,
      (config: { plugins: { ipam: object }[] }) =>
        void Object.assign(config.plugins[0]!.ipam, { ranges: [[{ subnet: "not a subnet" }]] }),
    ],
  ] as const;

  for (const [name, names, step, change] of network)
    test(`of the broken network of pod ${name}`, async () => {
      const dir = nodeFiles(apiNode.node.name).cni.conf;
      const [file = ""] = readdirSync(dir).filter((one) => one.endsWith(".conflist"));
      const path = join(dir, file);
      const config = readFileSync(path, "utf8");
      const changed = JSON.parse(config);
      change(changed);
      const write = (text: string) => {
        writeFileSync(`${path}.new`, text);
        renameSync(`${path}.new`, path);
      };
      write(JSON.stringify(changed));
      try {
        // A range of one address is exhausted by the first pod.
        if (name === "network-range") await apiNode.addPod("network-first", {}, bound);
        await apiNode.addPod(name, {}, bound);
        await namesCause(name, names, step);
      } finally {
        write(config);
      }
    });

  test("of a pod whose sandbox image is missing", async () => {
    const { pause } = apiNode.node.images;
    await apiNode.node.ctr(["--namespace", "k8s.io", "images", "rm", "--sync", pause]);
    await apiNode.addPod("sandbox-image", {}, bound);
    await namesCause("sandbox-image", /its image \S+ is not on the node and cannot be pulled/, /crictl pull/);
  });

  const namesCause = (name: string, names: RegExp, step: RegExp) =>
    waitFor(async () => {
      const part = (await explain().run(name)).trimEnd();
      assert.match(part.split("\n", 1)[0] ?? "", names, part);
      assert.match(part.split("\n")[1] ?? "", step);
      assertReadable(part);
      table.add("sandbox and network", part);
    }, 60_000);

  test("of a pod that is created while the runtime is down", async () => {
    await apiNode.node.stopRuntime();
    try {
      await apiNode.addPod("runtime-down", {}, bound);
      await namesCause("runtime-down", /runtime/, /systemctl status containerd|journalctl/);
    } finally {
      await apiNode.node.startRuntime();
    }
  });

  test("of at least 60 causes, which docs/EXPLAIN.md lists", () => {
    assert.ok(table.size >= 60, `${table.size} causes`);
    for (const [area, count] of Object.entries(atLeast))
      assert.ok(table.count(area as Area) >= count, `${area}: ${table.count(area as Area)}`);
    const text = readFileSync(document, "utf8");
    if (process.env.EXPLAIN_TABLE === "write") writeFileSync(document, table.writtenTo(text));
    else assert.deepEqual(table.missingFrom(text), [], "write the table: EXPLAIN_TABLE=write");
  });

  test("of failed pods after a restart of the agent", async () => {
    await apiNode.agent.end("SIGTERM");
    apiNode.startAgent();
    const failed = [
      ["node-cpu", /^OutOfcpu: requests 4000000m/],
      ["node-deadline", /^DeadlineExceeded: .*\(4 s\)$/],
      ["node-job", /^container c exited with code 7 \(Error\)$/],
    ] as const;
    for (const [name, cause] of failed)
      await waitFor(async () => {
        const pod = await explain().waitForPod(name, ({ failedAt }) => assert.ok(failedAt), 0);
        assert.match(pod.cause ?? "", cause);
      }, 60_000);
  });
});
