import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { decodeCheckpoint } from "../../src/kubelet/resources/dra/checkpoint.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { errnoOf } from "../../src/lib/base/errors.ts";
import { callUnary, openChannel } from "../../src/lib/clients/cri/grpc-call.ts";
import type { ResourceClaim } from "../../src/lib/gen/kubernetes/resource.d.ts";
import { PodResourcesLister } from "../../src/lib/gen/podresources/v1/api_pb.js";
import type { Container, Pod, PodSpec } from "../../src/lib/model/pod.ts";
import { nodeName } from "../cluster/cluster-node.ts";
import { NodeWithApi, podsPath } from "../cluster/node-with-api.ts";
import { freePort, get } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import type { DraDriverOptions } from "./dra-driver.ts";
import { DriverProcess } from "./driver-process.ts";

export const resourceApi = "/apis/resource.k8s.io/v1";
export const claimsPath = `${resourceApi}/namespaces/default/resourceclaims`;

/** A real agent with a real containerd 2.x and the embedded API, and DRA drivers as separate processes. */
export class DraTestNode {
  readonly apiNode: NodeWithApi;
  readonly #port: number;
  readonly #drivers: DriverProcess[] = [];

  static async start(): Promise<DraTestNode> {
    const [port, readOnlyPort] = [await freePort(), await freePort()];
    const config = { enableServer: true, address: "127.0.0.1", port, readOnlyPort, syncFrequency: "1s" };
    return new DraTestNode(await NodeWithApi.start("2.x", { config }), readOnlyPort);
  }

  private constructor(apiNode: NodeWithApi, port: number) {
    this.apiNode = apiNode;
    this.#port = port;
  }

  get rootDir(): string {
    return this.apiNode.node.rootDir;
  }

  /** Creates a driver with a device class of its name, but does not start it. */
  async driver(
    name: string,
    devices: readonly string[],
    more: Partial<DraDriverOptions> = {},
  ): Promise<DriverProcess> {
    const driver = this.instance(name, devices, more);
    await this.create(`${resourceApi}/deviceclasses`, {
      apiVersion: "resource.k8s.io/v1",
      kind: "DeviceClass",
      metadata: { name },
      spec: { selectors: [{ cel: { expression: `device.driver == "${name}"` } }] },
    });
    return driver;
  }

  /** Another instance of a driver. */
  instance(name: string, devices: readonly string[], more: Partial<DraDriverOptions> = {}): DriverProcess {
    const { node, api } = this.apiNode;
    const runDir = dirname(node.endpoint.replace("unix://", ""));
    const driver = new DriverProcess({
      name,
      nodeName,
      devices,
      kubeconfig: join(api.dir, "kubeconfig"),
      stateDir: join(this.rootDir, "..", "dra", name),
      cdiDir: join(runDir, "cdi"),
      endpoint: join(this.rootDir, "plugins", name, "dra.sock"),
      registrationSocket: join(this.rootDir, "plugins_registry", `${name}-reg.sock`),
      ...more,
    });
    this.#drivers.push(driver);
    return driver;
  }

