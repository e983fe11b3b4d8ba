import type { VolumePlugin } from "../volume-plugin.ts";

/**
 * The content of an image, which the runtime mounts itself: it is pulled and added to the request when a container is created
 * (`mounts/container-mounts.ts`). The plugin does nothing.
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

/** The type of the field, which the published types do not have yet. */
export interface ImageVolumeSource {
  readonly reference?: string;
  readonly pullPolicy?: string;
}

export function imageOf(volume: object): ImageVolumeSource | undefined {
  return (volume as { image?: ImageVolumeSource }).image;
}
