import { type Clock, sleep } from "../../../../lib/base/clock.ts";
import { type Component, type Health, healthy } from "../../../../lib/base/component.ts";
import { httpStatusOf, isAbort, KubeletError, messageOf, orNotFound } from "../../../../lib/base/errors.ts";
import { failureLog } from "../../../../lib/base/failure-log.ts";
import { KeyedLocks } from "../../../../lib/base/keyed-locks.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import { WakeUp } from "../../../../lib/base/wait.ts";
import type { KubeTransport } from "../../../../lib/clients/kube/transport-interface.ts";
import type { DriverNodeInfo } from "./csi-client.ts";
import {
  type CsiNodeObject,
  isOwnedBy,
  type NodeMeta,
  newCsiNode,
  nodePatchFor,
  nodePatchWithout,
  withDriver,
  withMigration,
  withoutDriver,
} from "./csi-node-plan.ts";

const requestTimeoutMs = 10_000;
/** For conflicts with other writers; other failures are retried by the caller. */
const retryAfterMs = [10, 50, 250];
const initialRetryMs = { first: 100, most: 4_000 };

export interface CsiNodeOptions {
  readonly transport: Pick<KubeTransport, "request" | "onReconnect">;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The CSINode object exists: the node may be ready. */
  readonly onReady?: () => void;
}

/** The node has no Node object yet: the next attempt is later than after a conflict. */
class NotRegistered extends Error {}

/** Reports the drivers of this node: in its CSINode object, and in labels and an annotation of its Node. */
export interface CsiNodeInfo {
  install(driver: string, info: DriverNodeInfo, signal: AbortSignal): Promise<void>;
  /** Updates only the CSINode object, with a new allocatable count. */
  update(driver: string, info: DriverNodeInfo, signal: AbortSignal): Promise<void>;
  uninstall(driver: string, signal: AbortSignal): Promise<void>;
}

/**
 * The node must not be ready before its CSINode object exists (see health): the scheduler would assume a node without drivers.
 */
export class CsiNode implements CsiNodeInfo, Component {
  readonly name = "csi-node";
  readonly #o: CsiNodeOptions;
  readonly #csiNodePath: string;
  readonly #nodePath: string;
  #loop: Promise<void> = Promise.resolve();
  #problem: string | undefined = "CSINode is not yet initialized";
  #attempted = false;
  #nodeExists = false;
  #wake: (() => void) | undefined;
  /** Updates are serialized: two that read the same version would conflict. */
  readonly #lock = new KeyedLocks();

  constructor(options: CsiNodeOptions) {
    this.#o = options;
    const name = encodeURIComponent(options.nodeName);
    this.#csiNodePath = `/apis/storage.k8s.io/v1/csinodes/${name}`;
    this.#nodePath = `/api/v1/nodes/${name}`;
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#loop = this.#initialize(signal);
  }

  health(): Health {
    return this.#problem === undefined ? healthy : { ok: false, reason: this.#problem };
  }

  /** Whether an attempt to initialize the object has finished, successful or not. */
  get attempted(): boolean {
    return this.#attempted;
  }

  /** The Node object was observed in the API: an attempt that has failed for want of it is repeated immediately. */
  nodeExists(): void {
    this.#nodeExists = true;
    this.#wake?.();
  }

  async install(driver: string, info: DriverNodeInfo, signal: AbortSignal): Promise<void> {
    if (!info.nodeId) {
      const message = "error adding CSI driver node info: driverNodeID must not be empty";
      throw new KubeletError("CsiNode", message);
    }
    await this.#serialize(
      "error updating Node object with CSI driver node info: error updating node",
      signal,
      async () => {
        const patch = nodePatchFor(await this.#getNode(signal), driver, info);
        if (patch) await this.#patchNode(patch, signal);
      },
    );
    await this.update(driver, info, signal);
  }

