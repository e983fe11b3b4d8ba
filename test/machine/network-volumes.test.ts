import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Explanations } from "../../src/kubelet/explain/pod-explanations.ts";
import { podManifest, sleeper } from "../e2e/manifests.ts";
import { GuestNode } from "./guest-node.ts";
import { describeOnMachine } from "./on-machine.ts";

const project = fileURLToPath(new URL("../..", import.meta.url));
const ganesha = `
NFS_CORE_PARAM { Protocols = 4; Bind_addr = 127.0.0.1; Enable_NLM = false; Enable_RQUOTA = false; }
NFSv4 { Graceless = true; Lease_Lifetime = 10; Grace_Period = 10; }
EXPORT { Export_Id = 1; Path = /srv/nfs; Pseudo = /data; Access_Type = RW; Squash = No_Root_Squash; SecType = sys;
  Protocols = 4; Transports = TCP; FSAL { Name = VFS; } }
`;
const target = "iqn.2026-01.com.example:disk";
const secretTarget = "iqn.2026-01.com.example:secret-disk";
const password = "guest-chap-password";

const servers = `
mkdir -p /srv/nfs /srv/iscsi
cat >/etc/ganesha/ganesha.conf <<'END'
${ganesha}
END
cat >/etc/tgt/conf.d/disk.conf <<'END'
<target ${target}>
  backing-store /srv/iscsi/disk.img
</target>
<target ${secretTarget}>
  backing-store /srv/iscsi/secret-disk.img
  incominguser guest ${password}
</target>
END
truncate -s 32M /srv/iscsi/disk.img /srv/iscsi/secret-disk.img
# All users can read the arguments of programs.
mv /usr/sbin/iscsiadm /usr/sbin/iscsiadm.real
printf '#!/bin/sh\necho "$@" >>/srv/iscsi/arguments\nexec /usr/sbin/iscsiadm.real "$@"\n' >/usr/sbin/iscsiadm
chmod 755 /usr/sbin/iscsiadm
# Otherwise mount itself tries again for two minutes before it reports an error.
printf '[ NFSMount_Global_Options ]\nRetry=0\n' >/etc/nfsmount.conf
modprobe nfsv4
modprobe iscsi_tcp
systemctl start nfs-ganesha tgt iscsid.socket
`;

