import assert from "node:assert/strict";
import { existsSync, mkdirSync, readlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { containerOf } from "./agent-pods.ts";
import { describeLifecycle, type LifecycleSuite } from "./lifecycle-suite.ts";
import { sleeper } from "./manifests.ts";

const one = (securityContext: object, more: object = {}) => ({
  containers: [{ name: "c", securityContext, ...more }],
});
const field = (fieldPath: string) => ({ valueFrom: { fieldRef: { fieldPath } } });
const resource = (name: string, divisor: string) => ({
  valueFrom: { resourceFieldRef: { resource: name, divisor } },
});

/** A profile that allows everything but mkdir. */
const noDirs = {
  defaultAction: "SCMP_ACT_ALLOW",
  syscalls: [{ names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO" }],
};
const defaultCapabilities = 0xa80425fbn;
const hasAppArmor = existsSync("/sys/kernel/security/apparmor");

const pods = {
  env: {
    containers: [
      {
        name: "c",
        command: [...sleeper, "$(FIRST)", "$$(FIRST)"],
        env: [
          { name: "FIRST", value: "one" },
          { name: "SECOND", value: "$(FIRST) $$(FIRST) $(NOBODY) $(LATER)" },
          { name: "LATER", value: "late" },
          { name: "odd-name.1", value: "yes" },
          { name: "POD", ...field("metadata.name") },
          { name: "UID_OF_POD", ...field("metadata.uid") },
          { name: "NODE", ...field("spec.nodeName") },
          { name: "IP", ...field("status.podIP") },
          { name: "HOST_IP", ...field("status.hostIP") },
          { name: "CPU", ...resource("limits.cpu", "1m") },
          { name: "MEMORY", ...resource("requests.memory", "1Mi") },
        ],
        resources: { requests: { memory: "20Mi" }, limits: { cpu: "250m" } },
      },
    ],
  },
  names: {
    hostname: "web-0",
    subdomain: "sub",
    setHostnameAsFQDN: true,
    hostAliases: [{ ip: "192.0.2.7", hostnames: ["foo.local", "bar.local"] }],
    dnsPolicy: "ClusterFirst",
    containers: [{ name: "c" }],
  },
  resolver: {
    hostnameOverride: "other.example.test",
    dnsPolicy: "None",
    dnsConfig: {
      nameservers: ["192.0.2.53"],
      searches: ["a.test"],
      options: [{ name: "ndots", value: "2" }],
    },
    containers: [{ name: "c" }],
  },
  "long-name": {
    subdomain: "s".repeat(60),
    setHostnameAsFQDN: true,
    containers: [{ name: "c" }],
  },
  sysctls: {
    securityContext: {
      sysctls: [
        { name: "net.ipv4.ip_unprivileged_port_start", value: "81" },
        { name: "net/ipv4/tcp_syncookies", value: "0" },
        { name: "kernel.msgmax", value: "4096" },
      ],
    },
    containers: [{ name: "c" }],
  },
  "bad-sysctl": {
    securityContext: { sysctls: [{ name: "net.core.somaxconn", value: "1" }] },
    containers: [{ name: "c" }],
  },
  together: { shareProcessNamespace: true, containers: [{ name: "c" }, { name: "d" }] },
  "on-host": {
    hostNetwork: true,
    hostPID: true,
    hostIPC: true,
    containers: [{ name: "c", env: [{ name: "IP", ...field("status.podIP") }] }],
  },
  "not-root": one({ runAsNonRoot: true }),
  "other-root": one({ runAsNonRoot: true, runAsUser: 0 }),
  user: {
    securityContext: { runAsUser: 7, runAsGroup: 2000, fsGroup: 3000, supplementalGroups: [4000] },
    ...one({ runAsNonRoot: true, runAsUser: 1000 }),
  },
  strict: {
    securityContext: {
      runAsUser: 1000,
      runAsGroup: 2000,
      supplementalGroups: [4000],
      supplementalGroupsPolicy: "Strict",
    },
    containers: [{ name: "c" }],
  },
  "read-only": one({ readOnlyRootFilesystem: true }),
  "seccomp-default": one({ seccompProfile: { type: "RuntimeDefault" } }),
  "seccomp-none": { securityContext: { seccompProfile: { type: "Unconfined" } }, ...one({}) },
  "seccomp-own": one({ seccompProfile: { type: "Localhost", localhostProfile: "own/no-mkdir.json" } }),
  capable: one({ capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE", "CHOWN"] } }),
  ordinary: one({ allowPrivilegeEscalation: false }, { stdin: true, tty: true }),
  privileged: one({ privileged: true }),
  "own-users": { hostUsers: false, ...one({}) },
  confined: one({ appArmorProfile: { type: "RuntimeDefault" } }),
};

function placeProfile({ node }: LifecycleSuite): typeof pods {
  const dir = join(node.rootDir, "seccomp", "own");
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "no-mkdir.json"), JSON.stringify(noDirs));
  return pods;
}

// parity: field clusterDNS, field clusterDomain, field allowedUnsafeSysctls
describeLifecycle(
  "the environment of containers",
  placeProfile,
  (suite) => {
    /** Waits until the pod runs, and returns the output of a shell line in its container. */
    const inside = async (name: string, script: string, container?: string) =>
      (await suite.inside(await suite.pods.running(name), script, container)).trim();
    const statusLine = async (pod: string, key: string) =>
      (await inside(pod, `grep ^${key}: /proc/1/status`)).replace(/^\S+\s+/, "");
    const environ = async (pod: string) =>
      new Map(
        (await inside(pod, "tr '\\0' '\\n' < /proc/1/environ")).split("\n").map((line) => {
          const at = line.indexOf("=");
          return [line.slice(0, at), line.slice(at + 1)] as const;
        }),
      );

    test("variables have their values, including in command and arguments", async () => {
      const row = await suite.pods.running("env");
      const env = await environ("env");
      const wanted = {
        FIRST: "one",
        SECOND: "one $(FIRST) $(NOBODY) $(LATER)",
        "odd-name.1": "yes",
        POD: row.name,
        UID_OF_POD: row.uid,
        IP: row.ip,
        HOST_IP: row.status?.hostIP,
        CPU: "250",
        MEMORY: "20",
      };
      for (const [name, value] of Object.entries(wanted)) assert.equal(env.get(name), value, name);
      assert.equal(`env-${env.get("NODE")}`, row.name);
      const command = (await inside("env", "tr '\\0' '\\n' < /proc/1/cmdline")).split("\n");
      assert.deepEqual(command.slice(-2), ["one", "$(FIRST)"]);
    });

    test("a pod has its host name, /etc/hosts with aliases, and the cluster's resolver", async () => {
      const row = await suite.pods.running("names");
      const fqdn = "web-0.sub.default.svc.cluster.local";
      assert.equal(await inside("names", "hostname"), fqdn);
      const hosts = await inside("names", "cat /etc/hosts");
      assert.match(hosts, /^# Kubernetes-managed hosts file\.$/m);
      assert.match(hosts, new RegExp(`^${row.ip}\\t${fqdn}\\tweb-0$`, "m"));
      assert.match(hosts, /^192\.0\.2\.7\tfoo\.local\tbar\.local$/m);
      const resolver = await inside("names", "cat /etc/resolv.conf");
      assert.match(resolver, /^nameserver 10\.96\.0\.10$/m);
      assert.match(resolver, /^search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local\b/m);
      assert.match(resolver, /^options ndots:5$/m);
    });

    test("hostname and dnsConfig override the defaults", async () => {
      assert.equal(await inside("resolver", "hostname"), "other.example.test");
      const resolver = await inside("resolver", "cat /etc/resolv.conf");
      assert.deepEqual(resolver.split("\n").sort(byText), [
        "nameserver 192.0.2.53",
        "options ndots:2",
        "search a.test",
      ]);
    });

    test("a host name that is too long for the kernel is reported, and the pod waits", async () => {
      const row = await suite.pods.waitForPod("long-name", (row) =>
        assert.match(row.blockedOn, /failed to construct FQDN from pod hostname and cluster domain/),
      );
      assert.equal(row.phase, "Pending");
    });

    test("safe sysctls and allowed unsafe ones are set", async () => {
      const read =
        "cd /proc/sys; cat net/ipv4/ip_unprivileged_port_start net/ipv4/tcp_syncookies kernel/msgmax";
      assert.deepEqual((await inside("sysctls", read)).split("\n"), ["81", "0", "4096"]);
    });

    test("a pod with a sysctl that is not allowed is rejected", async () => {
      const { status } = await suite.pods.inPhase("bad-sysctl", "Failed");
      assert.equal(status?.reason, "SysctlForbidden");
      assert.equal(
        status?.message,
        'Pod was rejected: forbidden sysctl: "net.core.somaxconn" not allowlisted',
      );
    });

    test("containers with shareProcessNamespace see each other's processes", async () => {
      assert.equal(await inside("together", "tr '\\0' ' ' < /proc/1/cmdline"), "/pause");
      const shared = await inside("together", "readlink /proc/self/ns/pid", "d");
      assert.equal(await inside("together", "readlink /proc/self/ns/pid"), shared);
      assert.notEqual(await inside("ordinary", "readlink /proc/self/ns/pid"), shared);
    });

    test("a pod in the host's namespaces has the host's addresses and name", async () => {
      for (const namespace of ["net", "pid", "ipc"]) {
        const own = readlinkSync(`/proc/self/ns/${namespace}`);
        assert.equal(await inside("on-host", `readlink /proc/self/ns/${namespace}`), own);
        assert.notEqual(await inside("ordinary", `readlink /proc/self/ns/${namespace}`), own);
      }
      const { status } = await suite.pods.running("on-host");
      // PID 1 is the host's: the container's own is the calling shell.
      assert.equal(await inside("on-host", 'echo "$IP"'), status?.hostIP);
      assert.equal(await inside("on-host", "hostname"), hostname());
      assert.match(await inside("on-host", "cat /etc/hosts"), /hosts file \(host network\)/);
    });

    test("a runAsNonRoot container that would run as root does not start, with a reason", async () => {
      for (const [name, why] of [
        ["not-root", "container has runAsNonRoot and image will run as root"],
        ["other-root", "container's runAsUser breaks non-root policy"],
      ] as const) {
        const row = await suite.pods.waitForPod(name, (row) =>
          assert.equal(containerOf(row).state?.waiting?.reason, "CreateContainerConfigError"),
        );
        assert.equal(
          containerOf(row).state?.waiting?.message,
          `${why} (pod: "${row.name}_default(${row.uid})", container: c)`,
        );
      }
    });

    test("a container has the user and groups of the pod", async () => {
      assert.equal(await statusLine("user", "Uid"), "1000\t1000\t1000\t1000");
      assert.equal(await statusLine("user", "Gid"), "2000\t2000\t2000\t2000");
      const groups = (await statusLine("user", "Groups")).split(" ");
      for (const group of ["3000", "4000"]) assert.ok(groups.includes(group), `${group} of ${groups}`);
    });

    test("a pod with supplementalGroupsPolicy Strict has only its own groups, or is rejected by a runtime without support", async () => {
      if ((await suite.runtime.status(false)).features?.supplementalGroupsPolicy) {
        const groups = (await statusLine("strict", "Groups")).split(" ").filter((group) => group !== "2000");
        assert.deepEqual(groups, ["4000"]);
        return;
      }
      const { status } = await suite.pods.inPhase("strict", "Failed");
      assert.equal(status?.reason, "SupplementalGroupsPolicyNotSupported");
      assert.equal(
        status?.message,
        "Pod was rejected: SupplementalGroupsPolicy=Strict is not supported in this node",
      );
    });

    test("a container with a read-only root filesystem can write to /dev/shm only", async () => {
      assert.equal(
        await inside("read-only", "touch /x 2>/dev/null || touch /dev/shm/x && ls / /dev/shm | grep x"),
        "x",
      );
      assert.equal(await inside("read-only", "test -e /x || echo none"), "none");
    });

    test("a seccomp profile is RuntimeDefault, Unconfined or Localhost", async () => {
      assert.equal(await statusLine("seccomp-default", "Seccomp"), "2");
      assert.equal(await statusLine("seccomp-none", "Seccomp"), "0");
      assert.equal(await statusLine("ordinary", "Seccomp"), "0", "a profile is set without seccompDefault");
      assert.equal(await statusLine("seccomp-own", "Seccomp"), "2");
      const tried = await inside("seccomp-own", "mkdir /tmp/x 2>&1; touch /tmp-file && echo touched");
      assert.match(tried, /Operation not permitted\s+touched$/);
    });

    test("capabilities are dropped and added", async () => {
      const effective = async (pod: string) => BigInt(`0x${await statusLine(pod, "CapEff")}`);
      assert.equal(await effective("capable"), (1n << 10n) | 1n);
      assert.equal(await effective("ordinary"), defaultCapabilities);
      const all = await effective("privileged");
      assert.equal(all & defaultCapabilities, defaultCapabilities);
      assert.ok(all > defaultCapabilities);
    });

    test("allowPrivilegeEscalation: false sets no_new_privs", async () => {
      assert.equal(await statusLine("ordinary", "NoNewPrivs"), "1");
      assert.equal(await statusLine("capable", "NoNewPrivs"), "0");
    });

    test("kernel paths are masked or read-only, except in privileged containers", async () => {
      const script = "wc -c < /proc/timer_list; grep -c ' /proc/sys proc ro,' /proc/mounts";
      assert.deepEqual((await inside("capable", script)).split("\n"), ["0", "1"]);
      assert.equal((await inside("privileged", script)).split("\n").at(-1), "0");
    });

    test("a TTY is allocated if requested", async () => {
      assert.match(await inside("ordinary", "readlink /proc/1/fd/0"), /^\/dev\/(pts\/\d+|console)$/);
      assert.equal(await inside("capable", "readlink /proc/1/fd/0"), "/dev/null");
    });

    test("a user namespace is mapped if the runtime supports it, and reported otherwise", async () => {
      const { runtimeHandlers } = await suite.runtime.status(false);
      if (runtimeHandlers.find(({ name }) => name === "")?.features?.userNamespaces) {
        const [inPod, onHost, length] = (await inside("own-users", "cat /proc/self/uid_map")).split(/\s+/);
        assert.deepEqual([inPod, length], ["0", "65536"]);
        assert.ok(Number(onHost) >= 65_536);
      } else {
        await suite.pods.waitForPod("own-users", (row) =>
          assert.match(
            row.blockedOn,
            /can't set `spec.hostUsers: false`, runtime does not support user namespaces/,
          ),
        );
      }
    });

    test("an AppArmor profile is enforced, or the pod is rejected", async () => {
      if (hasAppArmor) {
        await suite.pods.running("confined");
        return;
      }
      const { status } = await suite.pods.inPhase("confined", "Failed");
      assert.equal(status?.reason, "AppArmor");
      assert.equal(
        status?.message,
        "Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host",
      );
    });
  },
  { clusterDNS: ["10.96.0.10"], clusterDomain: "cluster.local", allowedUnsafeSysctls: ["kernel.msg*"] },
);

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
