import assert from "node:assert/strict";
import { test } from "node:test";
import { type CauseKind, readCause } from "./read-cause.ts";
import type { Values } from "./shape.ts";

const pod: Values = {
  pod: "web",
  namespace: "shop",
  node: "node-a",
  subject: "container c",
  container: "c",
  image: "nowhere/none:1",
  restartPolicy: "Always",
  runtimeClass: "isolated",
  logs: "kubectl logs web -n shop -c c",
  previousLogs: "kubectl logs web -n shop -c c --previous",
  exec: "kubectl exec web -n shop -c c",
};
const read = (kind: CauseKind, text: string, more: Values = {}) =>
  readCause({ kind, text, line: `container c: ${text}`, values: { ...pod, ...more } });

const start =
  "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: ";
const pull = (error: string) =>
  `failed to pull and unpack image "docker.io/nowhere/none:1": failed to resolve reference "docker.io/nowhere/none:1": ${error}`;
const head = 'failed to do request: Head "https://registry-1.docker.io/v2/nowhere/none/manifests/1": ';

/** Texts of containerd 1.6 and 2.x, runc, CRI-O, mount(8), CNI plugins and the kubelet. */
const table: [kind: CauseKind, text: string, sentence: string, step: RegExp, more?: Values][] = [
  [
    "image",
    pull(`${head}dial tcp: lookup registry-1.docker.io on 10.0.0.2:53: no such host`),
    "image nowhere/none:1 cannot be pulled: the registry registry-1.docker.io has no address (no such host)",
    /: getent hosts registry-1\.docker\.io$/,
  ],
  [
    "image",
    pull(
      `${head}dial tcp: lookup registry-1.docker.io on 10.0.0.2:53: read udp 10.0.0.9:4242->10.0.0.2:53: i/o timeout`,
    ),
    "image nowhere/none:1 cannot be pulled: the DNS server of the node does not resolve registry-1.docker.io (i/o timeout)",
    /resolv\.conf/,
  ],
  [
    "image",
    'pinging container registry 10.0.0.3:5000: Get "https://10.0.0.3:5000/v2/": dial tcp 10.0.0.3:5000: connect: connection refused',
    "image 10.0.0.3:5000/app cannot be pulled: nothing listens at its registry 10.0.0.3:5000 (connection refused)",
    /curl -v https:\/\/10\.0\.0\.3:5000\/v2\/$/,
    { image: "10.0.0.3:5000/app" },
  ],
  [
    "image",
    pull(`${head}dial tcp 198.51.100.7:443: i/o timeout`),
    "image nowhere/none:1 cannot be pulled: its registry registry-1.docker.io does not respond (timeout)",
    /--max-time 10 https:\/\/registry-1\.docker\.io\/v2\/$/,
  ],
  [
    "image",
    "initializing source docker://nowhere/none:1: reading manifest 1 in docker.io/nowhere/none: requested access to the resource is denied",
    "image nowhere/none:1 cannot be pulled: it requires a login or does not exist (401), and the pod has no pull secret",
    /kubectl create secret docker-registry NAME -n shop --docker-server=registry-1\.docker\.io /,
  ],
  [
    "image",
    pull(
      "pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed",
    ),
    "image nowhere/none:1 cannot be pulled: it requires a login or does not exist (401), and the pod has no pull secret",
    /kubectl create secret docker-registry/,
  ],
  [
    "image",
    pull("pulling from host registry-1.docker.io failed with status code [manifests 1]: 401 Unauthorized"),
    "image nowhere/none:1 cannot be pulled: pull secret team is not accepted (401), or there is no such image",
    /kubectl get secret team -n shop/,
    { secret: "team" },
  ],
  [
    "image",
    "reading manifest 9 in docker.io/library/busybox: manifest unknown: manifest unknown",
    "image busybox:9 cannot be pulled: its registry has no such repository or tag (404)",
    /registry-1\.docker\.io\/v2\/library\/busybox\/tags\/list$/,
    { image: "busybox:9" },
  ],
  [
    "image",
    pull(
      "httpReadSeeker: failed open: unexpected status code https://registry-1.docker.io/v2/nowhere/none/manifests/1: 429 Too Many Requests - Server message: toomanyrequests: You have reached your pull rate limit.",
    ),
    "image nowhere/none:1 cannot be pulled: its registry limits the rate of pulls (429 Too Many Requests)",
    /wait, or pull with an account/,
  ],
  [
    "image",
    "failed to pull and unpack image: failed to extract layer sha256:1: write /var/lib/containerd/x: no space left on device: unknown",
    "image nowhere/none:1 cannot be stored: the disk of the node is full",
    /crictl rmi --prune/,
  ],
  [
    "image",
    'choosing an image from manifest list docker://nowhere/none:1: no image found in image index for architecture "arm64"',
    "image nowhere/none:1 has no variant for the architecture of this node",
    /docker manifest inspect nowhere\/none:1$/,
  ],
  [
    "start",
    `${start}exec: "/no/such": stat /no/such: no such file or directory: unknown`,
    'container c cannot start: its command "/no/such" does not exist in its image',
    /crictl inspecti nowhere\/none:1$/,
  ],
  [
    "start",
    "container create failed: executable file `nosuch` not found in $PATH: No such file or directory",
    'container c cannot start: its command "nosuch" is not in the PATH of its image',
    /crictl inspecti/,
  ],
  [
    "start",
    `${start}exec /program: exec format error`,
    "container c cannot start: its program is for another architecture, or not a program (exec format error)",
    /uname -m/,
  ],
  [
    "start",
    `${start}error during container init: error mounting "/var/lib/x" to rootfs at "/etc/passwd": mount /var/lib/x:/etc/passwd (via /proc/self/fd/6), flags: 0x5000: not a directory: unknown`,
    "container c cannot start: its volume and mountPath /etc/passwd are not both directories or both files",
    /mountPath/,
  ],
  [
    "start",
    `${start}error during container init: unable to apply apparmor profile: apparmor failed to apply profile: write /proc/self/attr/apparmor/exec: no such file or directory`,
    "container c cannot start: AppArmor profile is not loaded on the node",
    /aa-status/,
  ],
  [
    "start",
    `${start}unable to find user worker: no matching entries in passwd file: unknown`,
    "container c cannot start: its image has no user worker",
    /runAsUser/,
  ],
  [
    "start",
    `${start}container init was OOM-killed (memory limit too low?): unknown`,
    "container c cannot start: its memory limit is too low, even for starting (OOM kill)",
    /resources\.limits\.memory/,
  ],
  [
    "volume",
    'secret "database" not found',
    "volume data cannot be mounted: Secret database does not exist in namespace shop",
    /kubectl get secret -n shop$/,
    { subject: "volume data" },
  ],
  [
    "volume",
    "mount failed: exit status 32\nMounting command: mount\nOutput: mount.nfs: access denied by server while mounting 10.0.0.4:/export",
    "volume data cannot be mounted: the server denies access to its export",
    /showmount/,
    { subject: "volume data" },
  ],
  [
    "probe",
    "",
    "readiness probe of container c failed: its command exited with 1 and no output",
    /kubectl exec web -n shop -c c -- check --all$/,
    { check: "readiness probe of container c failed", code: "1", command: "check --all" },
  ],
  [
    "probe",
    'Get "http://10.0.0.5:8080/ready": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
    "readiness probe of container c failed: no response from :8080/ready within timeoutSeconds",
    /timeoutSeconds/,
    { check: "readiness probe of container c failed", target: ":8080/ready" },
  ],
  [
    "sandbox",
    'failed to setup network for sandbox "0123": plugin type="bridge" failed (add): failed to find plugin "bridge" in path [/opt/cni/bin]',
    "the sandbox has no network: CNI plugin bridge is not installed in /opt/cni/bin",
    /: ls \/opt\/cni\/bin$/,
  ],
  [
    "sandbox",
    'failed to setup network for sandbox "0123": plugin type="bridge" name="net" failed (add): failed to allocate for range 0: no IP addresses available in range set: 10.1.0.1-10.1.0.254',
    "the sandbox has no network: all IP addresses of 10.1.0.1-10.1.0.254 are in use",
    /podCIDR/,
  ],
  [
    "sandbox",
    'failed to destroy network for sandbox "0123": plugin type="bridge" name="net" failed (delete): netplugin failed: no bridge',
    "the network of the sandbox cannot be removed: CNI plugin bridge failed: no bridge",
    /ls \/etc\/cni\/net\.d/,
  ],
  [
    "image",
    pull(
      "unexpected status from HEAD request to https://registry-1.docker.io/v2/nowhere/none/manifests/1: 403 Forbidden - Server message: denied: denied",
    ),
    "image nowhere/none:1 cannot be pulled: its registry denies access (403 Forbidden), and the pod has no pull secret",
    /kubectl create secret docker-registry/,
  ],
  [
    "image",
    'failed to resolve reference "example.com/a/unauthorized:forbidden": example.com/a/unauthorized:forbidden: not found',
    "image example.com/a/unauthorized:forbidden cannot be pulled: its registry has no such repository or tag (404)",
    /tags\/list$/,
    { image: "example.com/a/unauthorized:forbidden" },
  ],
  [
    "start",
    `${start}exec: "constructor": executable file not found in $PATH`,
    'container c cannot start: its command "constructor" is not in the PATH of its image',
    /crictl inspecti/,
  ],
  [
    "volume",
    "references non-existent config key: tls.crt",
    "volume all cannot be mounted: its ConfigMap has no key tls.crt",
    /kubectl get pod web -n shop -o yaml$/,
    { subject: "volume all", object: "its object" },
  ],
  [
    "volume",
    "mount: unknown filesystem type '-r'",
    "volume data cannot be mounted: the kernel of this node has no file system -r",
    / modprobe fs--r; ls \/sbin\/mount\.-r$/,
    { subject: "volume data" },
  ],
  [
    "pod",
    "OutOfcpu: Pod was rejected: Node didn't have enough resource: cpu, requested: 4000, used: 500, capacity: 2000",
    "OutOfcpu: requests 4000m of cpu, but the node has 2000m, of which 500m are requested",
    /kubectl describe node node-a$/,
  ],
];