/** Pods whose volumes are on servers, which run in the guest too. */
describeOnMachine("volumes of real NFS and iSCSI servers", () => {
  let node: GuestNode;

  before(async () => {
    node = await GuestNode.start({
      driver: "cgroupfs",
      prepare: async (machine) => void (await machine.sh(servers, { timeoutMs: 300_000 })),
    });
  });
  after(() => node?.stop());

  const place = (name: string, volume: object, command: readonly string[] = sleeper) =>
    node.place(
      name,
      podManifest(name, {
        terminationGracePeriodSeconds: 1,
        volumes: [{ name: "data", ...volume }],
        containers: [
          { name: "c", command: [...command], volumeMounts: [{ name: "data", mountPath: "/data" }] },
        ],
      }),
    );
  const nfs = (path = "/data") => ({ nfs: { server: "127.0.0.1", path } });
  const iscsi = { iscsi: { targetPortal: "127.0.0.1:3260", iqn: target, lun: 1, fsType: "ext4" } };
  const writes = (text: string) => [
    "sh",
    "-c",
    `echo ${text} >>/data/file && sync && trap 'exit 0' TERM; while true; do sleep 1000 & wait; done`,
  ];
  const runs = (name: string) =>
    node.waitFor(async () => {
      const pod = await node.pod(name);
      assert.equal(pod?.phase, "Running", JSON.stringify(pod));
      assert.match(pod.ready, /^1\/1$/);
    }, 180_000);
  const gone = (name: string) =>
    node.waitFor(async () => assert.equal(await node.pod(name), undefined), 180_000);
  const causeOf = async (name: string) => {
    const { pods } = JSON.parse(await node.get(`/explain?pod=${name}-machine`)) as Explanations;
    return JSON.stringify(pods);
  };
  const mounts = async (type: string) =>
    (await node.machine.sh(`grep -c ' ${type} ' /proc/mounts || true`)).trim();
  const servedFile = () => node.machine.sh("cat /srv/nfs/file");

  test("a pod waits for an NFS server that is down, with its error, and runs when the server is up", async () => {
    await node.machine.sh("systemctl stop nfs-ganesha");
    await place("early", nfs(), writes("early"));
    await node.waitFor(async () => assert.match(await causeOf("early"), /mount\.nfs|Connection refused/));
    await node.machine.sh("systemctl start nfs-ganesha");
    await runs("early");
    await node.waitFor(async () => assert.equal(await servedFile(), "early\n"));
    await node.remove("early");
    await gone("early");
    assert.equal(await mounts("nfs4"), "0");
  });

  test("a server that is an option of mount is rejected, and mounts nothing", async () => {
    const volume = { nfs: { server: "--options=bind,x-source", path: "/etc" } };
    await place("hostile", volume);
    await node.waitFor(async () =>
      assert.match(await causeOf("hostile"), /nfs: invalid server .*must be a host name or an IP address/),
    );
    assert.equal(await node.machine.sh("grep -c '/volumes/kubernetes.io~nfs/' /proc/mounts || true"), "0\n");
    await node.remove("hostile");
    await gone("hostile");
  });

  test("the filesystem of a disk cannot be one that does not use the disk", async () => {
    await place("procfs", { iscsi: { ...iscsi.iscsi, fsType: "proc" } });
    await node.waitFor(async () =>
      assert.match(await causeOf("procfs"), /failed to mount the volume as proc/),
    );
    await node.remove("procfs");
    await gone("procfs");
    await node.waitFor(async () => assert.deepEqual(await sessions(), []));
  });

  test("an export that does not exist is named", async () => {
    await place("missing", nfs("/missing"));
    await node.waitFor(async () => assert.match(await causeOf("missing"), /127\.0\.0\.1:\/missing/));
    await node.remove("missing");
    await gone("missing");
  });

  test("an NFS server that hangs affects only its pod, which terminates when the server is back", async () => {
    await place("steady", nfs(), ["sh", "-c", "while true; do echo steady >>/data/file; sleep 0.2; done"]);
    await runs("steady");
    const pid = (await node.machine.sh("systemctl show --property=MainPID --value nfs-ganesha")).trim();
    await node.machine.sh(`kill -STOP ${pid}`);
    try {
      await node.remove("steady");
      await place("other", { emptyDir: {} });
      await runs("other");
      assert.match(await node.machine.sh("curl -sS 127.0.0.1:10248/healthz"), /^ok/);
    } finally {
      await node.machine.sh(`kill -CONT ${pid}`);
    }
    await gone("steady");
    assert.equal(await mounts("nfs4"), "0");
    assert.match(await servedFile(), /steady/);
    await node.remove("other");
    await gone("other");
  });

  const sessions = async () =>
    (await node.machine.run("iscsiadm -m session")).stdout
      .split("\n")
      .filter((line) => line.includes(target));

  test("a pod waits for an iSCSI target that is down, and gets its disk, formatted, when the target is up", async () => {
    await node.machine.sh("systemctl stop tgt");
    await place("disk", iscsi, writes("one"));
    await node.waitFor(async () => assert.match(await causeOf("disk"), /iscsi/i));
    await node.machine.sh("systemctl start tgt");
    await runs("disk");
    assert.equal((await sessions()).length, 1);
    await node.remove("disk");
    await gone("disk");
    await node.waitFor(async () => assert.deepEqual(await sessions(), []));
    // Once in the staging directory and once in the pod.
    assert.equal(await mounts("ext4"), "1", "a mount of the disk is left");
  });

  test("the password for a target with CHAP is in the records of iscsiadm, and in no arguments", async () => {
    await node.machine.mountHost(project, "/project");
    const program = "/project/node_modules/.bin/node /project/test/machine/iscsi-login-program.ts";
    const login = (given: string) =>
      node.machine.run(`CHAP_PASSWORD='${given}' ${program} ${secretTarget} 127.0.0.1:3260 guest`);
    for (const wrong of ["", "another-password"]) {
      const { stdout, stderr } = await login(wrong);
      assert.match(`${stdout}${stderr}`, /authorization failure/, wrong);
    }
    assert.equal((await login(password)).code, 0);
    assert.match((await node.machine.run("iscsiadm -m session")).stdout, /:secret-disk/);
    const started = await node.machine.sh("cat /srv/iscsi/arguments");
    assert.match(started, /node\.session\.auth\.authmethod --value=CHAP/);
    assert.ok(!started.includes(password), started);
    await node.machine.sh(
      `iscsiadm -m node -T ${secretTarget} --logout && iscsiadm -m node -T ${secretTarget} -o delete`,
    );
    assert.equal(await node.machine.sh("find /etc/iscsi /var/lib/iscsi -name '.kubelet*' || true"), "");
  });

  test("a target that the portal does not have is reported with the error of iscsiadm", async () => {
    await place("unknown", { iscsi: { ...iscsi.iscsi, iqn: `${target}-unknown` } });
    await node.waitFor(async () => assert.match(await causeOf("unknown"), /iscsiadm: No records found/));
    await node.remove("unknown");
    await gone("unknown");
  });

  test("the data of an iSCSI disk is still there for the next pod", async () => {
    const command = [
      "sh",
      "-c",
      "grep -q one /data/file && trap 'exit 0' TERM; while true; do sleep 1000 & wait; done",
    ];
    await place("again", iscsi, command);
    await runs("again");
    await node.machine.sh("test $(grep -c iqn.2026-01.com.example /proc/mounts) -ge 1");
  });

  test("a target that is lost under a pod affects only that pod, which terminates when the target is back", async () => {
    const pid = (await node.machine.sh("systemctl show --property=MainPID --value tgt")).trim();
    await node.machine.sh(`kill -STOP ${pid}`);
    try {
      await place("bystander", { emptyDir: {} });
      await runs("bystander");
      assert.match(await node.machine.sh("curl -sS 127.0.0.1:10248/healthz"), /^ok/);
    } finally {
      await node.machine.sh(`kill -CONT ${pid}`);
    }
    await node.remove("again");
    await gone("again");
    await node.waitFor(async () => assert.deepEqual(await sessions(), []));
  });
});
