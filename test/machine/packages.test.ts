import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { PodRow } from "../../src/kubelet/agent/pod-overview.ts";
import { messageOf } from "../../src/lib/base/errors.ts";
import { podManifest } from "../e2e/manifests.ts";
import { ProjectCopy } from "../packages/project-copy.ts";
import { patience } from "../patience.ts";
import { GuestApi } from "./guest-api.ts";
import { startRuntime } from "./guest-runtime.ts";
import { Machine } from "./machine.ts";
import { describeOnMachine } from "./on-machine.ts";

const nodeName = "machine";
const socket = "/var/lib/kubelet/kubelet.sock";
const aptOptions = "-qq -y -o APT::Sandbox::User=root -o Dpkg::Use-Pty=0";
const slow = { timeoutMs: 400_000 };

/** The drop-in of the kubeadm package, and the files that `kubeadm join` writes; the second flag is one of kubeadm v1.34. */
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
cgroupDriver: systemd
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

describeOnMachine("the Debian package", () => {
  let copy: ProjectCopy;
  let machine: Machine;
  let api: GuestApi;
  let filesBefore: string[];
  let deb: string;

  before(async () => {
    copy = await ProjectCopy.create("project");
    const [packages] = await Promise.all([copy.makePackages("--arch=x64", "--format=deb"), boot()]);
    deb = `/packages/${packages.names.find((name) => name.endsWith("_amd64.deb"))}`;
    await machine.mountHost(packages.dir, "/packages");
    filesBefore = await files();
  });
  after(async () => {
    await api?.stop();
    await machine?.powerOff();
    await copy?.remove();
  });

  test("installs with apt, enabled and not started", async () => {
    await machine.sh(`apt-get install ${aptOptions} ${deb}`, slow);
    assert.equal(await machine.sh("kubelet --version"), "Kubernetes v1.36.4\n");
    assert.equal(
      await machine.sh("systemctl is-enabled kubelet; systemctl is-active kubelet || true"),
      "enabled\ninactive\n",
    );
    assert.match(await machine.sh("dpkg -s kubelet-ts"), /^Provides: kubelet \(= 1\.36\.4\)$/m);
  });

  test("runs a static pod after one file is edited", async () => {
    await machine.sh("sed -i 's/^cgroupDriver: .*/cgroupDriver: systemd/' /etc/kubernetes/kubelet.yaml");
    await machine.write(
      "/etc/kubernetes/manifests/web.yaml",
      podManifest("web", { containers: [{ name: "c" }] }),
    );
    await start("systemctl start kubelet");
    await runs();
  });

  test("joins a cluster with kubeadm's files unchanged, and the pod keeps running", async () => {
    const started = await containerId();
    for (const [path, content] of Object.entries(kubeadmFiles)) await machine.write(path, content);
    await machine.write("/etc/kubernetes/bootstrap-kubelet.conf", await api.bootstrapKubeconfig());
    await start("systemctl daemon-reload && systemctl restart kubelet");
    await eventually(async () => {
      const ready = await api.condition("Ready");
      assert.equal(ready?.status, "True", JSON.stringify(ready));
    });
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
    assert.match(await machine.sh("cat /etc/kubernetes/kubelet.yaml"), /^cgroupDriver: systemd$/m);
  });

  test("leaves only the files of others after apt purge", async () => {
    await machine.sh("rm /etc/kubernetes/manifests/web.yaml");
    await eventually(async () =>
      assert.equal(await machine.sh("ctr --namespace k8s.io containers list -q"), ""),
    );
    await machine.sh(`apt-get purge ${aptOptions} kubelet-ts`, slow);
    assert.equal(await machine.sh("systemctl is-active kubelet || true"), "inactive\n");
    const added = (await files()).filter((path) => !filesBefore.includes(path));
    assert.deepEqual(added, [
      "/etc/kubernetes",
      "/etc/kubernetes/bootstrap-kubelet.conf",
      "/etc/kubernetes/kubelet.conf",
      "/usr/lib/systemd/system/kubelet.service.d",
      "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
      "/var/lib/kubelet",
      "/var/lib/kubelet/config.yaml",
      "/var/lib/kubelet/kubeadm-flags.env",
    ]);
  });

  async function start(script: string): Promise<void> {
    const { code, stderr } = await machine.run(script, slow);
    assert.equal(code, 0, `${stderr}\n${await machine.journal("kubelet", 60)}`);
  }

  async function boot(): Promise<void> {
    machine = await Machine.boot();
    api = await GuestApi.start(machine.network.hostAddress, nodeName);
    await startRuntime(machine, "systemd");
  }

  /** The files of the system, without those that package management, containerd and the journal keep for themselves. */
  async function files(): Promise<string[]> {
    const own = [
      "/var/lib/dpkg",
      "/var/lib/apt",
      "/var/lib/containerd",
      "/var/lib/cni",
      "/var/cache/apt",
      "/var/log/apt",
      "/var/log/journal",
    ];
    const listed = await machine.sh(
      `find /etc /usr /var /opt /root -xdev \\( ${own.map((path) => `-path ${path}`).join(" -o ")} \\) -prune -o -print`,
      slow,
    );
    return listed
      .trim()
      .split("\n")
      .filter((path) => path !== "/var/log/dpkg.log")
      .sort();
  }

  function runs(): Promise<void> {
    return eventually(async () => {
      const { pods } = JSON.parse(
        await machine.sh(`curl -sS --max-time 20 --unix-socket ${socket} http://kubelet/pods`),
      ) as {
        pods: PodRow[];
      };
      assert.deepEqual(
        pods.map(({ name, phase }) => [name, phase]),
        [[`web-${nodeName}`, "Running"]],
      );
    });
  }

  async function containerId(): Promise<string> {
    const ids = await machine.sh(
      "ctr --namespace k8s.io containers list -q labels.io.kubernetes.container.name==c",
    );
    assert.match(ids, /^\S+\n$/);
    return ids;
  }

  async function mainPid(): Promise<string> {
    return machine.sh("systemctl show --property=MainPID --value kubelet");
  }

  /** As `GuestNode.waitFor`: most of the guest's only processor is left to the node. */
  async function eventually(check: () => Promise<void>): Promise<void> {
    const deadline = Date.now() + 180_000 * patience;
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
