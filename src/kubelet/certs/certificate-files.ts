import type { Clock } from "../../lib/base/clock.ts";
import { KubeletError } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { parseCertificates } from "../../lib/base/x509/x509.ts";
import { type CertificatePair, readPair } from "./certificate-pair.ts";
import { WatchedFiles } from "./watched-files.ts";

interface FileParts {
  /** Feature gates ReloadKubeletServerCertificateFile and ReloadKubeletClientCAFile. */
  readonly reload: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The serving certificate of tlsCertFile and tlsPrivateKeyFile. */
export function servingCertificateFiles(
  o: FileParts & { readonly certFile: string; readonly keyFile: string },
): WatchedFiles<CertificatePair> {
  return new WatchedFiles({
    ...o,
    name: "serving-certificate-files",
    files: [o.certFile, o.keyFile],
    make: ([cert = "", key = ""]) => readPair(cert, key),
  });
}

/** The CA certificates of clientCAFile, as PEM. */
export function clientCaFile(o: FileParts & { readonly file: string }): WatchedFiles<string> {
  return new WatchedFiles({
    ...o,
    name: "client-ca-file",
    files: [o.file],
    make: ([text = ""]) => {
      const certificates = parseCertificates(text);
      if (certificates.length === 0) throw new KubeletError("CertificateFiles", "it contains no certificate");
      return certificates.map(({ pem }) => pem).join("");
    },
  });
}
