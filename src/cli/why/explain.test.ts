import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../test/builders/pods.ts";
import { KubeletError } from "../../lib/base/errors.ts";
import type { Pod } from "../../lib/model/pod.ts";
import { completions } from "./complete.ts";
import { whyPods } from "./explain.ts";
import type { ApiReader } from "./kubectl.ts";
import { nodeLines, whyNode } from "./node.ts";

type Answers = Readonly<Record<string, unknown>>;

/** An API server that has these objects by path; the value of an error is thrown. */
function api(answers: Answers) {
  const calls: { readonly path: string; readonly timeoutS: number | undefined }[] = [];
  const get = async (path: string, limit?: { readonly timeoutS: number }) => {
    calls.push({ path, timeoutS: limit?.timeoutS });
    const answer = answers[path] ?? new KubeletError("NotFound", `${path} not found`);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { calls, get: get as ApiReader["get"] };
}

const pods = "/api/v1/namespaces/shop/pods";
const events = "/api/v1/namespaces/shop/events?fieldSelector=involvedObject.";
const onNode = (name: string, node: string, annotations: Record<string, string> = {}): Pod => {
  const pod = aPod({ nodeName: node });
  const metadata = { ...pod.metadata, name, uid: name, namespace: "shop", annotations };
  return { ...pod, metadata, status: { phase: "Pending" } } as Pod;
};

test("a namespace that does not exist is reported", async () => {
  const absent = api({ [pods]: { items: [] } });
  await assert.rejects(whyPods(absent, { namespace: "shop", name: undefined }), /shop not found/);
  const empty = api({ [pods]: { items: [] }, "/api/v1/namespaces/shop": {} });
  assert.deepEqual((await whyPods(empty, { namespace: "shop", name: undefined })).pods, []);
  const unknown = { [pods]: { items: [] }, "/api/v1/namespaces/shop": new KubeletError("Forbidden", "no") };
  assert.deepEqual((await whyPods(api(unknown), { namespace: "shop", name: undefined })).pods, []);
});

test("a static pod is looked up by the UID that its kubelet uses", async () => {
  const mirror = onNode("etcd", "n1", { "kubernetes.io/config.mirror": "abc" });
  const explanation = { uid: "abc", cause: "from the node" };
  const one = api({
    [`${pods}/etcd`]: mirror,
    "/api/v1/nodes/n1/proxy/debug/blocked?pod=abc": { pods: [explanation] },
  });
  const { pods: found } = await whyPods(one, { namespace: "shop", name: "etcd" });
  assert.deepEqual(
    found.map(({ cause }) => cause),
    ["from the node"],
  );
  const event = {
    type: "Warning",
    reason: "FailedMount",
    message: "no disk",
    involvedObject: { uid: "abc" },
  };
  const other = api({ [`${pods}/etcd`]: mirror, [`${events}uid%3Dabc`]: { items: [event] } });
  const answer = await whyPods(other, { namespace: "shop", name: "etcd" });
  assert.match(answer.pods[0]?.cause ?? "", /no disk/);
  assert.equal(answer.pods[0]?.uid, "abc");
});

test("nodes are queried with a time limit, and a few at a time", async () => {
  const items = Array.from({ length: 100 }, (_, i) => onNode(`p${i}`, `n${i}`));
  const inner = api({ [pods]: { items }, [`${events}kind%3DPod`]: { items: [] } });
  let [running, most] = [0, 0];
  const counting: ApiReader = {
    async get<T>(path: string, limit?: { readonly timeoutS: number }) {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running--;
      return inner.get<T>(path, limit);
    },
  };
  const { pods: found } = await whyPods(counting, { namespace: "shop", name: undefined });
  assert.equal(found.length, 100);
  assert.ok(most > 1 && most <= 16, `${most} calls at a time`);
  const queries = inner.calls.filter(({ path }) => path.includes("/proxy/"));
  assert.deepEqual([queries.length, queries.every(({ timeoutS }) => timeoutS === 10)], [100, true]);
});

test("a node that does not respond in time is noted", async () => {
  const text = "Unable to connect to the server: net/http: request canceled (Client.Timeout exceeded)";
  const slow = api({
    [`${pods}/web`]: onNode("web", "n1"),
    "/api/v1/nodes/n1/proxy/debug/blocked?pod=web": new KubeletError("Unknown", text),
  });
  const { notes } = await whyPods(slow, { namespace: "shop", name: "web" });
  assert.deepEqual(notes, ["node n1 does not respond (timeout): this is from the status and the events"]);
});

test("an event with any reason is accepted", async () => {
  const event = { reason: "constructor", message: "hello", involvedObject: { uid: "web" } };
  const items = { [`${pods}/web`]: onNode("web", "n1"), [`${events}uid%3Dweb`]: { items: [event] } };
  const { pods: found } = await whyPods(api(items), { namespace: "shop", name: "web" });
  assert.deepEqual(
    found[0]?.history.map(({ step }) => step),
    ["other"],
  );
});

test("a sandbox whose network cannot be removed is explained from its event", async () => {
  const plugin = 'plugin type="bridge" failed (delete): no bridge';
  const message = `error killing pod: stopping the pod: failed to destroy network for sandbox "0": ${plugin}`;
  const event = { type: "Warning", reason: "FailedKillPod", message, involvedObject: { uid: "web" } };
  const items = { [`${pods}/web`]: onNode("web", "n1"), [`${events}uid%3Dweb`]: { items: [event] } };
  const { pods: found } = await whyPods(api(items), { namespace: "shop", name: "web" });
  assert.equal(
    found[0]?.cause,
    "the network of the sandbox cannot be removed: CNI plugin bridge failed: no bridge",
  );
});

test("the taints of a node are shown as they are", async () => {
  const taints = [{ key: "NODEPOOL", value: "a", effect: "NoSchedule" }];
  const node = api({
    "/api/v1/nodes/n1": { metadata: { name: "n1" }, spec: { taints, unschedulable: true } },
  });
  const text = nodeLines(await whyNode(node, "n1")).join("\n");
  assert.match(text, /kubectl uncordon n1/);
  assert.match(text, /NODEPOOL=a:NoSchedule/);
});

test("values of flags are completed, too", async () => {
  const reader = api({ "/api/v1/namespaces": { items: [{ metadata: { name: "shop" } }] } });
  assert.deepEqual(await completions(reader, "default", ["s"], "namespace"), ["shop"]);
  assert.deepEqual(await completions(reader, "default", [""], "context"), []);
});
