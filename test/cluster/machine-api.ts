import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { startEmbeddedApi } from "../../src/apiserver/embedded-api.ts";
import type { ServedRequest } from "../../src/apiserver/rest/rest-handler.ts";
import type { ClusterOptions } from "../../src/kubelet/certs/cluster-access.ts";
import { clusterAccess } from "../../src/kubelet/certs/cluster-access.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { type KubeAccess, loadKubeconfig } from "../../src/lib/clients/kube/kubeconfig.ts";
import { HttpKubeTransport } from "../../src/lib/clients/kube/transport.ts";
import { freePort } from "../e2e/agent-process.ts";
import { removeDir } from "../node/remove-dir.ts";
import { nodeName } from "./cluster-node.ts";

/** The complete embedded API as `kubelet up` runs it: TLS, certificates, Node authorizer, NodeRestriction, controllers, database. */
export interface MachineApi {
  readonly port: number;
  /** The agent's access, with the certificate of its node. */
  readonly cluster: ClusterOptions;
  readonly admin: HttpKubeTransport;
  /** All requests and their responses. */
  readonly served: ServedRequest[];
  client(who: Who, userAgent: string): Promise<HttpKubeTransport>;
  access(who: Who): Promise<KubeAccess>;
}

/** The kubeconfig of the administrator, or of the node. */
type Who = "kubeconfig" | "kubelet.kubeconfig";

const clock = systemClock;
const logger = silentLogger;

export async function startMachineApi(t: Pick<TestContext, "after">): Promise<MachineApi> {
  const dir = await mkdtemp(join(tmpdir(), "machine-api-"));
  const port = await freePort();
  const served: ServedRequest[] = [];
  const api = await startEmbeddedApi({
    dir,
    port,
    clock,
    logger,
    kubeconfig: join(dir, "kubeconfig"),
    node: { name: nodeName, kubeconfig: join(dir, "kubelet.kubeconfig") },
    onRequest: (request) => served.push(request),
  });
  const clients: { close(): void }[] = [];
  const access = (who: Who) => loadKubeconfig(join(dir, who));
  const client: MachineApi["client"] = async (who, userAgent) => {
    const created = new HttpKubeTransport({
      access: await access(who),
      userAgent,
      qps: 0,
      burst: 0,
      clock,
      logger,
    });
    clients.push(created);
    return created;
  };
  const cluster = clusterAccess({
    access: await access("kubelet.kubeconfig"),
    config: { kubeAPIQPS: 50, kubeAPIBurst: 100 },
    kubeletVersion: "v1.36.4",
    clock,
    logger,
  });
  clients.push(cluster);
  t.after(async () => {
    for (const each of clients) each.close();
    await api.stop();
    await removeDir(dir);
  });
  return { port, cluster, admin: await client("kubeconfig", "admin"), served, client, access };
}
