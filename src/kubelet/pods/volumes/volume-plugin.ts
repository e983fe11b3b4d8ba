import type { DiskUsage } from "../../../lib/host/disk-usage.ts";
import type { Pod, PodUid, Volume } from "../../../lib/model/pod.ts";

/** A volume of a pod, with its PersistentVolume if it is a PVC. */
export interface VolumeSpec {
  /** The name of the directory: the name of the pod's volume, or of the PersistentVolume of its PVC. */
  readonly name: string;
  readonly volume: Volume;
  readonly persistent?: PersistentSource;
  /** From the PVC or the volume source. */
  readonly readOnly: boolean;
  /** True if it is of an in-tree type that was migrated to CSI. */
  readonly migrated?: boolean;
}

/** The PersistentVolume of a PVC. The objects are as in the API; without a PVC the name of `claim` is empty. */
export interface PersistentSource {
  readonly volumeName: string;
  /** The UID of the PersistentVolume; undefined for one that was found on disk. */
  readonly volumeUid?: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: PersistentVolumeSpec; each plugin reads its own source.
  readonly spec: any;
  readonly claim: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly mode: "Filesystem" | "Block";
  /** The labels of the PersistentVolume. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** The capacity in the PVC's status; smaller than the volume's while the node has to expand it. */
  readonly claimCapacity?: string;
}

/** The directory of a volume for one pod: `<root>/pods/<uid>/volumes/<plugin with ~>/<name>`. */
export interface PodVolumeTarget {
  readonly podUid: PodUid;
  readonly dir: string;
}

export interface SetUpRequest extends PodVolumeTarget {
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  /** The group of the files, and whether all files are checked or only the root. */
  readonly fsGroup: number | undefined;
  readonly fsGroupChangePolicy: "Always" | "OnRootMismatch" | undefined;
  /** The device mount, if this plugin has one. */
  readonly deviceDir: string | undefined;
  /** The SELinux label with which it is mounted; default: without. */
  readonly label?: string;
  readonly signal: AbortSignal;
}

/** A spec that was reconstructed from disk. */
export interface FoundSpec extends VolumeSpec {
  /** The SELinux label with which the volume was mounted; default: none. */
  readonly label?: string;
}

/**
 * One type of volume. The manager chooses all paths. setUp and tearDown are idempotent: they may be called again at any time, even after
 * an interrupted call, and after a restart of the agent.
 */
export interface VolumePlugin {
  /** "kubernetes.io/secret" */
  readonly name: string;
  handles(spec: VolumeSpec): boolean;
  /** The same for all pods that share the volume: at most one operation runs per unique name. */
  uniqueName(pod: Pod, spec: VolumeSpec): string;
  /** Mounts or writes the volume at `dir`. Error messages are shown to users as they are. */
  setUp(request: SetUpRequest): Promise<void>;
  tearDown(target: PodVolumeTarget, signal: AbortSignal): Promise<void>;
  /**
   * True if the volume is known to be completely set up since before a restart of the agent: then its attachment is not verified, and
   * its device is considered mounted. Default: not known.
   */
  isStillSetUp?(pod: Pod, spec: VolumeSpec, target: PodVolumeTarget): Promise<boolean>;
  /**
   * True if setUp has to be called again for a mounted volume because its source may change (a Secret, the pod's labels, an expiring
   * token). Then setUp must not touch what is up to date.
   */
  readonly requiresRemount?: boolean;
  /** The same for one volume, according to its current state (a CSI driver with requiresRepublish, a volume to expand). */
  requiresRemountNow?(spec: VolumeSpec): boolean;
  /** True if the volume is set up again only to be expanded, if at all. */
  expandsNow?(spec: VolumeSpec): boolean;
  /** For types with one device mount per node, which pods share. */
  readonly device?: DeviceMounter;
  /** For `volumeDevices`. */
  readonly block?: BlockVolumeMapper;
  /** False if the volume has no directory in the pod's directory (hostPath). */
  readonly hasDir?: boolean;
  /** The path that containers get, if it is not `dir` (hostPath). */
  hostPath?(spec: VolumeSpec): string;
  /** The mount point below `dir` (CSI: "<dir>/mount"); default: `dir` itself. */
  mountPath?(dir: string): string;
  /**
   * True if the runtime sets the SELinux label of the pod on its files, on a node with SELinux. `path` is where it is mounted. Default: if
   * it has a directory in the pod's directory. `label` as in SetUpRequest.
   */
  relabels?(spec: VolumeSpec, path: string, label: string): boolean;
  /** True if the volume can be mounted with one SELinux label for all files. Default: it cannot. */
  mountsWithLabel?(spec: VolumeSpec, signal: AbortSignal): Promise<boolean>;
  /** Usage and capacity, if they cannot be measured at `dir`. */
  stats?(
    target: PodVolumeTarget,
    spec: VolumeSpec | undefined,
    signal: AbortSignal,
  ): Promise<VolumeUsage | undefined>;
  /** Usage of a directory on the node's disk that is known without reading it; default: none is. */
  usage?(dir: string): Promise<DiskUsage | undefined>;
  /** Reconstructs from disk after a restart what tearDown needs; default: nothing is needed. */
  reconstruct?(target: PodVolumeTarget): Promise<FoundSpec | undefined>;
}

