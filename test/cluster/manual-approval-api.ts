import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Attributes, Authorizer } from "../../src/apiserver/access.ts";
import { type Auth, auth, preparePki } from "../../src/apiserver/auth/auth.ts";
import { kubeconfig } from "../../src/apiserver/auth/pki/kubeconfig.ts";
import { definitions } from "../../src/apiserver/kinds/definitions.ts";
import { podDefinition } from "../../src/apiserver/kinds/pods/pod-definition.ts";
import { ApiServer } from "../../src/apiserver/server.ts";
import { memoryStore } from "../../src/apiserver/storage/fixtures.ts";
import { systemClock as clock } from "../../src/lib/base/clock.ts";
import { silentLogger as logger } from "../../src/lib/base/logger.ts";
import { ApiUser } from "./api-user.ts";

/**
 * The embedded API in this process, without automatic approval of certificate signing requests. Requests that match `isForbidden` are
 * rejected, as if the permission were missing.
 */
export async function startManualApprovalApi(
  t: TestContext,
  isForbidden: (attributes: Attributes) => boolean = () => false,
): Promise<ApiUser> {
  const dir = mkdtempSync(join(tmpdir(), "api-"));
  const pki = preparePki({ dir, clock, hostnames: [], addresses: [] });
  const parts: Auth = auth({
    pki,
    ownNames: { serviceAddress: "10.96.0.1", endpoints: [], localNodes: [] },
    objects: () => server.objects,
    clock,
    logger,
  });
  const { authenticator, admission } = parts;
  const authorizer: Authorizer = {
    allows: async (caller, attributes) =>
      isForbidden(attributes)
        ? { allowed: false, reason: "" }
        : await parts.authorizer.allows(caller, attributes),
  };
  const store = memoryStore();
  const { ca, serving, admin } = pki;
  const server: ApiServer = new ApiServer({
    store,
    definitions: definitions({ ...parts, pods: podDefinition({ mountTokens: false }) }),
    authenticator,
    authorizer,
    admission,
    tls: { key: serving.key, cert: serving.certificate, clientCa: ca.certificate },
  });
  const components = parts.components.filter(({ name }) => name !== "certificate-approver");
  const stop = new AbortController();
  await server.start(stop.signal);
  for (const component of components) await component.start(stop.signal);
  const address = { url: `https://127.0.0.1:${server.port}`, ca: ca.certificate };
  const adminAccess = { ca: address.ca, server: address.url, user: "admin", credential: admin };
  const user = new ApiUser({ ...address, kubeconfig: kubeconfig(adminAccess) });
  t.after(async () => {
    user.close();
    stop.abort();
    await Promise.all([server.done, ...components.map(({ done }) => done)]);
    store.close();
    rmSync(dir, { recursive: true });
  });
  for (const name of ["kube-system", "kube-node-lease"])
    await user.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  return user;
}
