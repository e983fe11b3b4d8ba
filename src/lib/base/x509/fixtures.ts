import type { OpensslAuthority } from "./fake-authority.ts";

interface OddCertificate {
  readonly name: string;
  readonly options: Parameters<OpensslAuthority["make"]>[0];
}

const rsa = ["rsa:2048"];
const subject = "/O=o/CN=c";

/** For tests: certificates as unusual CAs issue them. */
export const oddCertificates: readonly OddCertificate[] = [
  { name: "version 1, without extensions", options: { subject } },
  { name: "an empty subject", options: { subject: "/", extensions: ["subjectAltName=critical,DNS:x"] } },
  {
    name: "several common names and organizations",
    options: { subject: "/CN=a/O=x/CN=b/O=y", extensions: [] },
  },
  { name: "a name of several values", options: { subject: "/O=x+CN=a+OU=z", req: ["-multivalue-rdn"] } },
  {
    name: "attributes of other types",
    options: { subject: "/C=DE/ST=s/L=l/O=o/OU=u/CN=c/emailAddress=a@b/UID=7/DC=d" },
  },
  { name: "text beyond ASCII", options: { subject: "/O=Größe/CN=Jürgen 日本 🚢" } },
  { name: "a long name", options: { subject: `/O=${"o".repeat(64)}/CN=${"c".repeat(64)}` } },
  { name: "RSA with SHA-512", options: { subject, key: rsa, x509: ["-sha512", "-days", "3"] } },
  {
    name: "RSA-PSS",
    options: { subject, key: rsa, x509: ["-sigopt", "rsa_padding_mode:pss", "-sha256", "-days", "3"] },
  },
  { name: "Ed25519", options: { subject, key: ["ed25519"] } },
  { name: "Ed448", options: { subject, key: ["ed448"] } },
  { name: "P-521", options: { subject, key: ["ec", "-pkeyopt", "ec_paramgen_curve:P-521"] } },
  { name: "secp256k1", options: { subject, key: ["ec", "-pkeyopt", "ec_paramgen_curve:secp256k1"] } },
  { name: "serial number 0", options: { subject, x509: ["-set_serial", "0"] } },
  { name: "serial number 128", options: { subject, x509: ["-set_serial", "128"] } },
  {
    name: "a serial number of 20 bytes",
    options: { subject, x509: ["-set_serial", `0x7f${"ab".repeat(19)}`] },
  },
  { name: "an end after 2049", options: { subject, x509: ["-days", "20000"] } },
  { name: "an end after 9000", options: { subject, x509: ["-days", "2600000"] } },
  {
    name: "a path length",
    options: { subject, extensions: ["basicConstraints=critical,CA:TRUE,pathlen:0"] },
  },
  {
    name: "basic constraints that are empty",
    options: { subject, extensions: ["basicConstraints=CA:FALSE"] },
  },
  {
    name: "all key usages",
    options: {
      subject,
      extensions: [
        "keyUsage=digitalSignature,nonRepudiation,keyEncipherment,dataEncipherment,keyAgreement,keyCertSign,cRLSign,encipherOnly,decipherOnly",
        "extendedKeyUsage=serverAuth,clientAuth,codeSigning,emailProtection,timeStamping,OCSPSigning,anyExtendedKeyUsage",
      ],
    },
  },
  {
    name: "an extended key usage of its own",
    options: { subject, extensions: ["extendedKeyUsage=1.2.3.4.5,clientAuth"] },
  },
  {
    name: "alternative names of all kinds",
    options: {
      subject,
      extensions: [
        "subjectAltName=DNS:a.example,DNS:*.b.example,IP:10.1.2.3,IP:fd00::1,IP:::,IP:::ffff:1.2.3.4,email:x@y.example,URI:spiffe://a/b,RID:1.2.3.4,otherName:1.2.3.4;UTF8:other,dirName:d",
      ],
      sections: "[d]\nCN=directory\n",
    },
  },
  {
    name: "name constraints, policies, CRL distribution points and unknown extensions",
    options: {
      subject,
      extensions: [
        "basicConstraints=CA:TRUE",
        "nameConstraints=permitted;DNS:.a.example,permitted;dirName:d,excluded;IP:fd00::/ffff::",
        "certificatePolicies=1.2.3.4,@p",
        "crlDistributionPoints=URI:http://crl.example/a.crl",
        "authorityInfoAccess=OCSP;URI:http://ocsp.example/",
        "tlsfeature=status_request",
        "1.2.3.4.5=DER:0401ff",
        "subjectKeyIdentifier=hash",
      ],
      sections: "[d]\nO=o\n[p]\npolicyIdentifier=1.3.5.8\nCPS.1=http://cps.example/\n",
    },
  },
];
