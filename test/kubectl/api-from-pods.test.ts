import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Pod, PodSpec } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { namedOnContainerd } from "../node/on-containerd.ts";
import { programImage } from "../node/program-image.ts";
import { type ContainerdVersion, containerdVersions } from "../node/test-node.ts";
import { Kubectl, kubectlAvailable, kubectlFile } from "./kubectl.ts";
import { UpNode } from "./up-node.ts";

const image = "localhost/test/kubectl:1";
const account = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The output of the script in a pod, line by line. */
type Results = Readonly<Record<string, string>>;

/** kubectl in a pod, without configuration, uses address, token and CA as any program in a cluster does. */
const script = `
report() { echo "$1: $(echo "$2" | tr '\\n' ' ' | cut -c 1-500)" >> /dev/termination-log; }
export HOME=/tmp
report address "$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT"
report own "$(kubectl get pod $NAME -o 'jsonpath={.metadata.uid}' 2>&1)"
report elsewhere "$(kubectl get pods --namespace kube-system 2>&1)"
echo "$OTHER_CA" > /tmp/other.crt
API="--server https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT"
RAW="get --raw /api/v1/namespaces/default/pods/$NAME"
report wrongAuthority "$(kubectl $API --certificate-authority /tmp/other.crt --token "$(cat ${account}/token)" $RAW 2>&1)"
# Without a name kubectl would prompt for one before it calls the API, which has no passwords.
NO_USER="--username none --password none"
report noToken "$(kubectl $API --certificate-authority ${account}/ca.crt $NO_USER $RAW 2>&1)"
report otherNode "$(kubectl --server https://$OTHER_NODE:443 --certificate-authority /tmp/other.crt $NO_USER $RAW 2>&1)"
`;

class Cluster {
  readonly containerd: ContainerdVersion;
  readonly #suffix: string;
  node!: UpNode;
  #kubectl!: Kubectl;

  constructor(containerd: ContainerdVersion, suffix: string) {
    this.containerd = containerd;
    this.#suffix = suffix;
  }

  get title(): string {
    return `node ${this.#suffix.slice(1)} with containerd ${this.containerd}`;
  }

  async start(): Promise<void> {
    this.node = await UpNode.start(this.containerd, this.#suffix);
    this.#kubectl = new Kubectl("1.36", this.node.kubeconfig);
    await this.node.import(programImage(image, kubectlFile("1.36")));
  }

  async stop(): Promise<void> {
    this.#kubectl?.remove();
    await this.node?.stop();
  }

  get authority(): string {
    return readFileSync(join(this.node.files.api.dir, "pki", "ca.crt"), "utf8");
  }

  async json<T>(...args: string[]): Promise<T> {
    return JSON.parse(await this.#kubectl.ok(["get", ...args, "-o", "json"]));
  }

  async apiAddress(): Promise<string> {
    const { spec } = await this.json<{ spec: { clusterIP: string } }>("service", "kubernetes");
    return spec.clusterIP;
  }

  /** Sends requests to the API from a pod, which is removed afterwards. */
  async request(name: string, other: Cluster, spec: Partial<PodSpec> = {}): Promise<[Pod, Results]> {
    const env = [
      { name: "NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "OTHER_CA", value: other.authority },
      { name: "OTHER_NODE", value: await other.apiAddress() },
    ];
    const container = { name: "c", image, imagePullPolicy: "Never", command: ["sh", "-c", script], env };
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: { restartPolicy: "Never", dnsPolicy: "Default", ...spec, containers: [container] },
    };
    await this.#kubectl.ok(["create", "-f", "-"], { input: pod });
    const exited = await waitFor(async () => {
      const pod = await this.json<Pod>("pod", name);
      assert.equal(pod.status?.phase, "Succeeded", JSON.stringify(pod.status));
      return pod;
    }, 60_000);
    await this.#kubectl.ok(["delete", "pod", name, "--wait=false"]);
    const output = exited.status?.containerStatuses?.[0]?.state?.terminated?.message ?? "";
    return [exited, Object.fromEntries(output.split("\n").map((line) => splitLine(line)))];
  }
}

function splitLine(line: string): [string, string] {
  const at = line.indexOf(": ");
  return [line.slice(0, at), line.slice(at + 2).trim()];
}

const skip =
  [kubectlAvailable("1.36"), ...containerdVersions().map(({ available }) => available)].find(
    (available) => available !== true,
  ) ?? false;

for (const { name } of containerdVersions())
  describe(
    namedOnContainerd(
      `the API from inside pods, on two nodes of one machine (containerd ${name} and 2.x)`,
      name,
    ),
    { skip },
    () => suite(name),
  );

function suite(version: ContainerdVersion): void {
  const clusters = [new Cluster(version, "-a"), new Cluster("2.x", "-b")] as const;
  before(() => Promise.all(clusters.map((cluster) => cluster.start())));
  after(() => Promise.all(clusters.map((cluster) => cluster.stop())));

  for (const [i, cluster] of clusters.entries()) {
    const other = clusters[1 - i]!;
    for (const hostNetwork of [false, true]) {
      const name = hostNetwork ? "in-host-network" : "in-pod-network";
      const title =
        "a pod may read itself with its token and the mounted CA, and no pods of other namespaces";
      test(`${cluster.title}, ${name}: ${title}`, async () => {
        const [pod, results] = await cluster.request(name, other, { hostNetwork });
        const { address, own, elsewhere, wrongAuthority, noToken, otherNode } = results;
        assert.equal(address, `${await cluster.apiAddress()}:443`);
        assert.equal(own, pod.metadata.uid);
        assert.match(elsewhere!, /Forbidden.*system:serviceaccount:default:default/);
        assert.match(wrongAuthority!, /certificate signed by unknown authority/);
        assert.match(noToken!, /Unauthorized/);
        // Only pods on the host network can connect to the API of the other node, just as they can to 127.0.0.1.
        assert.match(otherNode!, hostNetwork ? /Unauthorized/ : /reset by peer|EOF/);
      });
    }

    test(`${cluster.title}: the endpoints of the service kubernetes are the address of the API`, async () => {
      const address = await cluster.apiAddress();
      const { subsets } = await cluster.json<{ subsets: object[] }>("endpoints", "kubernetes");
      const port = { name: "https", port: 443, protocol: "TCP" };
      assert.deepEqual(subsets, [{ addresses: [{ ip: address }], ports: [port] }]);
      const slice = await cluster.json<{ endpoints: { addresses: string[] }[]; ports: object[] }>(
        "endpointslice",
        "kubernetes",
      );
      assert.deepEqual([slice.endpoints[0]?.addresses, slice.ports], [[address], [port]]);
    });
  }

  test("two nodes have different addresses for their API", async () => {
    const [a, b] = await Promise.all(clusters.map((cluster) => cluster.apiAddress()));
    assert.notEqual(a, b);
  });

  test("a node that was killed has the same address when it is started again", async () => {
    const [cluster, other] = clusters;
    const before = await cluster.apiAddress();
    await cluster.node.kill();
    await cluster.start();
    assert.equal(await cluster.apiAddress(), before);
    const [pod, { own }] = await cluster.request("after-the-kill", other);
    assert.equal(own, pod.metadata.uid);
  });
}
