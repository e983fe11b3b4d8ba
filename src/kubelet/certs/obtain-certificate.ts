import type { KeyObject } from "node:crypto";
import { type Clock, sleep } from "../../lib/base/clock.ts";
import { httpStatusOf, isAbort, KubeletError, messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { CertificateApi, SigningRequest, SigningRequestState } from "./certificate-api.ts";
import { csrResult, incompatibility } from "./csr-result.ts";

export interface ObtainOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** How long approval and signature may take. */
  readonly timeoutMs: number;
}

/** Sends a request, or finds the one that an earlier start has sent under the same name, and waits for its certificate. */
export async function obtainCertificate(
  api: CertificateApi,
  request: SigningRequest,
  key: KeyObject,
  options: ObtainOptions,
): Promise<string> {
  const sent = await send(api, request, key, options);
  return waitForCertificate(api, sent, options);
}

async function send(
  api: CertificateApi,
  request: SigningRequest,
  key: KeyObject,
  { clock, logger, signal }: ObtainOptions,
): Promise<SigningRequestState> {
  try {
    const created = await api.create(request, signal);
    logger.debug(2, "Certificate signing request created", { csr: created.name });
    return created;
  } catch (error) {
    if (isAbort(error)) throw error;
    if (httpStatusOf(error) !== 409 || request.name === undefined) {
      throw wrapped("cannot create certificate signing request", error);
    }
  }
  logger.info("csr for this node already exists, reusing", { csr: request.name });
  const found = await api.get(request.name, signal).catch((error) => {
    throw isAbort(error) ? error : wrapped("cannot retrieve certificate signing request", error);
  });
  const problem = incompatibility(found, request, key, clock.wall());
  if (problem !== undefined) {
    throw new KubeletError("CertificateIncompatible", `retrieved csr is not compatible: ${problem}`);
  }
  return found;
}

const wrapped = (what: string, cause: unknown) =>
  new KubeletError("CertificateRequest", `${what}: ${messageOf(cause)}`, { cause });

async function waitForCertificate(
  api: CertificateApi,
  sent: SigningRequestState,
  { clock, signal, timeoutMs }: ObtainOptions,
): Promise<string> {
  const known = Promise.withResolvers<string>();
  const over = new AbortController();
  const ending = AbortSignal.any([signal, over.signal]);
  const watching = api.watch(
    sent.name,
    (state) => {
      const result = csrResult(state, sent);
      if (result.kind === "issued") known.resolve(result.certificate);
      if (result.kind === "failed") known.reject(result.error);
    },
    ending,
  );
  const timeout = sleep(clock, timeoutMs, ending).then(() => {
    const minutes = Math.round(timeoutMs / 60_000);
    throw new KubeletError(
      "CertificateTimeout",
      `csr "${sent.name}" was not signed within ${minutes} minutes`,
    );
  });
  const lost = watching.then(() => timeout);
  try {
    return await Promise.race([known.promise, timeout, lost]);
  } finally {
    over.abort();
    await Promise.allSettled([timeout, lost, watching]);
  }
}
