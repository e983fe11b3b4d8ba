import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const opensslMissing =
  spawnSync("openssl", ["version"]).status === 0 ? false : "openssl is not installed";

export interface OpensslCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** For tests: certificates that openssl creates. */
export class OpensslAuthority {
  readonly dir = mkdtempSync(join(tmpdir(), "x509-openssl-"));
  #count = 0;

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }

  file(name: string, text: string | Buffer): string {
    writeFileSync(join(this.dir, name), text);
    return join(this.dir, name);
  }

  try(...args: readonly string[]) {
    return spawnSync("openssl", args, { encoding: "utf8", timeout: 60_000, cwd: this.dir });
  }

  run(...args: readonly string[]): string {
    const { status, stdout, stderr } = this.try(...args);
    if (status !== 0) throw new Error(`openssl ${args.join(" ")}: ${stderr}`);
    return stdout + stderr;
  }

  /**
   * A certificate with these extensions (lines of an openssl configuration), signed by the issuer or self-signed. `key`: arguments of
   * `openssl req -newkey`; `req`: more arguments of `openssl req`; `x509`: of `openssl x509`.
   */
  make(o: {
    readonly subject: string;
    readonly extensions?: readonly string[];
    readonly issuer?: OpensslCertificate;
    readonly key?: readonly string[];
    readonly req?: readonly string[];
    readonly x509?: readonly string[];
    /** More sections of the configuration that extensions refer to. */
    readonly sections?: string;
  }): OpensslCertificate {
    const name = `c${++this.#count}`;
    const key = join(this.dir, `${name}.key`);
    const request = join(this.dir, `${name}.csr`);
    const out = join(this.dir, `${name}.pem`);
    const newKey = o.key ?? ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
    const req = ["-utf8", "-subj", o.subject, ...(o.req ?? [])];
    this.run("req", "-new", "-newkey", ...newKey, "-nodes", "-keyout", key, "-out", request, ...req);
    const signer = o.issuer
      ? [
          "-CA",
          this.file(`${name}.ca`, o.issuer.certificate),
          "-CAkey",
          this.file(`${name}.cakey`, o.issuer.key),
        ]
      : ["-signkey", key];
    const list = (o.extensions ?? []).join("\n");
    const extensions =
      o.extensions === undefined
        ? []
        : ["-extfile", this.file(`${name}.ext`, `[e]\n${list}\n${o.sections ?? ""}\n`), "-extensions", "e"];
    const x509 = o.x509 ?? ["-days", "3"];
    this.run("x509", "-req", "-in", request, "-out", out, ...signer, ...extensions, ...x509);
    return { certificate: readFileSync(out, "utf8"), key: readFileSync(key, "utf8") };
  }
}
