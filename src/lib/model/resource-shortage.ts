import { KubeletError } from "../base/errors.ts";

/**
 * Too little of a resource that containers do not share is free now. A pod waits for it while pods that have some of it are being
 * terminated, and is rejected otherwise.
 */
export class ResourceShortage extends KubeletError {}