  claim(name: string, deviceClassName: string, more: object = {}): Promise<unknown> {
    return this.create(claimsPath, {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaim",
      metadata: { name },
      spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName, ...more } }] } },
    });
  }

  template(name: string, deviceClassName: string): Promise<unknown> {
    return this.create(`${resourceApi}/namespaces/default/resourceclaimtemplates`, {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaimTemplate",
      metadata: { name },
      spec: { spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName } }] } } },
    });
  }

  /** A pod whose container uses these claims of its spec. */
  pod(
    name: string,
    claims: NonNullable<PodSpec["resourceClaims"]>,
    { container = {}, spec = {} }: { container?: Partial<Container>; spec?: Partial<PodSpec> } = {},
  ): Promise<Pod> {
    const resources = { claims: claims.map((claim) => ({ name: claim.name })) };
    return this.apiNode.addPod(name, { resources, ...container }, { resourceClaims: claims, ...spec });
  }

  /** Binds a pod as a scheduler does that allocates a device to an extended resource of its container: by a claim that the pod's status names. */
  async schedule(
    { metadata, spec }: Pod,
    resourceName: string,
    { driver, device }: { readonly driver: string; readonly device: string },
  ): Promise<void> {
    const { name, uid } = metadata;
    const [request, claim] = ["container-0-request-0", `${name}-extended-resources`];
    const owner = { apiVersion: "v1", kind: "Pod", name, uid, controller: true };
    await this.create(claimsPath, {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaim",
      metadata: {
        name: claim,
        ownerReferences: [owner],
        annotations: { "resource.kubernetes.io/extended-resource-claim": "true" },
      },
      spec: { devices: { requests: [{ name: request, exactly: { deviceClassName: driver } }] } },
    });
    await this.patch(`${claimsPath}/${claim}/status`, {
      status: {
        allocation: { devices: { results: [{ request, driver, pool: "pool", device }] } },
        reservedFor: [{ resource: "pods", name, uid }],
      },
    });
    const container = spec.containers[0]?.name;
    const requestMappings = [{ containerName: container, resourceName, requestName: request }];
    await this.patch(`${podsPath}/${name}/status`, {
      status: { extendedResourceClaimStatus: { resourceClaimName: claim, requestMappings } },
    });
    await this.create(`${podsPath}/${name}/binding`, {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name },
      target: { kind: "Node", name: nodeName },
    });
  }

  /** The environment of the pod's container that CDI specifications have set. */
  async devices(name: string): Promise<string[]> {
    const [container] = await this.apiNode.containersOf(name);
    const { stdout } = await this.apiNode.runtime.execSync(container!.id, ["env"], 10);
    const lines = Buffer.from(stdout).toString().split("\n");
    return lines.filter((line) => line.startsWith("DEVICE_")).sort((a, b) => (a < b ? -1 : 1));
  }

  claims(): Promise<ResourceClaim[]> {
    return this.apiNode.get<{ items: ResourceClaim[] }>(claimsPath).then(({ items }) => items);
  }

  async events(pod: string): Promise<string[]> {
    const { items } = await this.apiNode.get<{
      items: { reason: string; message: string; involvedObject: { name: string } }[];
    }>("/api/v1/namespaces/default/events");
    return items
      .filter(({ involvedObject }) => involvedObject.name === pod)
      .map(({ reason, message }) => `${reason}: ${message}`);
  }

  /** The claims in the agent's checkpoint, with their pods. */
  async checkpoint(): Promise<{ uid: string; name: string; pods: string[] }[]> {
    const path = join(this.rootDir, "dra_manager_state");
    const text = await readFile(path, "utf8").catch((error) => {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    });
    if (text === undefined) return [];
    return decodeCheckpoint(text).map(({ uid, name, pods }) => ({ uid, name, pods: [...pods] }));
  }

  /** CDI devices by pod, as reported by the PodResources API. */
  async podResources(): Promise<Record<string, string[]>> {
    const channel = openChannel(join(this.rootDir, "pod-resources/kubelet.sock"));
    try {
      const limits = { clock: systemClock, timeoutMs: 10_000, signal: undefined };
      const { podResources } = await callUnary(channel, PodResourcesLister.method.list, {}, limits);
      return Object.fromEntries(
        podResources.map(({ name, containers }) => [
          name,
          containers.flatMap(({ dynamicResources }) =>
            dynamicResources.flatMap(({ claimResources }) =>
              claimResources.flatMap(({ cdiDevices }) => cdiDevices.map((device) => device.name)),
            ),
          ),
        ]),
      );
    } finally {
      channel.close();
    }
  }

  async metric(name: string): Promise<string[]> {
    const response = await get({ host: "127.0.0.1", port: this.#port, path: "/metrics" });
    return (response?.body ?? "").split("\n").filter((line) => line.startsWith(name));
  }

  /** kill -9 of the agent; resolves when a new one has started. */
  async restartAgent(): Promise<void> {
    await this.apiNode.agent.end("SIGKILL");
    this.apiNode.startAgent();
    await waitFor(async () => assert.ok(await this.apiNode.agent.pods(), "the agent has not started yet"));
  }

  create(path: string, body: object): Promise<unknown> {
    return this.apiNode.admin.request({ method: "POST", path, body });
  }

  /** Applies a JSON merge patch. */
  patch(path: string, body: object): Promise<unknown> {
    const contentType = "application/merge-patch+json";
    return this.apiNode.admin.request({ method: "PATCH", path, body, contentType });
  }

  async destroy(): Promise<void> {
    for (const driver of this.#drivers) await driver.kill();
    await this.apiNode.destroy();
  }
}
