import type { KubeletConfiguration } from "../kubelet-configuration.ts";
import type { Problem } from "../problems.ts";

const versions = ["", "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"];

/** P-256, P-384, P-521, X25519 and its post-quantum hybrid, by their number in TLS. */
const curves = [23, 24, 25, 29, 4588];

const ecdhe = [
  "AES_128_CBC_SHA",
  "AES_128_CBC_SHA256",
  "AES_128_GCM_SHA256",
  "AES_256_CBC_SHA",
  "AES_256_GCM_SHA384",
  "CHACHA20_POLY1305",
  "CHACHA20_POLY1305_SHA256",
  "RC4_128_SHA",
];
const rsa = [
  "3DES_EDE_CBC_SHA",
  "AES_128_CBC_SHA",
  "AES_128_CBC_SHA256",
  "AES_128_GCM_SHA256",
  "AES_256_CBC_SHA",
  "AES_256_GCM_SHA384",
  "RC4_128_SHA",
];

const suites = new Set([
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  ...ecdhe.flatMap((name) => [`TLS_ECDHE_ECDSA_WITH_${name}`, `TLS_ECDHE_RSA_WITH_${name}`]),
  "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
  ...rsa.map((name) => `TLS_RSA_WITH_${name}`),
]);

export function tlsProblems(config: KubeletConfiguration): Problem[] {
  const problems: Problem[] = [];
  config.tlsCipherSuites.forEach((suite, index) => {
    if (suites.has(suite)) return;
    problems.push({
      path: ["tlsCipherSuites", index],
      message: `${JSON.stringify(suite)} is not a known cipher suite`,
    });
  });
  if (!versions.includes(config.tlsMinVersion)) {
    const choices = versions.slice(1).join(", ");
    const message = `${JSON.stringify(config.tlsMinVersion)} is not one of ${choices}`;
    problems.push({ path: ["tlsMinVersion"], message });
  }
  config.tlsCurvePreferences.forEach((curve, index) => {
    const path = ["tlsCurvePreferences", index];
    if (!curves.includes(curve))
      problems.push({ path, message: `${curve} is not one of ${curves.join(", ")}` });
    else if (config.tlsCurvePreferences.indexOf(curve) < index)
      problems.push({ path, message: `${curve} is listed twice` });
  });
  return problems;
}