for (const [kind, text, sentence, step, more] of table)
  test(`${kind}: ${sentence}`, () => {
    const reading = read(kind, text, more);
    assert.equal(reading.sentence, sentence);
    assert.match(reading.step ?? "", step);
    assert.equal(reading.raw, text === "" ? undefined : text.replace(/: unknown$/, ""));
  });

test("wrappers of the kubelet and of gRPC do not matter", () => {
  const inner = "pulling from host example.com failed with status code [manifests 1]: 403 Forbidden";
  const wrapped = `Back-off pulling image "nowhere/none:1": ErrImagePull: rpc error: code = Unknown desc = ${inner}`;
  assert.deepEqual(read("image", wrapped), read("image", inner));
});

test("an unknown text is passed through unchanged, with a step for its kind", () => {
  const { sentence, raw, step } = read("image", "the moon is in the wrong phase");
  assert.deepEqual([sentence, raw], ["container c: the moon is in the wrong phase", undefined]);
  assert.equal(step, "pull it on the node: crictl pull nowhere/none:1");
});

test("what a pod only waits for has no step", () => {
  assert.deepEqual(
    readCause({ kind: "wait", text: "pulling image x", line: "pulling image x", values: {} }),
    {
      sentence: "pulling image x",
    },
  );
});

test("long names are shortened in the sentence and complete in the command", () => {
  const image = `registry.example.com/team/app@sha256:${"0123456789abcdef".repeat(4)}`;
  const { sentence, step } = read("image", `${image}: not found`, { image });
  assert.match(sentence, /^image registry\.exam….*sha256:0123456789ab… cannot be pulled: .*digest/);
  assert.match(step ?? "", /registry\.example\.com\/v2\/team\/app\/tags\/list$/);
});

test("an error that creates a container with a volume from an image names that image", () => {
  const text =
    'Back-off pulling image "example.com/data:1": ErrImagePull: dial tcp 10.0.0.1:443: connect: connection refused';
  assert.match(read("start", text).sentence, /^image example\.com\/data:1 cannot be pulled: nothing listens/);
});

test("names and texts of others are one argument of the command, whatever is in them", () => {
  const evil = "x';touch$IFS/tmp/y;`id`$(id)\n#";
  const quoted = `'x'\\'';touch$IFS/tmp/y;\`id\`$(id)\n#'`;
  assert.equal(read("image", "unknown", { image: evil }).step, `pull it on the node: crictl pull ${quoted}`);
  for (const image of [evil, `example.com/${evil}`, `${evil}/a:1`])
    for (const [kind, text] of table) {
      const { step = "" } = read(kind, text.replaceAll("nowhere/none:1", image), { image });
      const unquoted = step.replace(/'[^']*'|\\'/g, "");
      assert.doesNotMatch(unquoted, /touch|`/, step);
    }
});
