// Runs on an isolated host: restores the node that the reference kubelet left (files, sandboxes, containers, API objects), starts the
// agent on it, and prints the state of the node before and after. With "odd", the same static pods have manifests
// that only the reference accepts without a warning.
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { SandboxId } from "../../src/lib/clients/cri/cri.ts";
import type { KubeRequest } from "../../src/lib/clients/kube/transport-interface.ts";
import type { Pod } from "../../src/lib/model/pod.ts";
import { nodeName } from "../cluster/cluster-node.ts";
import { type ApiObject, FakeApi } from "../cluster/fake-api.ts";
import { serveApi } from "../cluster/serve-api.ts";
import { AgentProcess, runtimeClient } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";
import { captureState, type NodeState } from "./node-state.ts";
import { recorded } from "./recorded.ts";
import { restoreFiles } from "./recorded-files.ts";
import { container, manifests } from "./takeover-pods.ts";

export interface Takeover {
  readonly before: NodeState;
  readonly after: NodeState;
  readonly log: string;
}

const { snapshot } = recorded;
const staticUidOf = (pod: Pod) => pod.metadata.annotations?.["kubernetes.io/config.hash"];
const uidOf = (pod: Pod) => staticUidOf(pod) ?? pod.metadata.uid;

/** The containers with the labels and annotations of the reference kubelet, in the cgroups of their pods. Returns the new IDs. */
async function restoreContainers(node: TestNode): Promise<Map<string, string>> {
  const runtime = runtimeClient(node.endpoint);
  const ids = new Map<string, string>();
  for (const { id, metadata, labels, annotations } of snapshot.sandboxes) {
    const pod = snapshot.pods.find((one) => uidOf(one) === metadata.uid)!;
    const qosCgroup =
      pod.status?.qosClass === "Burstable"
        ? "burstable/"
        : pod.status?.qosClass === "BestEffort"
          ? "besteffort/"
          : "";
    const usesHostNetwork = pod.spec.hostNetwork === true;
    const config = {
      metadata,
      labels: { ...labels },
      annotations: { ...annotations },
      hostname: usesHostNetwork ? "" : metadata.name,
      logDirectory: join(node.logDir, `${metadata.namespace}_${metadata.name}_${metadata.uid}`),
      linux: {
        cgroupParent: `${node.cgroupRoot}/kubepods/${qosCgroup}pod${metadata.uid}`,
        securityContext: { namespaceOptions: { network: usesHostNetwork ? 2 : 0, pid: 1 } },
      },
    };
    const sandbox = await runtime.runPodSandbox(config as never, "");
    ids.set(id, sandbox);
    // The oldest first, in the order in which they were started.
    for (const one of snapshot.allContainers.filter((c) => c.sandbox === id).reverse()) {
      const { name, attempt } = one.metadata;
      const of = {
        metadata: one.metadata,
        labels: { ...one.labels },
        annotations: { ...one.annotations },
        image: { image: node.images.busybox },
        command: name === "first" ? ["true"] : [...container("c").command!],
        logPath: `${name}/${attempt}.log`,
      };
      mkdirSync(join(config.logDirectory, name), { recursive: true });
      const copy = await runtime.createContainer(sandbox as SandboxId, of as never, config as never);
      await runtime.startContainer(copy);
      ids.set(one.id, copy);
    }
  }
  runtime.close();
  return ids;
}

/** The pods with the IDs of their new containers, the node and its other objects. */
function restoreObjects(api: FakeApi, ids: ReadonlyMap<string, string>): void {
  const text = [...ids].reduce((all, [from, to]) => all.replaceAll(from, to), JSON.stringify(snapshot.pods));
  for (const pod of JSON.parse(text) as ApiObject[]) api.put("pods", pod);
  const object = (name: string, namespace?: string) => ({
    metadata: { name, ...(namespace && { namespace }) },
  });
  api.put("configmaps", { ...object("settings", "default"), data: { a: "one" } });
  const password = Buffer.from("first").toString("base64");
  api.put("secrets", { ...object("keys", "default"), data: { password } });
  api.put("configmaps", { ...object("kube-root-ca.crt", "default"), data: { "ca.crt": recordedCa() } });
  const { metadata } = api.put("nodes", { ...object(nodeName), spec: {}, status: {} });
  const owner = {
    apiVersion: "v1",
    kind: "Node",
    name: nodeName,
    uid: api.get("nodes", "", metadata.name)!.metadata.uid!,
  };
  const owned = (name: string, namespace?: string) => {
    const { metadata: of } = object(name, namespace);
    return { metadata: { ...of, ownerReferences: [owner] } };
  };
  api.put("csinodes", { ...owned(nodeName), spec: { drivers: [] } });
  api.put("leases", {
    ...owned(nodeName, "kube-node-lease"),
    spec: { holderIdentity: nodeName, leaseDurationSeconds: 40 },
  });
}

