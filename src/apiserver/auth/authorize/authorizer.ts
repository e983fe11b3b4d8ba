import type { Attributes, Authorizer, Decision } from "../../access.ts";
import type { Caller } from "../../definition.ts";
import { nodeNameOf } from "../names.ts";
import { rulesFor } from "./fixed-policy.ts";
import { decideForNode } from "./node-authorizer.ts";
import type { RelatedResource } from "./node-graph.ts";
import { ruleAllows } from "./rules.ts";

export interface Relations {
  related(node: string, kind: RelatedResource, namespace: string, name: string): Promise<boolean>;
}

/** The fixed policy, and the Node authorizer for nodes. */
export class FixedAuthorizer implements Authorizer {
  readonly #relations: Relations;

  constructor(o: { relations: Relations }) {
    this.#relations = o.relations;
  }

  async allows(caller: Caller, attributes: Attributes): Promise<Decision> {
    if (rulesFor(caller, attributes.namespace).some((rule) => ruleAllows(rule, attributes)))
      return { allowed: true };
    const node = nodeNameOf(caller);
    if (node === undefined) return { allowed: false };
    if (node === "") return { allowed: false, reason: `unknown node for user "${caller.name}"` };
    return await this.#allowsNode(node, attributes);
  }

  async #allowsNode(node: string, attributes: Attributes): Promise<Decision> {
    const decision = decideForNode(node, attributes);
    if (decision.kind === "decided") return decision.decision;
    if (await this.#relations.related(node, decision.to, decision.namespace, decision.name))
      return { allowed: true };
    return { allowed: false, reason: `no relationship found between node '${node}' and this object` };
  }
}
