import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import { messageOf } from "../../src/lib/base/errors.ts";
import { busyboxImage, type OciImage, pauseImage } from "../../src/single-node/oci-image.ts";
import { findProgram } from "../../src/single-node/requirements.ts";
import { podManifest } from "../e2e/manifests.ts";
import { busyboxName } from "../node/test-node.ts";
import { ProjectCopy } from "../packages/project-copy.ts";
import { timeoutFactor } from "../timeout-factor.ts";
import { GuestApi, type NodeCondition } from "./guest-api.ts";
import { networkConflist } from "./guest-files.ts";
import { importImage } from "./guest-runtime.ts";
import { compareFiles, installedPackages, systemFiles } from "./guest-system.ts";
import { Machine } from "./machine.ts";
import { machineFiles } from "./machine-files.ts";
import { describeOnMachine } from "./on-machine.ts";

const nodeName = "machine";
const nodePath = `/api/v1/nodes/${nodeName}`;
const aptOptions = "-qq -y -o Dpkg::Use-Pty=0";
const slow = { timeoutMs: 400_000 };

interface NodeObject {
  readonly status: {
    readonly capacity: Record<string, string>;
    readonly conditions: readonly NodeCondition[];
  };
}

/**
 * The drop-in of the kubeadm package, and the files that `kubeadm join` writes with the cgroup driver of Debian's containerd; the second flag
 * is one of kubeadm v1.34.
 */
const kubeadmFiles = {
  "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf": `[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
`,
  "/var/lib/kubelet/kubeadm-flags.env": `KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///run/containerd/containerd.sock --pod-infra-container-image=registry.k8s.io/pause:3.10"
`,
  "/var/lib/kubelet/config.yaml": `apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: false
  webhook:
    cacheTTL: 0s
    enabled: true
authorization:
  mode: Webhook
cgroupDriver: cgroupfs
clusterDNS:
- 10.96.0.10
clusterDomain: cluster.local
containerRuntimeEndpoint: ""
healthzBindAddress: 127.0.0.1
healthzPort: 10248
kind: KubeletConfiguration
rotateCertificates: true
staticPodPath: /etc/kubernetes/manifests
`,
};

/** A package with the name and the maintainer script of the Go kubelet's. */
const otherKubelet = {
  "DEBIAN/control": `Package: kubelet
Version: 1.36.4
Architecture: all
Maintainer: test <test@localhost>
Description: another kubelet
`,
  "DEBIAN/prerm": `#!/bin/sh
systemctl --no-reload disable kubelet.service
systemctl stop kubelet.service
`,
  "lib/systemd/system/kubelet.service": `[Service]
ExecStart=/bin/sleep infinity
[Install]
WantedBy=multi-user.target
`,
};