function recordedCa(): string {
  return recorded.files.find(({ path, content }) => path.endsWith("/ca.crt") && content)?.content ?? "";
}

/** The API in memory, with tokens of service accounts. */
function withTokens(api: FakeApi): Pick<FakeApi, "request" | "stream"> {
  return {
    stream: (call) => api.stream(call),
    request: <T>(call: KubeRequest) => {
      if (!call.path.endsWith("/token")) return api.request<T>(call);
      const expirationTimestamp = new Date(Date.now() + 3_600_000).toISOString();
      return Promise.resolve({ status: { token: "new", expirationTimestamp } } as T);
    },
  };
}

/** The same pod: of a repeated key the last one counts, a second document is ignored, and more than 1 MiB is read. */
function oddManifest(manifest: unknown): string {
  const text = JSON.stringify(manifest).replace("{", '{"kind":"ConfigMap","metadata":{"name":"first"},');
  const comment = `# ${"-".repeat(100)}\n`;
  return `${comment.repeat(11_000)}${text}\n---\nkind: ConfigMap\n`;
}

async function main(): Promise<Takeover> {
  // The UIDs of static pods depend on the path of their manifests.
  const node = await startTestNode({ containerd: "2.x", name: basename(dirname(recorded.manifests)) });
  const agent = await AgentProcess.create(node, { makeIPTablesUtilChains: false, syncFrequency: "5s" });
  restoreFiles(node.rootDir, recorded.files);
  const api = new FakeApi();
  restoreObjects(api, await restoreContainers(node));
  mkdirSync(node.manifests, { recursive: true });
  const text = process.argv[2] === "odd" ? oddManifest : JSON.stringify;
  for (const [name, manifest] of Object.entries(manifests))
    writeFileSync(join(node.manifests, name), text(manifest));
  const served = await serveApi(withTokens(api));
  const kubeconfig = join(node.rootDir, "..", "kubeconfig");
  const context = { name: "c", context: { cluster: "c", user: "u" } };
  const clusters = [{ name: "c", cluster: { server: served.url } }];
  const config = { apiVersion: "v1", kind: "Config", "current-context": "c", contexts: [context], clusters };
  writeFileSync(kubeconfig, JSON.stringify({ ...config, users: [{ name: "u", user: {} }] }));
  const runtime = runtimeClient(node.endpoint);
  const get = (path: string) => api.request({ method: "GET", path });
  const state = () => captureState({ ...node, runtime, get });
  const before = await state();
  agent.start([`--kubeconfig=${kubeconfig}`, `--hostname-override=${nodeName}`, "--node-ip=127.0.0.1"]);
  const isReady = ({ name, namespace }: Pod["metadata"]) => {
    const ready = api.pod(name, namespace)?.status?.conditions?.find(({ type }) => type === "Ready");
    if (ready?.status !== "True") throw new Error(`${name} is not ready\n${agent.log().slice(-4000)}`);
  };
  // When a new pod runs, and the token has been replaced, the others have been synced.
  const added = {
    ...structuredClone(snapshot.pods.find(({ metadata }) => metadata.name === "plain")!),
    status: { phase: "Pending" },
  };
  Object.assign(added.metadata, { name: "new", uid: "00000000-0000-4000-8000-000000000000" });
  api.put("pods", added as unknown as ApiObject);
  const tokens = (of: NodeState) => JSON.stringify(of["service account tokens"]);
  await waitFor(async () => {
    for (const { metadata } of [...snapshot.pods, added]) isReady(metadata);
    if (tokens(await state()) === tokens(before)) throw new Error("the token has not been replaced");
  }, 60_000);
  const after = await state();
  await agent.end("SIGTERM");
  const log = agent.log();
  runtime.close();
  await served.close();
  await agent.destroy();
  return { before, after, log };
}

process.stdout.write(JSON.stringify(await main()));
