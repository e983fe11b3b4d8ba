import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, pipeline, type Transform } from "node:stream";
import { nodeFiles } from "../../src/single-node/node-files.ts";
import type { OciImage } from "../../src/single-node/oci-image.ts";
import type { TestNode } from "../node/test-node.ts";
import { freePort, get, repoDir } from "./agent-process.ts";
import { waitFor } from "./wait-for.ts";

const program = join(repoDir, ".cache/docker-registry/usr/bin/docker-registry");

export const registryUnavailable: string | false = existsSync(program)
  ? false
  : "docker-registry is not unpacked (npm test does that, as root on Debian)";

export interface RegistryRequest {
  method: string;
  repository: string;
  /** "manifests" or "blobs". */
  kind: string;
}

/** Debian's docker-registry on loopback, behind a proxy that counts requests and can delay them. */
export class Registry {
  readonly port: number;
  readonly requests: RegistryRequest[] = [];
  /** Each request waits for this promise. */
  gate: (registryRequest: RegistryRequest) => Promise<void> = () => Promise.resolve();
  /** Bodies of responses pass through one of these. */
  transform: () => Transform = () => new PassThrough();
  readonly #child: ChildProcess;
  readonly #proxy: Server;
  readonly #dir: string;
  readonly #innerPort: number;

  private constructor(child: ChildProcess, proxy: Server, dir: string, innerPort: number) {
    this.#child = child;
    this.#proxy = proxy;
    this.#dir = dir;
    this.#innerPort = innerPort;
    this.port = (proxy.address() as { port: number }).port;
    proxy.on("request", (incoming, outgoing) => void this.#forward(incoming, outgoing));
  }

  static async start(): Promise<Registry> {
    const dir = mkdtempSync(join(tmpdir(), "registry-"));
    const port = await freePort();
    const config = {
      version: 0.1,
      log: { level: "error" },
      storage: { filesystem: { rootdirectory: join(dir, "data") } },
      http: { addr: `127.0.0.1:${port}` },
    };
    writeFileSync(join(dir, "config.yml"), JSON.stringify(config));
    const child = spawn(program, ["serve", join(dir, "config.yml")], { stdio: "ignore" });
    const proxy = createServer();
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    await waitFor(async () => {
      const response = await get({ host: "127.0.0.1", port, path: "/v2/" });
      if (response?.status !== 200) throw new Error(`the registry does not respond: ${response?.status}`);
    });
    return new Registry(child, proxy, dir, port);
  }

  /** The image name for pods. */
  nameOf(repository: string, tag: string): string {
    return `localhost:${this.port}/${repository}:${tag}`;
  }

  /** Configures the node's containerd to use plain HTTP for this registry. */
  configure(node: TestNode): void {
    const url = `http://localhost:${this.port}`;
    const dir = join(nodeFiles(node.name).containerd.certs, `localhost:${this.port}`);
    mkdirSync(dir, { recursive: true });
    writeFileSync(
      join(dir, "hosts.toml"),
      `server = "${url}"\n[host."${url}"]\n  capabilities = ["pull", "resolve"]\n`,
    );
  }

  async push(image: OciImage, repository: string, tag: string): Promise<void> {
    const blobs = blobsOf(image.archive);
    const base = `http://127.0.0.1:${this.#innerPort}/v2/${repository}`;
    for (const [digest, data] of blobs) {
      if (digest === image.digest) continue;
      const upload = await fetch(`${base}/blobs/uploads/`, { method: "POST" });
      const location = new URL(upload.headers.get("location") ?? "", base);
      location.searchParams.set("digest", digest);
      await put(location, data, "application/octet-stream");
    }
    const manifest = blobs.get(image.digest)!;
    await put(new URL(`${base}/manifests/${tag}`), manifest, "application/vnd.oci.image.manifest.v1+json");
  }

  requestsFor(repository: string): RegistryRequest[] {
    return this.requests.filter((registryRequest) => registryRequest.repository === repository);
  }

  async stop(): Promise<void> {
    this.#proxy.close();
    this.#proxy.closeAllConnections();
    if (this.#child.exitCode === null) {
      const exited = once(this.#child, "exit");
      this.#child.kill("SIGKILL");
      await exited;
    }
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const [, repository, kind] = /^\/v2\/(.+)\/(manifests|blobs)\//.exec(incoming.url ?? "") ?? [];
    if (repository && kind) {
      const registryRequest = { method: incoming.method ?? "", repository, kind };
      this.requests.push(registryRequest);
      await this.gate(registryRequest);
    }
    const { method, url, headers } = incoming;
    const inner = request(
      { host: "127.0.0.1", port: this.#innerPort, method, path: url, headers },
      (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers);
        pipeline(response, this.transform(), outgoing, () => {});
      },
    );
    inner.on("error", () => outgoing.destroy());
    incoming.pipe(inner);
  }
}

async function put(url: URL, body: Buffer, type: string): Promise<void> {
  const response = await fetch(url, {
    method: "PUT",
    body: new Uint8Array(body),
    headers: { "content-type": type },
  });
  if (response.status !== 201)
    throw new Error(`PUT ${url.pathname}: ${response.status} ${await response.text()}`);
}

/** The blobs of an OCI layout in a tar archive, by digest. */
function blobsOf(archive: Buffer): Map<string, Buffer> {
  const blobs = new Map<string, Buffer>();
  for (let at = 0; archive[at] !== 0 && at < archive.length; ) {
    const name = archive.toString("utf8", at, archive.indexOf(0, at));
    const size = Number.parseInt(archive.toString("latin1", at + 124, at + 135), 8);
    const digest = /^blobs\/(sha256)\/(\w{64})$/.exec(name);
    if (digest) blobs.set(`${digest[1]}:${digest[2]}`, archive.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return blobs;
}