/** Bytes and inodes; unknown values are omitted. */
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
  /** False for volumes of this plugin without a device mount (inline ones); default: true. */
  applies?(spec: VolumeSpec): boolean;
  /** True if a controller attaches the volume, so that it is reported in `volumesInUse`; default: true. */
  attachable?(spec: VolumeSpec): boolean;
  /** The name by which the controller attaches the volume, and reports it in the node status; default: its unique name. */
  attachName?(spec: VolumeSpec): string;
  /**
   * Resolves when the volume is attached to this node. `verified` is awaited first. If a controller attaches the volume, it resolves when the
   * volume is reported in use, so that it is not detached, and is attached according to the node status; otherwise after attach(). The
   * result is the path of the device, if it is known.
   */
  waitForAttach(
    pod: Pod,
    spec: VolumeSpec,
    signal: AbortSignal,
    verified?: () => Promise<string | undefined>,
  ): Promise<void>;
  /**
   * Attaches the volume to this node, if the kubelet does this instead of a controller, and returns its device; default: there is nothing to
   * do.
   */
  attach?(spec: VolumeSpec, signal: AbortSignal): Promise<string>;
  /** Undoes attach(), after unmountDevice(). */
  detach?(spec: VolumeSpec, signal: AbortSignal): Promise<void>;
  /** True if the volume cannot be attached because the node's limit for its driver is reached, according to the controller. */
  isExhausted?(spec: VolumeSpec, signal: AbortSignal): Promise<boolean>;
  /** The directory of the device mount. */
  deviceDir(spec: VolumeSpec): string;
  mountDevice(
    pod: Pod,
    spec: VolumeSpec,
    dir: string,
    fsGroup: number | undefined,
    signal: AbortSignal,
    label?: string,
  ): Promise<void>;
  unmountDevice(dir: string, signal: AbortSignal): Promise<void>;
  /**
   * The device mounts on disk when the agent starts: one may be an orphan of an agent that stopped after the last pod volume was
   * unmounted. Default: only the devices of pod volumes are reconstructed.
   */
  reconstructDevices?(): Promise<
    readonly { readonly unique: string; readonly dir: string; readonly spec: FoundSpec }[]
  >;
}

/** `target.dir` is `<root>/pods/<uid>/volumeDevices/<plugin with ~>/<name>` here; the manager creates the symlink there. */
export interface BlockVolumeMapper {
  /** Makes the device available, and returns its path on the host. */
  map(pod: Pod, spec: VolumeSpec, target: PodVolumeTarget, signal: AbortSignal): Promise<string>;
  /** The device may still be in use by other pods. */
  unmap(target: PodVolumeTarget, signal: AbortSignal): Promise<void>;
  /** Called after `unmap`: releases the device, unless another pod uses it. */
  tearDownDevice?(target: PodVolumeTarget, signal: AbortSignal, spec?: VolumeSpec): Promise<void>;
  /**
   * The directory in which the manager bind-mounts the device under the UID of each pod that uses it, and unmounts it before
   * unmap(). Without it only the pod's symlink is created. `spec` is undefined if it is not known, after a restart of the agent.
   */
  globalMapDir?(name: string, spec: VolumeSpec | undefined): string | undefined;
}
