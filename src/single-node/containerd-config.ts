import { join } from "node:path";
import type { NodeFiles } from "./node-files.ts";

export interface ContainerdSettings {
  readonly files: NodeFiles;
  readonly runc: string;
  readonly cniDir: string;
  readonly pauseImage: string;
  readonly snapshotter: "overlayfs" | "native";
}

/** The configuration file for a containerd of this major version. All its paths belong to the node. */
export function containerdConfig(major: number, settings: ContainerdSettings): string {
  return toml(major >= 2 ? version3(settings) : version2(settings));
}

/** The major version in the output of `containerd --version`, or undefined. */
export function majorVersion(versionLine: string): number | undefined {
  const match = /\sv?(\d+)\.\d+\.\d+/.exec(versionLine);
  return match ? Number(match[1]) : undefined;
}

type Toml = string | number | boolean | readonly string[] | { readonly [key: string]: Toml };
type Table = { readonly [key: string]: Toml };

const unusedSnapshotters = ["aufs", "btrfs", "devmapper", "zfs", "blockfile", "erofs"];

function common({ files }: ContainerdSettings): Table {
  return {
    root: files.containerd.root,
    state: files.containerd.state,
    grpc: { address: files.containerd.socket },
  };
}

function runtimes({ files, runc }: ContainerdSettings): Table {
  // With the default root, runc would share /run/containerd/runc with the host's containerd.
  const options = { BinaryName: runc, Root: files.containerd.runcRoot, SystemdCgroup: false };
  return { runc: { runtime_type: "io.containerd.runc.v2", options } };
}

const criBehavior: Table = {
  // A machine may lack CAP_SYS_RESOURCE; then runc could not lower oom_score_adj and the container would not start.
  restrict_oom_score_adj: true,
  netns_mounts_under_state_dir: true,
  enable_unprivileged_ports: false,
  enable_unprivileged_icmp: false,
};

const streaming: Table = { stream_server_address: "127.0.0.1", stream_server_port: "0" };

function version2(settings: ContainerdSettings): Table {
  const { files } = settings;
  return {
    version: 2,
    ...common(settings),
    disabled_plugins: [
      ...unusedSnapshotters.map((name) => `io.containerd.snapshotter.v1.${name}`),
      "io.containerd.internal.v1.restart",
      "io.containerd.tracing.processor.v1.otlp",
    ],
    plugins: {
      "io.containerd.internal.v1.opt": { path: files.containerd.opt },
      "io.containerd.grpc.v1.cri": {
        ...criBehavior,
        ...streaming,
        sandbox_image: settings.pauseImage,
        cni: { bin_dir: settings.cniDir, conf_dir: files.cni.conf },
        registry: { config_path: files.containerd.certs },
        containerd: {
          snapshotter: settings.snapshotter,
          default_runtime_name: "runc",
          runtimes: runtimes(settings),
        },
      },
    },
  };
}

function version3(settings: ContainerdSettings): Table {
  const { files } = settings;
  return {
    version: 3,
    ...common(settings),
    disabled_plugins: [
      ...unusedSnapshotters.map((name) => `io.containerd.snapshotter.v1.${name}`),
      "io.containerd.monitor.container.v1.restart",
      "io.containerd.tracing.processor.v1.otlp",
      "io.containerd.differ.v1.erofs",
    ],
    plugins: {
      "io.containerd.internal.v1.opt": { path: files.containerd.opt },
      // The CRI plugin does not load without a verifier; this one has an empty directory, so it runs nothing.
      "io.containerd.image-verifier.v1.bindir": { bin_dir: join(files.containerd.opt, "image-verifier") },
      "io.containerd.nri.v1.nri": { disable: true }, // its socket belongs to the host
      "io.containerd.grpc.v1.cri": streaming,
      "io.containerd.cri.v1.images": {
        snapshotter: settings.snapshotter,
        pinned_images: { sandbox: settings.pauseImage },
        registry: { config_path: files.containerd.certs },
      },
      "io.containerd.transfer.v1.local": { config_path: files.containerd.certs },
      "io.containerd.cri.v1.runtime": {
        ...criBehavior,
        enable_cdi: true,
        // DRA drivers and device plugins write CDI specifications to the directories of the host, unless configured otherwise.
        cdi_spec_dirs: ["/etc/cdi", "/var/run/cdi", files.containerd.cdi],
        cni: { bin_dirs: [settings.cniDir], conf_dir: files.cni.conf },
        containerd: { default_runtime_name: "runc", runtimes: runtimes(settings) },
      },
    },
  };
}

/** Plain values first, then the tables, as TOML requires. */
function toml(table: Table, path: readonly string[] = []): string {
  const own: string[] = [];
  const tables: string[] = [];
  for (const [key, value] of Object.entries(table)) {
    if (typeof value === "object" && !Array.isArray(value)) {
      tables.push(toml(value as Table, [...path, key]));
    } else {
      own.push(`${key} = ${JSON.stringify(value)}`);
    }
  }
  const header =
    path.length > 0 && own.length > 0 ? [`[${path.map((key) => JSON.stringify(key)).join(".")}]`] : [];
  const text = own.length > 0 ? `${[...header, ...own].join("\n")}\n` : "";
  return [text, ...tables].filter(Boolean).join("\n");
}