  async update(driver: string, info: DriverNodeInfo, signal: AbortSignal): Promise<void> {
    const what = "error updating CSINode object with CSI driver node info: error updating CSINode";
    await this.#serialize(what, signal, async () => {
      const object = await this.#ensure(await this.#getNode(signal), signal);
      const desired = withDriver(object, driver, info);
      if (desired) await this.#put(desired, signal);
    });
  }

  async uninstall(driver: string, signal: AbortSignal): Promise<void> {
    await this.#serialize(
      "error uninstalling CSI driver from CSINode object error updating CSINode",
      signal,
      async () => {
        const object = await this.#find(signal);
        const desired = object && withoutDriver(object, driver);
        if (desired) await this.#put(desired, signal);
      },
    );
    await this.#serialize(
      "error removing CSI driver node info from Node object error updating node",
      signal,
      async () => {
        const patch = nodePatchWithout(await this.#getNode(signal), driver);
        if (patch) await this.#patchNode(patch, signal);
      },
    );
  }

  async #initialize(signal: AbortSignal): Promise<void> {
    const { clock, logger, transport, onReady } = this.#o;
    for (
      let waitMs = initialRetryMs.first;
      !signal.aborted;
      waitMs = Math.min(2 * waitMs, initialRetryMs.most)
    ) {
      this.#nodeExists = false;
      let isAwaited = false;
      try {
        await this.#serialize("error updating CSINode annotation", signal, async () => {
          const object = await this.#ensure(await this.#getRegisteredNode(signal), signal);
          const desired = withMigration(object);
          if (desired) await this.#put(desired, signal);
        });
        this.#problem = undefined;
        this.#attempted = true;
        return onReady?.();
      } catch (error) {
        if (isAbort(error)) return;
        this.#attempted = true;
        this.#problem = `failed to initialize CSINode: ${messageOf(error)}`;
        isAwaited = error instanceof KubeletError && error.cause instanceof NotRegistered;
        failureLog(logger, 2, error)("Failed to initialize CSINode", { err: messageOf(error) });
      }
      if (isAwaited && this.#nodeExists) continue;
      const retry = new WakeUp();
      if (isAwaited) this.#wake = () => retry.notify();
      const stopListening = transport.onReconnect?.(() => retry.notify());
      await retry.wait(clock, waitMs, signal);
      stopListening?.();
      this.#wake = undefined;
    }
  }

  /** An aborted caller leaves the queue. */
  async #serialize(what: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    using _ = await this.#lock.acquire([""], signal);
    await this.#attempts(what, signal, work);
  }

  async #attempts(what: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    const problems: string[] = [];
    for (const waitMs of [...retryAfterMs, undefined]) {
      signal.throwIfAborted();
      try {
        return await work();
      } catch (error) {
        if (signal.aborted) throw error;
        problems.push(messageOf(error));
        if (waitMs === undefined || error instanceof NotRegistered) {
          const causes = [...new Set(problems)].join(", ");
          throw new KubeletError(
            "CsiNode",
            `${what}: timed out waiting for the condition; caused by: ${causes}`,
            {
              cause: error,
            },
          );
        }
      }
      await sleep(this.#o.clock, waitMs, signal);
    }
  }

  /** Returns or creates the object. A CSINode of a previous node with the same name is deleted, and the next attempt creates a new one. */
  async #ensure(node: NodeMeta, signal: AbortSignal): Promise<CsiNodeObject> {
    const object = await this.#find(signal);
    if (!object) {
      const path = this.#csiNodePath.slice(0, this.#csiNodePath.lastIndexOf("/"));
      return this.#request("POST", path, signal, newCsiNode(node));
    }
    if (isOwnedBy(object, node)) return object;
    await this.#request("DELETE", this.#csiNodePath, signal);
    const message = `CSINode "${node.metadata.name}" was owned by different node, deleted it`;
    throw new KubeletError("CsiNode", message);
  }

  #find(signal: AbortSignal): Promise<CsiNodeObject | undefined> {
    return orNotFound(this.#request<CsiNodeObject>("GET", this.#csiNodePath, signal));
  }

  #put(object: CsiNodeObject, signal: AbortSignal): Promise<CsiNodeObject> {
    const body = { apiVersion: "storage.k8s.io/v1", kind: "CSINode", ...object };
    return this.#request("PUT", this.#csiNodePath, signal, body);
  }

  #getNode(signal: AbortSignal): Promise<NodeMeta> {
    return this.#request("GET", this.#nodePath, signal);
  }

  /** Before the node is registered, each attempt fails with its first request. */
  async #getRegisteredNode(signal: AbortSignal): Promise<NodeMeta> {
    try {
      return await this.#getNode(signal);
    } catch (error) {
      throw httpStatusOf(error) === 404 ? new NotRegistered(messageOf(error), { cause: error }) : error;
    }
  }

  async #patchNode(body: object, signal: AbortSignal): Promise<void> {
    await this.#o.transport.request({
      method: "PATCH",
      path: `${this.#nodePath}/status`,
      body,
      contentType: "application/strategic-merge-patch+json",
      signal,
      timeoutMs: requestTimeoutMs,
    });
  }

  #request<T>(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    signal: AbortSignal,
    body?: object,
  ): Promise<T> {
    return this.#o.transport.request<T>({ method, path, body, signal, timeoutMs: requestTimeoutMs });
  }
}