describeOnMachine("the Debian package in a minimal Debian", () => {
  let copy: ProjectCopy;
  let machine: Machine;
  let api: GuestApi;
  let filesBefore: Map<string, string>;
  let packagesBefore: string[];
  const deb = "/packages/kubelet-ts_*_amd64.deb";

  before(async () => {
    copy = await ProjectCopy.create("project");
    const [packages] = await Promise.all([copy.makePackages("--arch=x64", "--format=deb"), boot()]);
    await machine.mountHost(packages.dir, "/packages");
    await machine.mountHost((await machineFiles()).repository, "/repository");
    await machine.write("/etc/apt/sources.list", "deb [trusted=yes] file:/repository ./\n");
    await machine.sh("apt-get -qq update", slow);
    filesBefore = await systemFiles(machine);
    packagesBefore = await installedPackages(machine);
  });
  after(async () => {
    await api?.stop();
    await machine?.powerOff();
    await copy?.remove();
  });

  test("installs with apt together with its dependencies, enabled and not started", async () => {
    assert.equal(await machine.sh("type -P containerd runc iptables ip dbus-daemon || true"), "");
    await machine.sh(`apt-get install ${aptOptions} ${deb}`, { timeoutMs: 900_000 * timeoutFactor });
    const names = await dependencies();
    const states = await machine.sh(`dpkg-query -W -f '\${db:Status-Status} ' ${names.join(" ")}`);
    assert.deepEqual(states.trim().split(" "), new Array(names.length).fill("installed"), names.join());
    assert.equal(await machine.sh("kubelet --version"), "Kubernetes v1.36.4\n");
    assert.equal(
      await machine.sh("systemctl is-enabled kubelet; systemctl is-active kubelet containerd || true"),
      "enabled\ninactive\nactive\n",
    );
    assert.match(await machine.sh("dpkg -s kubelet-ts"), /^Provides: kubelet \(= 1\.36\.4\)$/m);
  });

  test("runs a static pod after one file is edited", async () => {
    // In place of a registry.
    for (const image of await nodeImages()) await importImage(machine, image);
    await machine.sh("echo 'maxPods: 20' >>/etc/kubernetes/kubelet.yaml");
    await machine.write(
      "/etc/kubernetes/manifests/web.yaml",
      podManifest("web", { hostNetwork: true, containers: [{ name: "c" }] }),
    );
    await start("systemctl start kubelet");
    await runs();
  });

  test("is restricted as far as a kubelet can be, and mounts what all processes see", async () => {
    const pid = (await mainPid()).trim();
    const status = await machine.sh(`cat /proc/${pid}/status`);
    assert.match(status, /^NoNewPrivs:\t1$/m);
    assert.match(status, /^Seccomp:\t2$/m);
    const capabilities = BigInt(`0x${/^CapBnd:\t(\w+)$/m.exec(status)?.[1]}`);
    const isSet = (bit: number) => (capabilities >> BigInt(bit)) % 2n === 1n;
    const [sysAdmin, sysBoot, sysTime] = [21, 22, 25];
    assert.deepEqual([sysAdmin, sysBoot, sysTime].map(isSet), [true, false, false]);
    assert.match(await machine.sh(`cat /proc/${pid}/limits`), /^Max core file size +0 +0 /m);
    const namespaces = await machine.sh(`readlink /proc/1/ns/mnt /proc/${pid}/ns/mnt`);
    assert.equal(new Set(namespaces.trim().split("\n")).size, 1, namespaces);
    // The same unit without these lines, measured by the same systemd.
    const exposure = async () => {
      const overall = await machine.sh("systemd-analyze security --no-pager kubelet.service | tail -1");
      return Number(/: ([\d.]+) /.exec(overall)?.[1]);
    };
    const unit = "/usr/lib/systemd/system/kubelet.service";
    const hardened = await exposure();
    await machine.sh(
      `sed '/^# Hardening/,/^\\[Install/{/^\\[Install/!d}' ${unit} >/etc/systemd/system/kubelet.service && systemctl daemon-reload`,
    );
    const open = await exposure();
    await machine.sh("rm /etc/systemd/system/kubelet.service && systemctl daemon-reload");
    assert.ok(hardened + 2 < open, `${hardened}, ${open} without`);
  });

  test("joins a cluster with a bootstrap kubeconfig, and runs pods of it", async () => {
    const started = await containerId();
    await machine.write("/etc/cni/net.d/10-bridge.conflist", networkConflist);
    await machine.write("/etc/kubernetes/bootstrap-kubelet.conf", await api.bootstrapKubeconfig());
    await machine.sh(
      `sed -i 's/^# KUBELET_EXTRA_ARGS=/KUBELET_EXTRA_ARGS=/; /^KUBELET_EXTRA_ARGS=$/d' /etc/default/kubelet`,
    );
    await start("systemctl restart kubelet");
    await ready();
    assert.equal((await api.get<NodeObject>(nodePath)).status.capacity.pods, "20");
    await api.addPod("of-cluster", { containers: [{ name: "c" }] });
    await eventually(async () => {
      const pod = await api.pod("of-cluster");
      assert.equal(pod?.status?.phase, "Running", JSON.stringify(pod?.status));
      assert.ok(pod?.status?.podIP);
    });
    assert.equal(await containerId(), started);
    await api.deletePod("of-cluster");
    await eventually(async () => assert.equal(await api.pod("of-cluster"), undefined));
  });

  test("runs with kubeadm's files unchanged, and the pod keeps running", async () => {
    const started = await containerId();
    const heartbeat = (await ready()).lastHeartbeatTime;
    for (const [path, content] of Object.entries(kubeadmFiles)) await machine.write(path, content);
    await machine.sh("echo KUBELET_EXTRA_ARGS= >/etc/default/kubelet");
    await start("systemctl daemon-reload && systemctl restart kubelet");
    await ready(heartbeat);
    const log = await machine.journal("kubelet", 2000);
    assert.match(
      log,
      /^Flag --container-runtime-endpoint has been deprecated, This parameter should be set via the config file/m,
    );
    assert.match(log, /^Flag --pod-infra-container-image has been deprecated, will be removed in 1\.35\./m);
    assert.equal(await containerId(), started);
  });

  test("is upgraded by apt: a new process takes over, and the pod keeps running", async () => {
    const started = await containerId();
    const pid = await mainPid();
    await machine.sh(`apt-get install --reinstall ${aptOptions} ${deb}`, slow);
    await eventually(async () => assert.notEqual(await mainPid(), pid));
    await runs();
    assert.equal(await containerId(), started);
    assert.match(await machine.sh("cat /etc/kubernetes/kubelet.yaml"), /^maxPods: 20$/m);
  });

  test("is enabled again after another kubelet was installed in between, and the pod keeps running", async () => {
    const started = await containerId();
    for (const [path, content] of Object.entries(otherKubelet))
      await machine.write(`/run/other/${path}`, content);
    await machine.sh("chmod 755 /run/other/DEBIAN/prerm && dpkg-deb --build /run/other /run/other.deb");
    await machine.sh(`apt-get install ${aptOptions} /run/other.deb`, slow);
    assert.equal(await machine.sh("dpkg-query -W -f '${db:Status-Status}' kubelet-ts"), "config-files");
    await machine.sh(`apt-get install ${aptOptions} ${deb}`, slow);
    assert.equal(
      await machine.sh("systemctl is-enabled kubelet; systemctl is-active kubelet || true"),
      "enabled\ninactive\n",
    );
    await start("systemctl restart kubelet");
    await runs();
    assert.equal(await containerId(), started);
  });

  test("leaves only the files of others after apt purge", async () => {
    await machine.sh("rm /etc/kubernetes/manifests/web.yaml");
    await eventually(async () =>
      assert.equal(await machine.sh("ctr --namespace k8s.io containers list -q"), ""),
    );
    await machine.sh(`apt-get purge --auto-remove ${aptOptions} kubelet-ts`, {
      timeoutMs: 600_000 * timeoutFactor,
    });
    assert.equal(await machine.sh("systemctl is-active kubelet || true"), "inactive\n");
    assert.equal(await machine.sh("type -P kubelet containerd runc iptables || true"), "");
    assert.equal(await machine.sh("grep -E ' /var/lib/(kubelet|containerd)' /proc/mounts || true"), "");
    const packagesAfter = await installedPackages(machine);
    // perl recommends it, so apt keeps it.
    assert.deepEqual(
      packagesAfter.filter((name) => !packagesBefore.includes(name)),
      ["netbase"],
    );
    const filesOfNetbase = ["ethertypes", "hosts", "networks", "protocols", "rpc", "services"];
    const differences = compareFiles(filesBefore, await systemFiles(machine));
    assert.deepEqual(
      differences.filter((line) => !filesOfNetbase.some((name) => line === `+ /etc/${name}`)),
      [
        "+ /etc/cni",
        "+ /etc/cni/net.d",
        "+ /etc/cni/net.d/10-bridge.conflist",
        "+ /etc/kubernetes",
        "+ /etc/kubernetes/bootstrap-kubelet.conf",
        "+ /etc/kubernetes/kubelet.conf",
        "+ /usr/lib/systemd/system/kubelet.service.d",
        "+ /usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
        "+ /var/lib/kubelet",
        "+ /var/lib/kubelet/config.yaml",
        "+ /var/lib/kubelet/kubeadm-flags.env",
      ],
    );
  });

  async function start(script: string): Promise<void> {
    const { code, stderr } = await machine.run(script, slow);
    assert.equal(code, 0, `${stderr}\n${await machine.journal("kubelet", 60)}`);
  }

  async function boot(): Promise<void> {
    machine = await Machine.boot({ base: true });
    api = await GuestApi.start(machine.network.hostAddress, nodeName);
  }

  /** The packages that the installed one depends on or recommends: the first alternative of each. */
  async function dependencies(): Promise<string[]> {
    const fields = await machine.sh("dpkg-query -W -f '${Depends}, ${Recommends}' kubelet-ts");
    return fields.split(", ").map((alternatives) => alternatives.split(" ")[0]!);
  }

  function runs(): Promise<void> {
    return eventually(async () => {
      const pods = JSON.parse(await machine.sh("kubelet pods -o json")) as PodRow[];
      assert.deepEqual(
        pods.map(({ name, phase }) => [name, phase]),
        [[`web-${nodeName}`, "Running"]],
      );
    });
  }

  /** With a later status than `heartbeat`. */
  async function ready(heartbeat?: string): Promise<NodeCondition> {
    return eventually(async () => {
      const { conditions } = (await api.get<NodeObject>(nodePath)).status;
      const found = conditions.find(({ type }) => type === "Ready");
      assert.ok(found && found.status === "True", JSON.stringify(found));
      assert.notEqual(found.lastHeartbeatTime, heartbeat);
      return found;
    });
  }

  async function containerId(): Promise<string> {
    const ids = await machine.sh(
      "ctr --namespace k8s.io containers list -q labels.io.kubernetes.pod.name==web-machine,labels.io.kubernetes.container.name==c",
    );
    assert.match(ids, /^\S+\n$/);
    return ids;
  }

  async function mainPid(): Promise<string> {
    return machine.sh("systemctl show --property=MainPID --value kubelet");
  }

  /** As `GuestNode.waitFor`: most of the guest's only processor is left to the node. */
  async function eventually<T>(check: () => Promise<T>): Promise<T> {
    const deadline = Date.now() + 180_000 * timeoutFactor;
    for (;;) {
      const started = Date.now();
      try {
        return await check();
      } catch (error) {
        if (Date.now() > deadline)
          throw new Error(`${messageOf(error)}\n${await machine.journal("kubelet", 60)}`, { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, Math.max(300, 3 * (Date.now() - started))));
    }
  }
});

/** pause by the name that the configuration of Debian's containerd uses, and busybox. */
async function nodeImages(): Promise<OciImage[]> {
  const busybox = await busyboxImage({ busybox: findProgram("busybox")!, names: [busyboxName] });
  return [pauseImage({ names: ["registry.k8s.io/pause:3.6"] }), busybox];
}
