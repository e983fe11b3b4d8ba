import { constants } from "node:crypto";
import { getCiphers, type SecureContextOptions, type SecureVersion } from "node:tls";
import { KubeletError } from "../../../lib/base/errors.ts";

export interface TlsSettings {
  /** VersionTLS10 … VersionTLS13; empty: 1.2. */
  readonly tlsMinVersion: string;
  /** Go names; empty: the suites that Go offers by default. */
  readonly tlsCipherSuites: readonly string[];
  /** By their number in TLS; empty: the defaults of OpenSSL. */
  readonly tlsCurvePreferences?: readonly number[];
}

const versions: Readonly<Record<string, SecureVersion>> = {
  "": "TLSv1.2",
  VersionTLS10: "TLSv1",
  VersionTLS11: "TLSv1.1",
  VersionTLS12: "TLSv1.2",
  VersionTLS13: "TLSv1.3",
};

const curves: Readonly<Record<number, string>> = {
  23: "prime256v1",
  24: "secp384r1",
  25: "secp521r1",
  29: "X25519",
  4588: "X25519MLKEM768",
};

/** The suites of TLS 1.3. They cannot be configured. */
const tls13Suites = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

const cipherNames: Readonly<Record<string, string>> = {
  AES_128_CBC_SHA: "AES128-SHA",
  AES_128_CBC_SHA256: "AES128-SHA256",
  AES_128_GCM_SHA256: "AES128-GCM-SHA256",
  AES_256_CBC_SHA: "AES256-SHA",
  AES_256_GCM_SHA384: "AES256-GCM-SHA384",
  CHACHA20_POLY1305: "CHACHA20-POLY1305",
  CHACHA20_POLY1305_SHA256: "CHACHA20-POLY1305",
  "3DES_EDE_CBC_SHA": "DES-CBC3-SHA",
  RC4_128_SHA: "RC4-SHA",
};

/** The suites in the order in which Go prefers them. Those before `TLS_RSA_` are its defaults. */
const preferred = [
  "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
  "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
  "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
  "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
  "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
  "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
  "TLS_RSA_WITH_AES_128_GCM_SHA256",
  "TLS_RSA_WITH_AES_256_GCM_SHA384",
  "TLS_RSA_WITH_AES_128_CBC_SHA",
  "TLS_RSA_WITH_AES_256_CBC_SHA",
].map((suite) => converted(suite) ?? "");
const defaults = preferred.filter((name) => name.startsWith("ECDHE-"));

/** Throws a KubeletError that names the field if a setting is not supported. */
export function tlsOptions(settings: TlsSettings): SecureContextOptions {
  const { tlsMinVersion, tlsCipherSuites, tlsCurvePreferences = [] } = settings;
  const minVersion = versions[tlsMinVersion];
  if (minVersion === undefined) throw invalidValue("tlsMinVersion", tlsMinVersion, "is not a version of TLS");
  const old = minVersion === "TLSv1" || minVersion === "TLSv1.1";
  const suites = tlsCipherSuites.map(opensslName).filter((name) => !tls13Suites.includes(name));
  const named = tlsCipherSuites.length > 0 ? [...suites].sort(byPreference) : defaults;
  // At its default level OpenSSL disables the signatures of TLS before 1.2.
  const ciphers = [...named, ...tls13Suites, ...(old ? ["@SECLEVEL=0"] : [])].join(":");
  const ecdhCurve = tlsCurvePreferences.map(curveName).join(":");
  return {
    minVersion,
    ciphers,
    honorCipherOrder: true,
    ...(ecdhCurve !== "" && { ecdhCurve }),
    // A resumed session does not contain the client's certificate chain.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

/** The order of the setting has no effect, as in Go. */
function byPreference(a: string, b: string): number {
  const place = (name: string) => (preferred.includes(name) ? preferred.indexOf(name) : preferred.length);
  return place(a) - place(b);
}

function opensslName(suite: string, index: number): string {
  const field = `tlsCipherSuites[${index}]`;
  const name = tls13Suites.includes(suite) ? suite : converted(suite);
  if (name === undefined) throw invalidValue(field, suite, "is not a known cipher suite");
  if (!getCiphers().includes(name.toLowerCase()))
    throw invalidValue(field, suite, "is no longer supported by OpenSSL");
  return name;
}

function converted(suite: string): string | undefined {
  const [, exchange, cipher] = /^TLS_(ECDHE_ECDSA|ECDHE_RSA|RSA)_WITH_(\w+)$/.exec(suite) ?? [];
  const name = cipherNames[cipher ?? ""];
  if (name === undefined) return undefined;
  return exchange === "RSA" ? name : `${exchange?.replace("_", "-")}-${name}`;
}

function curveName(curve: number, index: number): string {
  const name = curves[curve];
  if (name === undefined) throw invalidValue(`tlsCurvePreferences[${index}]`, curve, "is not a known curve");
  return name;
}

function invalidValue(field: string, value: string | number, problem: string): KubeletError {
  return new KubeletError("TlsOptions", `${field}: ${JSON.stringify(value)} ${problem}`);
}
