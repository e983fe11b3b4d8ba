import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../../lib/base/clock.ts";
import { silentLogger } from "../../../../lib/base/logger.ts";
import { wallTime } from "../../../../lib/base/time.ts";
import { fakePod } from "../../../../lib/model/fake-pod.ts";
import type { Pod, Volume } from "../../../../lib/model/pod.ts";
import type { SetUpRequest, VolumePlugin } from "../volume-plugin.ts";
import type { ContentMounts } from "./content-dir.ts";
import { type ContentOptions, contentPlugins } from "./content-plugins.ts";
import type { ConfigMapContent, ContentObjects, SecretContent } from "./object-files.ts";
import type { Token } from "./tokens/token-request.ts";

/** For tests: objects by "Kind namespace/name". */
export class FakeObjects {
  readonly all = new Map<string, SecretContent | ConfigMapContent>();

  secret(name: string, data: Readonly<Record<string, string>>): void {
    const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
    this.all.set(`Secret default/${name}`, { data: Object.fromEntries(encoded) });
  }

  configMap(name: string, content: ConfigMapContent): void {
    this.all.set(`ConfigMap default/${name}`, content);
  }

  readonly source = {
    get: async (kind: string, namespace: string, name: string) => {
      const found = this.all.get(`${kind} ${namespace}/${name}`);
      if (found) return found;
      throw Object.assign(new Error(`${kind.toLowerCase()} "${name}" not found`), { status: 404 });
    },
  } as ContentObjects;
}

/** Records mounts without mounting anything. */
export class FakeMounts implements ContentMounts {
  readonly mounted = new Map<string, unknown>();
  readonly calls: string[] = [];
  mountFault: Error | undefined;

  async mountTmpfs(dir: string, options?: unknown): Promise<void> {
    this.calls.push(`mount ${dir}`);
    if (this.mountFault) throw this.mountFault;
    this.mounted.set(dir, options);
  }
  async unmount(dir: string): Promise<void> {
    this.calls.push(`unmount ${dir}`);
    this.mounted.delete(dir);
  }
  async isMountPoint(dir: string): Promise<boolean> {
    return this.mounted.has(dir);
  }
}

export class FakeTokens {
  readonly requests: [uid: string, request: unknown][] = [];
  readonly deleted: string[] = [];
  text = "token";
  async get({ metadata }: Pod, request: unknown): Promise<Token> {
    this.requests.push([metadata.uid, request]);
    return { token: this.text, expirationTimestamp: "", expiresAt: wallTime(0), lifetimeMs: undefined };
  }
  delete(uid: string): void {
    this.deleted.push(uid);
  }
}

/** A node's root directory with the dependencies of the plugins. */
export class FakeContentNode {
  readonly objects = new FakeObjects();
  readonly mounts = new FakeMounts();
  readonly tokens = new FakeTokens();
  readonly root: string;
  readonly #more: Partial<ContentOptions>;

  constructor(root: string, more: Partial<ContentOptions> = {}) {
    this.root = root;
    this.#more = more;
  }

  pluginFor(volume: Volume): VolumePlugin {
    const plugins = contentPlugins({
      clock: systemClock,
      logger: silentLogger,
      mounts: this.mounts,
      objects: this.objects.source,
      tokens: this.tokens,
      allocatable: () => ({ cpu: "2", memory: "1Gi" }),
      ...this.#more,
    });
    const handling = plugins.filter((plugin) =>
      plugin.handles({ name: volume.name, volume, readOnly: false }),
    );
    if (handling.length !== 1 || !handling[0])
      throw new Error(`${handling.length} plugins handle the volume`);
    return handling[0];
  }

  /** The request of the volume manager. */
  request(volume: Volume, more: Partial<SetUpRequest> = {}): SetUpRequest {
    const pod = more.pod ?? podWith(volume);
    const podUid = pod.metadata.uid;
    const pluginDir = join(
      this.root,
      "pods",
      podUid,
      "volumes",
      this.pluginFor(volume).name.replace("/", "~"),
    );
    mkdirSync(pluginDir, { recursive: true });
    return {
      podUid,
      dir: join(pluginDir, volume.name),
      pod,
      spec: { name: volume.name, volume, readOnly: false },
      fsGroup: undefined,
      fsGroupChangePolicy: undefined,
      deviceDir: undefined,
      signal: new AbortController().signal,
      ...more,
    };
  }
}

export function podWith(volume: Volume, parts: Parameters<typeof fakePod>[0] = {}): Pod {
  return fakePod({ ...parts, spec: { serviceAccountName: "cart", volumes: [volume], ...parts.spec } });
}
