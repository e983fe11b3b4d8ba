import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from "node:net";
import { join } from "node:path";
import { testAuthority } from "../../src/kubelet/server/fixtures.ts";
import { generateKey, privateKeyPem, signCertificate } from "../../src/lib/base/x509/x509.ts";
import { nodeFiles } from "../../src/single-node/node-files.ts";
import { tar } from "../../src/single-node/tar.ts";
import type { TestNode } from "../node/test-node.ts";

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const digestOf = (data: Buffer) => `sha256:${createHash("sha256").update(data).digest("hex")}`;
const type = (name: string) => `application/vnd.oci.image.${name}`;

/** The images of the registry: each is broken in the way that its repository is named after. */
function images() {
  const blobs = new Map<string, Buffer>();
  const store = (mediaType: string, data: Buffer) => {
    const digest = digestOf(data);
    blobs.set(digest, data);
    return { mediaType, digest, size: data.length };
  };
  const image = (layer: Buffer, mediaType: string, config: object = {}) => {
    const layerType = type("layer.v1.tar");
    const configured = store(
      type("config.v1+json"),
      json({
        architecture: process.arch === "arm64" ? "arm64" : "amd64",
        os: "linux",
        config,
        rootfs: { type: "layers", diff_ids: [digestOf(layer)] },
      }),
    );
    return json({
      schemaVersion: 2,
      mediaType,
      config: configured,
      layers: [store(layerType, layer)],
    });
  };
  const manifestType = type("manifest.v1+json");
  const program = (data: Buffer | string, mode = 0o755) =>
    tar([{ type: "file", name: "program", mode, data: Buffer.from(data) }]);
  const otherArch = process.arch === "arm64" ? "amd64" : "arm64";
  // A program of another machine: e_machine is that of SPARC.
  const elf = Buffer.concat([
    Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0]),
    Buffer.alloc(200),
  ]);
  const missing = json({ layers: "none" });
  const absent = image(Buffer.from("no layer"), manifestType);
  const truncated = image(program("layer that is not there"), manifestType);
  const { layers } = JSON.parse(truncated.toString()) as { layers: { digest: string }[] };
  blobs.set(layers[0]!.digest, Buffer.from("x".repeat(2048)));
  const platforms = json({
    schemaVersion: 2,
    mediaType: type("index.v1+json"),
    manifests: [
      {
        mediaType: manifestType,
        digest: digestOf(missing),
        size: 2,
        platform: { os: "linux", architecture: otherArch },
      },
    ],
  });
  const manifests = new Map<string, { mediaType: string; data: Buffer }>([
    ["no-archive", { mediaType: manifestType, data: absent }],
    ["corrupt", { mediaType: manifestType, data: truncated }],
    ["other-platform", { mediaType: type("index.v1+json"), data: platforms }],
    [
      "other-machine",
      { mediaType: manifestType, data: image(program(elf), manifestType, { Cmd: ["/program"] }) },
    ],
    [
      "no-mode",
      {
        mediaType: manifestType,
        data: image(program("#!/bin/sh", 0o644), manifestType, { Cmd: ["/program"] }),
      },
    ],
    [
      "no-shell",
      {
        mediaType: manifestType,
        data: image(program("#!/bin/absent\n"), manifestType, { Cmd: ["/program"] }),
      },
    ],
    ["no-command", { mediaType: manifestType, data: image(program("x"), manifestType) }],
    [
      "no-user",
      {
        mediaType: manifestType,
        data: image(program("x"), manifestType, { Cmd: ["/program"], User: "worker" }),
      },
    ],
    ["web-page", { mediaType: "text/html", data: Buffer.from("<html>") }],
  ]);
  return { blobs, manifests };
}

