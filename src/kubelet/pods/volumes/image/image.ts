import type { VolumePlugin } from "../volume-plugin.ts";

/**
 * The content of an image, which the runtime mounts itself: it is pulled and named when a container is made
 * (`mounts/container-mounts.ts`). Here is nothing to do.
 */
export function imagePlugin(): VolumePlugin {
  return {
    name: "kubernetes.io/image",
    handles: ({ volume, persistent }) => !persistent && imageOf(volume) !== undefined,
    uniqueName: (pod, spec) => `kubernetes.io/image/${pod.metadata.uid}-${spec.name}`,
    hasDir: false,
    hostPath: () => "",
    async setUp() {},
    async tearDown() {},
  };
}

/** Newer than the published types. */
export interface ImageVolumeSource {
  readonly reference?: string;
  readonly pullPolicy?: string;
}

export function imageOf(volume: object): ImageVolumeSource | undefined {
  return (volume as { image?: ImageVolumeSource }).image;
}
