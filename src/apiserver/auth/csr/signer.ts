import type { Clock } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { epochMs } from "../../../lib/base/time.ts";
import type { Objects } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import type { Authority } from "../pki/authority.ts";
import { certificateOf, conditionsOf, isTrue } from "./conditions.ts";
import { planSigning, type Signing, type SigningRules } from "./plan-signing.ts";
import { csrResource } from "./signers.ts";
import { watchCsrs } from "./watch-csrs.ts";

export interface SignerOptions {
  readonly objects: () => Objects;
  readonly ca: Authority;
  readonly rules: SigningRules;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Signs approved certificate signing requests. */
export class CsrSigner implements Component {
  readonly name = "certificate-signer";
  readonly done: Promise<void>;
  readonly #o: SignerOptions;
  readonly #ended = Promise.withResolvers<void>();

  constructor(o: SignerOptions) {
    this.#o = o;
    this.done = this.#ended.promise;
  }

  start(signal: AbortSignal): Promise<void> {
    const loop = watchCsrs({ ...this.#o, signal, handle: (request) => this.#handle(request) });
    void loop.then(() => this.#ended.resolve());
    return Promise.resolve();
  }

  async #handle(request: ApiObject): Promise<void> {
    const { ca, rules, clock, logger } = this.#o;
    const plan = planSigning(request, ca, rules, epochMs(clock.wall()));
    if (plan.kind === "ignore") return;
    const { name, uid } = request.metadata;
    await this.#o.objects().change(
      { resource: csrResource, namespace: "", name },
      (draft) => {
        if (certificateOf(draft) || isTrue(draft, "Failed")) return;
        draft.status = { ...draft.status, ...outcome(plan, conditionsOf(draft)) };
      },
      { subresource: "status", uid },
    );
    if (plan.kind === "sign") logger.info("Signed certificate", { request: name });
    else
      logger.warn("Rejected certificate signing request", {
        request: name,
        reason: plan.reason,
        problem: plan.message,
      });
  }
}

function outcome(plan: Exclude<Signing, { kind: "ignore" }>, conditions: readonly object[]): object {
  if (plan.kind === "sign") return { certificate: Buffer.from(plan.certificate).toString("base64") };
  const { reason, message } = plan;
  return { conditions: [...conditions, { type: "Failed", status: "True", reason, message }] };
}
