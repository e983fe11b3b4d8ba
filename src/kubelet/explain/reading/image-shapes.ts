import type { Shape } from "./shape.ts";

const queryRegistry = "query the registry from the node: curl -v {url}/v2/";
const trust =
  "add its CA to /etc/containerd/certs.d/{registry}/hosts.toml, and compare: openssl s_client -connect {address} -showcerts";
const list = "compare the name with the tags of the registry: curl {url}/v2/{repository}/tags/list";
const pushAgain = "build and push the image again, then test it: crictl pull {image}";
const secret =
  "add a pull secret to imagePullSecrets: kubectl create secret docker-registry NAME -n {namespace} --docker-server={registry} --docker-username=USER --docker-password=PASSWORD";
const checkSecret =
  "check its registry, user and password: kubectl get secret {secret} -n {namespace} -o jsonpath='{.data.\\.dockerconfigjson}' | base64 -d";

/** Failed pulls, as containerd 1.6 and 2.x, CRI-O and the kubelet report them. */
export const imageShapes: readonly Shape[] = [
  {
    pattern: /is not present with pull policy of Never/,
    sentence: "image {image} is not on the node, and imagePullPolicy is Never",
    step: "import the image, or pull it once: crictl pull {image}",
  },
  {
    pattern: /couldn't parse image name .*?invalid reference format(?:: (?<problem>.+))?/,
    sentence: "image name {image} is invalid: {problem}",
    step: "correct it; names are lower-case, as in registry.example.com/team/app:1.0: kubectl set image pod/{pod} -n {namespace} {container}=IMAGE",
  },
  {
    pattern: /pull QPS exceeded/,
    sentence: "image {image} waits because this node pulls too many images at once (registryPullQPS)",
    step: "raise registryPullQPS and registryBurst in the configuration of the kubelet: grep registry /var/lib/kubelet/config.yaml",
  },
  {
    pattern: /no space left on device/,
    sentence: "image {image} cannot be stored: the disk of the node is full",
    step: "remove unused images, and see what is left: crictl rmi --prune; df -h /var/lib/containerd",
  },
  {
    pattern: /lookup (?<host>[^\s:]+)(?: on (?<dns>\S+?))?: no such host/,
    sentence: "image {image} cannot be pulled: the registry {host} has no address (no such host)",
    step: "correct the registry in the image name, or the DNS of the node: getent hosts {host}",
  },
  {
    pattern:
      /lookup (?<host>[^\s:]+)(?: on \S+)?: (?:(?:dial|read|write) \w+ \S+: (?:\w+: )?)?(?<problem>[\w /-]+)/,
    sentence:
      "image {image} cannot be pulled: the DNS server of the node does not resolve {host} ({problem})",
    step: "check the DNS servers of the node: cat /etc/resolv.conf; getent hosts {host}",
  },
  {
    pattern: /x509: certificate signed by unknown authority/,
    sentence:
      "image {image} cannot be pulled: the node does not trust the certificate of its registry (unknown authority)",
    step: trust,
  },
  {
    pattern:
      /x509: certificate has expired or is not yet valid: current time (?<now>\S+) is after (?<end>\S+)/,
    sentence: "image {image} cannot be pulled: the certificate of its registry expired at {end}",
    step: "renew the certificate of the registry, or correct the clock of the node: date -u",
  },
  {
    pattern:
      /x509: certificate has expired or is not yet valid(?:: current time (?<now>\S+) is before (?<start>\S+))?/,
    sentence: "image {image} cannot be pulled: the certificate of its registry is not valid before {start}",
    step: "correct the clock of the node: date -u",
  },
  {
    pattern: /x509: certificate is (?:not )?valid for (?<names>.+?),? (?:but )?not (?:for )?(?<host>\S+)/,
    sentence:
      "image {image} cannot be pulled: the certificate of its registry is for {names}, not for {host}",
    step: "use a name of the certificate in the image name: openssl s_client -connect {address} | openssl x509 -noout -ext subjectAltName",
  },
  {
    pattern: /x509: cannot validate certificate for (?<host>\S+) because it doesn't contain any IP SANs/,
    sentence:
      "image {image} cannot be pulled: the certificate of its registry has no IP addresses, so not {host}",
    step: "use a name of the certificate in the image name: openssl s_client -connect {address} | openssl x509 -noout -ext subjectAltName",
  },
  {
    pattern: /(?:x509|tls): (?<problem>.+)$/,
    sentence: "image {image} cannot be pulled: no TLS connection to its registry ({problem})",
    step: "compare the certificate: openssl s_client -connect {address} -showcerts",
  },
  {
    pattern: /server gave HTTP response to HTTPS client/,
    sentence: "image {image} cannot be pulled: its registry serves HTTP, but the runtime expects HTTPS",
    step: "configure http for it in /etc/containerd/certs.d/{registry}/hosts.toml, or serve HTTPS: curl -v {plainUrl}/v2/",
  },
  {
    pattern: /429 Too Many Requests|toomanyrequests|too many requests/i,
    sentence: "image {image} cannot be pulled: its registry limits the rate of pulls (429 Too Many Requests)",
    step: `wait, or pull with an account: kubectl create secret docker-registry NAME -n {namespace} --docker-server={registry} --docker-username=USER --docker-password=PASSWORD`,
  },
  {
    pattern: /403 Forbidden|\bforbidden\b/i,
    sentence: "image {image} cannot be pulled: its registry denies access with pull secret {secret} (403)",
    step: checkSecret,
    ifKnown: "secret",
  },
  {
    pattern: /403 Forbidden|\bforbidden\b/i,
    sentence:
      "image {image} cannot be pulled: its registry denies access (403 Forbidden), and the pod has no pull secret",
    step: secret,
  },
  {
    pattern:
      /401 Unauthorized|\bunauthorized\b|authorization failed|access denied|resource is denied|\bdenied:|authentication required|no basic auth|incorrect username/i,
    sentence:
      "image {image} cannot be pulled: pull secret {secret} is not accepted (401), or there is no such image",
    step: checkSecret,
    ifKnown: "secret",
  },
  {
    pattern:
      /401 Unauthorized|\bunauthorized\b|authorization failed|access denied|resource is denied|\bdenied:|authentication required|no basic auth|incorrect username/i,
    sentence:
      "image {image} cannot be pulled: it requires a login or does not exist (401), and the pod has no pull secret",
    step: secret,
  },
  {
    pattern:
      /no match for platform|no matching manifest for|no image found in (?:manifest list|image index)/i,
    sentence: "image {image} has no variant for the architecture of this node",
    step: "build it for this node, or choose another image; its platforms: docker manifest inspect {image}",
  },
  {
    pattern: /could not fetch content descriptor \S+ \((?<type>[^)]*)\) from remote: not found/,
    sentence: "image {image} cannot be pulled: its registry sent {type} instead of an image",
    step: "check that it is a registry and not another web server: curl -v {url}/v2/{repository}/manifests/{reference}",
  },
  {
    pattern: /(?:unexpected commit digest|failed size validation|digest mismatch|does not match digest)/i,
    sentence: "image {image} cannot be pulled: a layer that the registry sent does not have its digest",
    step: "check proxies between node and registry, or push the image again: crictl pull {image}",
  },
  {
    pattern:
      /failed to extract layer (?:\(\S+ )?(?<layer>sha256:\w+)|error (?:creating|committing|adding) layer|unpacking failed/i,
    sentence: "image {image} cannot be unpacked: its layer {layer} is corrupt, or not an archive",
    step: pushAgain,
  },
  {
    pattern: /media type .*(?:no longer )?(?:un)?supported|unsupported media ?type|schema ?(?:version )?1/i,
    sentence: "image {image} cannot be pulled: its format is not supported by the runtime",
    step: pushAgain,
  },
  {
    pattern: /name unknown|NAME_UNKNOWN|repository .*not found/i,
    sentence: "image {image} cannot be pulled: its registry has no repository {repository} (404)",
    step: "compare the name with the repositories of the registry: curl {url}/v2/_catalog",
  },
  {
    pattern: /(?::\s|\b404 )not found|manifest unknown/i,
    sentence: "image {image} cannot be pulled: its registry has no content with this digest (404)",
    step: list,
    ifKnown: "digest",
  },
  {
    pattern: /(?::\s|\b404 )not found|manifest unknown/i,
    sentence: "image {image} cannot be pulled: its registry has no such repository or tag (404)",
    step: list,
  },
  {
    pattern: /(?<status>5\d\d (?:[A-Z]\w+ ?)+)/,
    sentence: "image {image} cannot be pulled: its registry fails ({status})",
    step: queryRegistry,
  },
  {
    pattern:
      /TLS handshake timeout|i\/o timeout|deadline exceeded|Client\.Timeout|request canceled|context canceled/,
    sentence: "image {image} cannot be pulled: its registry {registry} does not respond (timeout)",
    step: "test the connection, firewalls and proxies from the node: curl -v --max-time 10 {url}/v2/",
  },
  {
    pattern: /connection refused/,
    sentence:
      "image {image} cannot be pulled: nothing listens at its registry {address} (connection refused)",
    step: queryRegistry,
  },
  {
    pattern: /(?<problem>no route to host|network is unreachable)/,
    sentence: "image {image} cannot be pulled: the node has no route to its registry ({problem})",
    step: "check the routes of the node: ip route get $(getent ahosts {host} | head -1 | cut -d' ' -f1)",
  },
  {
    pattern: /connection reset by peer|\bEOF$|broken pipe/,
    sentence: "image {image} cannot be pulled: its registry {registry} closes the connection",
    step: "check the registry, and proxies before it: curl -v {url}/v2/",
  },
];
