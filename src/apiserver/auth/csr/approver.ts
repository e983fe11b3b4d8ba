import type { Clock } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { runPeriodically } from "../../../lib/base/run-periodically.ts";
import type { Authorizer } from "../../access.ts";
import type { Objects } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import type { OwnNames } from "../pki/own-names.ts";
import { decideApproval } from "./approval-decision.ts";
import { conditionsOf, isTrue } from "./conditions.ts";
import { csrResource } from "./signers.ts";
import { watchCsrs } from "./watch-csrs.ts";

export interface ApproverOptions {
  readonly objects: () => Objects;
  readonly authorizer: Authorizer;
  readonly ownNames: OwnNames;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Automatically approves the certificate signing requests that kubelets are entitled to. */
export class CsrApprover implements Component {
  readonly name = "certificate-approver";
  readonly done: Promise<void>;
  readonly #o: ApproverOptions;
  readonly #ended = Promise.withResolvers<void>();
  /** Requests for names or addresses that their node does not have yet, with the name of the node. */
  readonly #waiting = new Map<string, string>();

  constructor(o: ApproverOptions) {
    this.#o = o;
    this.done = this.#ended.promise;
  }

  start(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#o;
    const requests = watchCsrs({ ...this.#o, signal, handle: (request) => this.#handle(request) });
    const nodes = runPeriodically(() => this.#watchNodes(signal), {
      clock,
      everyMs: 1000,
      signal,
      onError: (error) =>
        logger.warn("Failed to watch nodes for certificate approval", { err: messageOf(error) }),
    });
    void Promise.all([requests, nodes]).then(() => this.#ended.resolve());
    return Promise.resolve();
  }

  async #watchNodes(signal: AbortSignal): Promise<void> {
    const objects = this.#o.objects();
    for await (const { object } of objects.listAndWatch("nodes", signal))
      for (const [name, node] of [...this.#waiting]) {
        if (node !== object.metadata.name) continue;
        const request = await objects.get({ resource: csrResource, namespace: "", name });
        if (request) await this.#handle(request);
        else this.#waiting.delete(name);
      }
  }

  async #handle(request: ApiObject): Promise<void> {
    const { logger } = this.#o;
    const { name, uid } = request.metadata;
    const objects = this.#o.objects();
    const approval = await decideApproval(request, { ...this.#o, objects });
    if (approval.kind === "wait") {
      this.#waiting.set(name, approval.node);
      logger.info("Serving certificate request is waiting for its node", {
        request: name,
        reason: approval.reason,
      });
      return;
    }
    this.#waiting.delete(name);
    if (approval.kind === "ignore") return;
    const { message } = approval;
    await objects.change(
      { resource: csrResource, namespace: "", name },
      (draft) => {
        if (isTrue(draft, "Approved") || isTrue(draft, "Denied")) return;
        const condition = { type: "Approved", status: "True", reason: "AutoApproved", message };
        draft.status = { ...draft.status, conditions: [...conditionsOf(draft), condition] };
      },
      { subresource: "approval", uid },
    );
    logger.info("Approved certificate signing request", { request: name });
  }
}
