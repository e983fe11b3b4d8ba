import type { Pod, PodUid, Volume } from "../../../lib/model/pod.ts";

/** A volume of a pod, with what its claim led to. */
export interface VolumeSpec {
  /** Of its folder: the name of the pod's volume, or that of the PersistentVolume behind its claim. */
  readonly name: string;
  readonly volume: Volume;
  readonly persistent?: PersistentSource;
  /** By the claim, or the source itself. */
  readonly readOnly: boolean;
  /** True if it is of a type that a CSI driver serves in its stead. */
  readonly migrated?: boolean;
}

/** What a claim is bound to. The objects are as the API has them; without a claim the name of `claim` is empty. */
export interface PersistentSource {
  readonly volumeName: string;
  // biome-ignore lint/suspicious/noExplicitAny: PersistentVolumeSpec; each plugin knows its part.
  readonly spec: any;
  readonly claim: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly mode: "Filesystem" | "Block";
  /** Of the PersistentVolume. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** The size that the claim's status tells; smaller than the volume's while the node has to grow it. */
  readonly claimCapacity?: string;
}

/** Where a volume is for one pod: `<root>/pods/<uid>/volumes/<plugin with ~>/<name>`. */
export interface PodVolumeTarget {
  readonly podUid: PodUid;
  readonly dir: string;
}

export interface SetUpRequest extends PodVolumeTarget {
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  /** The group that files are to belong to, and whether all are looked at or only the root. */
  readonly fsGroup: number | undefined;
  readonly fsGroupChangePolicy: "Always" | "OnRootMismatch" | undefined;
  /** Where the device is mounted for the whole node, if this plugin does so. */
  readonly deviceDir: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * One type of volume. All paths are the manager's to choose. setUp and tearDown can be called again at any time, also after
 * one that was cut short, and by an agent that knows nothing of the former one.
 */
export interface VolumePlugin {
  /** "kubernetes.io/secret" */
  readonly name: string;
  handles(spec: VolumeSpec): boolean;
  /** The same for all pods that share what is behind it: nothing is done twice at a time for one of these. */
  uniqueName(pod: Pod, spec: VolumeSpec): string;
  /** Mounts or writes the volume at `dir`. An error's message is told to users as it is. */
  setUp(request: SetUpRequest): Promise<void>;
  tearDown(target: PodVolumeTarget, signal: AbortSignal): Promise<void>;
  /**
   * True if it is known that a former agent had set it up to the end, and that it is still so: then nobody is asked whether it may
   * be used, and the node's mount behind it counts as there. Default: that is not known.
   */
  isStillSetUp?(pod: Pod, spec: VolumeSpec, target: PodVolumeTarget): Promise<boolean>;
  /**
   * True if setUp is to be called again for a volume that is there already: its content follows something (a Secret, the pod's
   * labels, a token that ages). Then setUp must leave alone what is right.
   */
  readonly requiresRemount?: boolean;
  /** The same for one volume: by what is known of it now (a CSI driver that wants to be asked again, a volume that has grown). */
  requiresRemountNow?(spec: VolumeSpec): boolean;
  /** For those that have one mount for the node, which pods share. */
  readonly device?: DeviceMounter;
  /** For `volumeDevices`. */
  readonly block?: BlockVolumeMapper;
  /** False for what containers reach without a mount of ours (hostPath). */
  readonly hasDir?: boolean;
  /** The path that containers get, if it is not `dir` (hostPath). */
  hostPath?(spec: VolumeSpec): string;
  /** Where below `dir` the volume is (CSI: "<dir>/mount"); default: `dir` itself. */
  mountPath?(dir: string): string;
  /** True if its files get the SELinux label of the pod; unless told otherwise, those of a folder that was made for the pod. */
  relabels?(spec: VolumeSpec): boolean;
  /** What it takes and has, if a look at `dir` would not tell. */
  stats?(
    target: PodVolumeTarget,
    spec: VolumeSpec | undefined,
    signal: AbortSignal,
  ): Promise<VolumeUsage | undefined>;
  /** How the plugin makes of what it finds on disk after a restart what it needs to tear it down; default: nothing is needed. */
  reconstruct?(target: PodVolumeTarget): Promise<VolumeSpec | undefined>;
}

/** Bytes and files; what is not known is left out. */
export interface VolumeUsage {
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly usedBytes?: number;
  readonly inodes?: number;
  readonly inodesFree?: number;
  readonly inodesUsed?: number;
  readonly healthy?: boolean;
  /** Why it is not healthy. */
  readonly message?: string;
}

export interface DeviceMounter {
  /** False for volumes of this plugin that have no mount for the node (inline ones); true unless told otherwise. */
  applies?(spec: VolumeSpec): boolean;
  /** True if a controller attaches it to the node, which is told of it in `volumesInUse`; true unless told otherwise. */
  attachable?(spec: VolumeSpec): boolean;
  /**
   * Resolves when the volume is attached to this node. If a controller attaches it, `verified` is awaited first: it resolves when
   * the cluster knows that the volume is in use here, so that it stays, and says that it is attached.
   */
  waitForAttach(
    pod: Pod,
    spec: VolumeSpec,
    signal: AbortSignal,
    verified?: () => Promise<void>,
  ): Promise<void>;
  /** True if it is not attached because the node takes no more of its kind, by what the controller says. */
  isExhausted?(spec: VolumeSpec, signal: AbortSignal): Promise<boolean>;
  /** The folder of the node's mount. */
  deviceDir(spec: VolumeSpec): string;
  mountDevice(
    pod: Pod,
    spec: VolumeSpec,
    dir: string,
    fsGroup: number | undefined,
    signal: AbortSignal,
  ): Promise<void>;
  unmountDevice(dir: string, signal: AbortSignal): Promise<void>;
  /**
   * The node's mounts that are on disk when the agent starts: one may be left over from an agent that ended after the last pod's
   * volume was gone. Default: only those are known that a pod's volume leads to.
   */
  reconstructDevices?(): Promise<
    readonly { readonly unique: string; readonly dir: string; readonly spec: VolumeSpec }[]
  >;
}

/** `place.dir` is `<root>/pods/<uid>/volumeDevices/<plugin with ~>/<name>` here; the link there is the manager's to make. */
export interface BlockVolumeMapper {
  /** Makes the device available and returns its path on the host. */
  map(pod: Pod, spec: VolumeSpec, target: PodVolumeTarget, signal: AbortSignal): Promise<string>;
  unmap(target: PodVolumeTarget, signal: AbortSignal): Promise<void>;
  /**
   * The folder in which the manager binds the device under the UID of each pod that uses it, and takes it away again before
   * unmap(). Without it only the pod's own link is made.
   */
  globalMapDir?(name: string): string;
}