const rejections: Record<string, [status: number, headers: Record<string, string>, code: string]> = {
  unauthorized: [401, { "www-authenticate": 'Basic realm="test"' }, "UNAUTHORIZED"],
  forbidden: [403, {}, "DENIED"],
  "no-tag": [404, {}, "MANIFEST_UNKNOWN"],
  "no-repository": [404, {}, "NAME_UNKNOWN"],
  "rate-limited": [429, { "retry-after": "60" }, "TOOMANYREQUESTS"],
  broken: [500, {}, "UNKNOWN"],
  "out-of-order": [503, {}, "UNAVAILABLE"],
};

/** Registries that fail as those of others do: by repository, by certificate, or because nothing responds. */
export class BrokenRegistry {
  readonly #servers: (Server | TcpServer)[];
  /** host:port by the way in which it fails; "http" serves the broken repositories. */
  readonly hosts: Readonly<Record<string, string>>;

  private constructor(servers: (Server | TcpServer)[], hosts: Record<string, string>) {
    this.#servers = servers;
    this.hosts = hosts;
  }

  static async start(node: TestNode): Promise<BrokenRegistry> {
    const { blobs, manifests } = images();
    const serve: RequestListener = ({ url = "", method }, response) => {
      const [, repository = "", kind, reference = ""] =
        /^\/v2\/(.+)\/(manifests|blobs)\/(.+)$/.exec(url) ?? [];
      const rejection = rejections[repository];
      if (rejection) return void reject(response, ...rejection);
      const manifest = manifests.get(repository);
      const found =
        kind === "manifests"
          ? manifest
          : { mediaType: "application/octet-stream", data: blobs.get(reference) };
      if (!found?.data) return void reject(response, 404, {}, "BLOB_UNKNOWN");
      const { data, mediaType } = found;
      const headers: Record<string, string | number> = {
        "content-type": mediaType,
        "content-length": data.length,
      };
      if (kind === "manifests") headers["docker-content-digest"] = digestOf(data);
      response.writeHead(200, headers).end(method === "HEAD" ? undefined : data);
    };
    const authority = testAuthority();
    const secured = (o: { notAfter?: number; host?: string }) => {
      const { privateKey, publicKey } = generateKey();
      const cert = signCertificate({
        subject: { commonName: "registry", organizations: [] },
        issuer: authority,
        publicKey,
        notBefore: new Date(Date.now() - 100 * 86_400_000),
        notAfter: new Date(Date.now() + (o.notAfter ?? 1) * 86_400_000),
        usages: ["server auth", "digital signature"],
        dnsNames: [o.host ?? "localhost"],
      });
      return createTlsServer({ cert, key: privateKeyPem(privateKey) }, serve);
    };
    const servers = {
      http: createServer(serve),
      plain: createServer(serve),
      unknown: secured({}),
      expired: secured({ notAfter: -1 }),
      misnamed: secured({ host: "other.example.com" }),
      silent: createTcpServer(() => {}),
      closing: createTcpServer((socket) => socket.destroy()),
    };
    const hosts: Record<string, string> = {};
    const certs = nodeFiles(node.name).containerd.certs;
    for (const [name, server] of Object.entries(servers)) {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const host = `localhost:${(server.address() as AddressInfo).port}`;
      hosts[name] = host;
      const dir = join(certs, host);
      mkdirSync(dir, { recursive: true });
      const url = `${name === "http" ? "http" : "https"}://${host}`;
      const trusted = name === "expired" || name === "misnamed";
      if (trusted) writeFileSync(join(dir, "ca.crt"), authority.certificate);
      const ca = trusted ? `  ca = "${join(dir, "ca.crt")}"\n` : "";
      writeFileSync(
        join(dir, "hosts.toml"),
        `server = "${url}"\n[host."${url}"]\n  capabilities = ["pull", "resolve"]\n${ca}`,
      );
    }
    return new BrokenRegistry(Object.values(servers), hosts);
  }

  stop(): void {
    for (const server of this.#servers) {
      server.close();
      if ("closeAllConnections" in server) server.closeAllConnections();
    }
  }
}

function reject(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  code: string,
): void {
  const body = json({ errors: [{ code, message: "rejected by the test" }] });
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
}
