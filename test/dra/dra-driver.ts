import { appendFile, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { create, type DescService, type Message, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import { systemClock } from "../../src/lib/base/clock.ts";
import { httpStatusOf } from "../../src/lib/base/errors.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { serviceDefinition } from "../../src/lib/clients/cri/service-definition.ts";
import { loadKubeconfig } from "../../src/lib/clients/kube/kubeconfig.ts";
import { HttpKubeTransport } from "../../src/lib/clients/kube/transport.ts";
import {
  type Claim,
  DRAPlugin,
  type NodePrepareResourcesRequest,
  type NodeUnprepareResourcesRequest,
} from "../../src/lib/gen/dra/v1/api_pb.js";
import { DRAPlugin as BetaPlugin } from "../../src/lib/gen/dra/v1beta1/api_pb.js";
import {
  DRAResourceHealth,
  HealthStatus,
  NodeWatchResourcesResponseSchema,
} from "../../src/lib/gen/drahealth/v1alpha1/api_pb.js";
import type { ResourceClaim } from "../../src/lib/gen/kubernetes/resource.d.ts";
import { Registration } from "../../src/lib/gen/pluginregistration/v1/api_pb.js";

export interface DraDriverOptions {
  readonly name: string;
  readonly nodeName: string;
  /** Recorded calls, faults and prepared claims; kept when the driver stops. */
  readonly stateDir: string;
  readonly cdiDir: string;
  readonly endpoint: string;
  /** The socket in plugins_registry. */
  readonly registrationSocket: string;
  readonly kubeconfig: string;
  readonly devices: readonly string[];
  readonly versions?: readonly string[];
}

/** Faults by method: the call hangs, is executed and then hangs, or fails, as a whole or for each claim. */
export type Faults = Record<
  string,
  "hang" | "execute-and-hang" | { code?: keyof typeof status; message: string }
>;

/** Health by device. */
export type DeviceHealths = Record<string, { health: keyof typeof HealthStatus; message?: string }>;

const pool = "pool";
const api = "/apis/resource.k8s.io/v1";

/**
 * A small DRA driver on real sockets. A device is an environment variable that a CDI specification sets. It keeps no state in memory, so
 * it can be killed and started again; prepared claims are files in `<stateDir>/prepared`.
 */
export async function serveDraDriver(o: DraDriverOptions): Promise<void> {
  await Promise.all([o.cdiDir, preparedDir(o)].map((dir) => mkdir(dir, { recursive: true })));
  const access = await loadKubeconfig(o.kubeconfig);
  const kube = new HttpKubeTransport({
    access,
    userAgent: o.name,
    qps: 0,
    burst: 0,
    clock: systemClock,
    logger: silentLogger,
  });
  const plugin = {
    nodePrepareResources: async ({ claims }: NodePrepareResourcesRequest) => ({
      claims: await each(claims, (claim) => prepare(o, kube, claim)),
    }),
    nodeUnprepareResources: async ({ claims }: NodeUnprepareResourcesRequest) => ({
      claims: await each(claims, (claim) => unprepare(o, claim)),
    }),
  };
  const server = new Server();
  for (const service of [DRAPlugin, BetaPlugin]) addUnary(server, service, plugin, o);
  const { nodeWatchResources } = DRAResourceHealth.method;
  server.addService(serviceDefinition(DRAResourceHealth), {
    [nodeWatchResources.name]: (stream: ServerWritableStream<Message, Message>) => sendHealth(o, stream),
  });
  await listen(server, o.endpoint);
  const registration = new Server();
  const { name, endpoint, versions = ["v1.DRAPlugin"] } = o;
  addUnary(
    registration,
    Registration,
    {
      getInfo: async () => ({ type: "DRAPlugin", name, endpoint, supportedVersions: [...versions] }),
      notifyRegistrationStatus: async () => ({}),
    },
    o,
  );
  await listen(registration, o.registrationSocket);
  void publish(o, kube);
}

async function each<T>(
  claims: readonly Claim[],
  work: (claim: Claim) => Promise<T>,
): Promise<Record<string, T>> {
  const results = await Promise.all(claims.map(async (claim) => [claim.uid, await work(claim)] as const));
  return Object.fromEntries(results);
}

function preparedDir({ stateDir }: DraDriverOptions): string {
  return join(stateDir, "prepared");
}

function cdiFile({ cdiDir, name }: DraDriverOptions, uid: string): string {
  return join(cdiDir, `${name}-${uid}.json`);
}

async function prepare(o: DraDriverOptions, kube: HttpKubeTransport, { namespace, name, uid }: Claim) {
  const fault = (await readJson<Faults>(o.stateDir, "faults.json")).prepare;
  if (typeof fault === "object") return { error: fault.message };
  const path = `${api}/namespaces/${namespace}/resourceclaims/${name}`;
  const claim = await kube.request<ResourceClaim>({ method: "GET", path, timeoutMs: 10_000 });
  if (claim.metadata?.uid !== uid) return { error: `the claim is another one: ${claim.metadata?.uid}` };
  const results = (claim.status?.allocation?.devices?.results ?? []).filter(
    ({ driver }) => driver === o.name,
  );
  const kind = `${o.name}/device`;
  const devices = results.map(({ request, device }) => ({
    requestNames: [request],
    poolName: pool,
    deviceName: device,
    cdiDeviceIds: [`${kind}=${uid}-${request}-${device}`],
  }));
  const spec = {
    cdiVersion: "0.5.0",
    kind,
    devices: results.map(({ request, device }) => ({
      name: `${uid}-${request}-${device}`,
      containerEdits: { env: [`DEVICE_${request.toUpperCase().replaceAll("-", "_")}=${device}`] },
    })),
  };
  await writeWhole(cdiFile(o, uid), JSON.stringify(spec));
  await writeWhole(join(preparedDir(o), uid), JSON.stringify({ namespace, name }));
  return { devices };
}

async function unprepare(o: DraDriverOptions, { uid }: Claim) {
  const fault = (await readJson<Faults>(o.stateDir, "faults.json")).unprepare;
  if (typeof fault === "object") return { error: fault.message };
  await rm(cdiFile(o, uid), { force: true });
  await rm(join(preparedDir(o), uid), { force: true });
  return {};
}

async function writeWhole(path: string, text: string): Promise<void> {
  const next = join(dirname(path), `.${process.pid}-${Math.random()}`);
  await writeFile(next, text);
  await rename(next, path);
}

/** Publishes the slice, and recreates it whenever it is deleted. */
async function publish(
  { name, nodeName, devices }: DraDriverOptions,
  kube: HttpKubeTransport,
): Promise<never> {
  const slice = {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: { name: `${nodeName}-${name}` },
    spec: {
      driver: name,
      nodeName,
      pool: { name: pool, generation: 1, resourceSliceCount: 1 },
      devices: devices.map((device) => ({ name: device })),
    },
  };
  for (;;) {
    try {
      await kube.request({ method: "POST", path: `${api}/resourceslices`, body: slice, timeoutMs: 10_000 });
    } catch (error) {
      if (httpStatusOf(error) !== 409) process.stderr.write(`${name}: ${String(error)}\n`);
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

/** Reports the health of the devices whenever the file changes. */
async function sendHealth({ stateDir }: DraDriverOptions, stream: ServerWritableStream<Message, Message>) {
  let sent = "";
  while (!stream.cancelled) {
    const healths = await readJson<DeviceHealths>(stateDir, "health.json");
    const text = JSON.stringify(healths);
    if (text !== sent)
      stream.write(
        create(NodeWatchResourcesResponseSchema, {
          devices: Object.entries(healths).map(([deviceName, { health, message = "" }]) => ({
            device: { poolName: pool, deviceName },
            health: HealthStatus[health],
            message,
            healthCheckTimeoutSeconds: 600n,
          })),
        }),
      );
    sent = text;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

type Methods = Record<string, (request: never) => Promise<object>>;

function addUnary(
  server: Server,
  service: DescService,
  methods: Methods,
  { stateDir }: DraDriverOptions,
): void {
  const handlers = service.methods.map((method) => {
    const work = methods[method.localName] as (request: Message) => Promise<object>;
    const handle = async (call: ServerUnaryCall<Message, Message>, callback: sendUnaryData<Message>) => {
      const line = {
        service: service.typeName,
        method: method.name,
        request: toJson(method.input, call.request),
      };
      await appendFile(join(stateDir, "calls.jsonl"), `${JSON.stringify(line)}\n`);
      const fault = (await readJson<Faults>(stateDir, "faults.json"))[method.name];
      if (fault === "hang") return;
      if (typeof fault === "object")
        return callback({ code: status[fault.code ?? "INTERNAL"], details: fault.message });
      try {
        const result = await work(call.request);
        if (fault === "execute-and-hang") {
          await appendFile(join(stateDir, "executed"), `${method.name}\n`);
          return;
        }
        callback(null, create(method.output, result as MessageInitShape<typeof method.output>));
      } catch (error) {
        callback({ code: status.INTERNAL, details: String(error) });
      }
    };
    return [method.name, handle] as const;
  });
  server.addService(serviceDefinition(service), Object.fromEntries(handlers));
}

async function listen(server: Server, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await rm(path, { force: true });
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix://${path}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  );
}

async function readJson<T extends object>(dir: string, name: string): Promise<T> {
  const text = await readFile(join(dir, name), "utf8").catch(() => "");
  return JSON.parse(text || "{}") as T;
}

/** The UIDs of the claims that the driver has prepared. */
export async function preparedClaims(stateDir: string): Promise<string[]> {
  const names = await readdir(join(stateDir, "prepared")).catch(() => [] as string[]);
  return names.filter((name) => !name.startsWith(".")).sort((a, b) => (a < b ? -1 : 1));
}
