import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Pod } from "../../src/lib/model/pod.ts";
import { repoDir } from "../e2e/agent-process.ts";
import { podManifest } from "../e2e/manifests.ts";
import { GuestNode, guestPaths } from "./guest-node.ts";
import type { Machine } from "./machine.ts";
import { describeOnMachine } from "./on-machine.ts";

const message = "Pod was terminated in response to imminent node shutdown.";
const config = {
  shutdownGracePeriod: "70s",
  shutdownGracePeriodCriticalPods: "30s",
  nodeStatusUpdateFrequency: "5s",
};
/** A directory of the guest's disk, in which pods note their hooks and signals. */
const notesDir = "/var/lib/journal-of-pods";
const hookSeconds = 5;
const stubbornSeconds = 15;

/** Units do everything that a boot needs, as on a production machine. */
async function bootUnits(machine: Machine): Promise<void> {
  const { guestAddress, hostAddress, bits } = machine.network;
  await machine.write(
    "/usr/local/sbin/node-setup",
    `modprobe -a overlay bridge veth br_netfilter
ip link set lo up
ip address replace ${guestAddress}/${bits} dev vec0 && ip link set vec0 up && ip route replace default via ${hostAddress}
mountpoint -q ${guestPaths.project} || mount -t hostfs -o 'ro,${repoDir}' none ${guestPaths.project}
`,
  );
  await machine.write(
    "/etc/systemd/system/node-setup.service",
    `[Unit]
Before=containerd.service kubelet.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/bash /usr/local/sbin/node-setup
`,
  );
  await machine.sh(`set -e
    mkdir -p ${notesDir} ${guestPaths.project} /etc/systemd/system/multi-user.target.wants
    for unit in node-setup kubelet; do
      ln -s /etc/systemd/system/$unit.service /etc/systemd/system/multi-user.target.wants/
    done
    ln -s /lib/systemd/system/containerd.service /etc/systemd/system/multi-user.target.wants/`);
}

const note = (what: string) => `echo "${what} $(date +%s)" >>/journal/$HOSTNAME`;

/** A pod that notes the begin and the end of its hook, and its SIGTERM. */
function notingPod(onTerm: string, more: object = {}, preStop = true) {
  const loop = `trap '${note("term")}; ${onTerm}' TERM; while true; do sleep 1000 & wait $!; done`;
  const hook = `${note("hook")}; sleep ${hookSeconds}; ${note("hook-done")}`;
  return {
    volumes: [
      { name: "journal", hostPath: { path: notesDir } },
      { name: "memory", emptyDir: { medium: "Memory" } },
    ],
    containers: [
      {
        name: "c",
        command: ["sh", "-c", loop],
        volumeMounts: [
          { name: "journal", mountPath: "/journal" },
          { name: "memory", mountPath: "/memory" },
        ],
        ...(preStop && { lifecycle: { preStop: { exec: { command: ["sh", "-c", hook] } } } }),
      },
    ],
    terminationGracePeriodSeconds: 30,
    ...more,
  };
}

describeOnMachine("a node that is shut down and started again", () => {
  let node: GuestNode;

  before(async () => {
    node = await GuestNode.start({ driver: "systemd", withApi: true, config, prepare: bootUnits });
  });
  after(() => node?.stop());

  const podIs = (name: string, check: (pod: Pod) => void) =>
    node.waitFor(async () => {
      const pod = await node.api.pod(name);
      assert.ok(pod, name);
      check(pod);
      return pod;
    }, 240_000);
  const runs = (name: string) =>
    podIs(name, ({ status }) => {
      assert.equal(status?.phase, "Running", `${name}: ${JSON.stringify(status)}`);
      assert.equal(status?.conditions?.find(({ type }) => type === "Ready")?.status, "True");
    });
  const readyIs = (status: string, text?: string) =>
    node.waitFor(async () => {
      const condition = await node.api.condition("Ready");
      assert.equal(condition?.status, status, condition?.message);
      if (text) assert.equal(condition?.message, text);
    }, 240_000);
  const hasInhibitorLock = () =>
    node.waitFor(async () =>
      assert.match(await node.machine.sh("systemd-inhibit --list --no-legend"), /kubelet.*shutdown.*delay/),
    );
  /** When a pod noted something for the first time, in seconds. */
  const noted = async (pod: string, what: string) => {
    const lines = (await node.machine.sh(`cat ${notesDir}/${pod}`)).trim().split("\n");
    const times = lines
      .filter((line) => line.startsWith(`${what} `))
      .map((line) => Number(line.split(" ")[1]));
    assert.ok(times.length > 0, `${pod} has not noted "${what}": ${lines.join(", ")}`);
    return times[0]!;
  };

  test("a reboot that fails leaves a node that accepts pods and delays the next one", async () => {
    const { machine } = node;
    await hasInhibitorLock();
    assert.match(
      await machine.sh(
        "busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager InhibitDelayMaxUSec",
      ),
      /^t 70000000$/m,
    );
    await node.api.addPod("early", { containers: [{ name: "c" }] });
    await runs("early");
    // A second inhibitor lock delays the reboot until reboot.target can no longer be started.
    const lock = "systemd-inhibit --what=shutdown --who=test --why=test --mode=delay sleep 600";
    await machine.sh(`setsid ${lock} >/dev/null 2>&1 & echo $! >/run/test-lock`);
    await node.waitFor(async () =>
      assert.match(await machine.sh("systemd-inhibit --list --no-legend"), /^test /m),
    );
    await machine.sh("systemctl reboot && systemctl mask --runtime reboot.target");
    await podIs("early", ({ status }) =>
      assert.deepEqual([status?.phase, status?.reason], ["Failed", "Terminated"]),
    );
    await machine.sh("kill -- -$(cat /run/test-lock)");
    await node.waitFor(async () =>
      assert.deepEqual(
        new Set((await node.api.events("Shutdown")).map((event) => event.message)),
        new Set([
          "Shutdown manager detected shutdown cancellation",
          "Shutdown manager detected shutdown event",
        ]),
      ),
    );
    await machine.sh("systemctl unmask --runtime reboot.target");
    await hasInhibitorLock();
    await readyIs("True");
  });

  test("a reboot terminates pods by priority, with their hooks and grace periods, and all that should run is running again afterwards", async () => {
    const { machine, api } = node;
    await node.place("static", podManifest("static", notingPod("exit 0", { hostname: "static" })));
    await api.addPod("web", notingPod("exit 0", { hostname: "web" }));
    await api.addPod(
      "stubborn",
      notingPod("true", { hostname: "stubborn", terminationGracePeriodSeconds: stubbornSeconds }, false),
    );
    await api.addPod(
      "critical",
      notingPod("exit 0", { hostname: "critical", priorityClassName: "system-node-critical" }),
    );
    const names = ["web", "stubborn", "critical", "static-machine"];
    const before = new Map(await Promise.all(names.map(async (name) => [name, await runs(name)] as const)));

    const bootID = await machine.sh("cat /proc/sys/kernel/random/boot_id");
    // The other requests are rejected: they must not make the machine go down sooner, nor power it off.
    const rebooted = machine.reboot("systemctl reboot; systemctl reboot; systemctl poweroff");
    await readyIs("False", "node is shutting down");
    await api.addPod("late", { containers: [{ name: "c" }] });
    await podIs("late", ({ status }) =>
      assert.deepEqual(
        [status?.phase, status?.reason, status?.message],
        ["Failed", "NodeShutdown", "Pod was rejected: Pod was rejected as the node is shutting down."],
      ),
    );
    for (const name of ["web", "stubborn", "critical"])
      await podIs(name, ({ status }) => {
        assert.deepEqual(
          [status?.phase, status?.reason, status?.message],
          ["Failed", "Terminated", message],
          name,
        );
        const target = status?.conditions?.find(({ type }) => type === "DisruptionTarget");
        assert.deepEqual([target?.status, target?.reason], ["True", "TerminationByKubelet"]);
      });
    await rebooted;
    await readyIs("True");
    const newBootID = (await machine.sh("cat /proc/sys/kernel/random/boot_id")).trim();
    assert.notEqual(newBootID, bootID.trim());
    await node.waitFor(async () =>
      assert.deepEqual(
        (await api.events("Rebooted")).map((event) => event.message),
        [`Node machine has been rebooted, boot id: ${newBootID}`],
      ),
    );

    const criticalHook = await noted("critical", "hook");
    for (const name of ["web", "static", "critical"]) {
      const [hook, done, term] = [
        await noted(name, "hook"),
        await noted(name, "hook-done"),
        await noted(name, "term"),
      ];
      assert.ok(done - hook >= hookSeconds, `the hook of ${name} was killed after ${done - hook} s`);
      assert.ok(term >= done, `${name} got SIGTERM during its hook`);
      if (name !== "critical") assert.ok(criticalHook >= term, `critical terminated before ${name}`);
    }
    const { finishedAt } =
      (await api.pod("stubborn"))?.status?.containerStatuses?.[0]?.state?.terminated ?? {};
    const killed = Date.parse(String(finishedAt)) / 1000;
    const lived = killed - (await noted("stubborn", "term"));
    // The note may be late, on a busy machine.
    assert.ok(lived >= stubbornSeconds / 2, `stubborn was killed ${lived} s after its SIGTERM`);
    assert.ok(criticalHook >= killed, "critical terminated before stubborn");

    // After the boot.
    const again = await podIs("static-machine", ({ status }) => {
      assert.equal(status?.phase, "Running", JSON.stringify(status));
      assert.equal(status?.containerStatuses?.[0]?.restartCount, 1);
      assert.equal(status?.conditions?.find(({ type }) => type === "Ready")?.status, "True");
    });
    const old = before.get("static-machine")!;
    assert.notEqual(
      again.status?.containerStatuses?.[0]?.containerID,
      old.status?.containerStatuses?.[0]?.containerID,
    );
    const addresses = await machine.sh(
      "for n in $(ip netns list | cut -d' ' -f1); do ip -n $n -4 -o address; done",
    );
    const own = `inet ${again.status?.podIP}/`;
    assert.ok(addresses.includes(own), `${own} is of no sandbox: ${addresses}`);
    for (const name of ["web", "stubborn", "critical", "early", "late"])
      assert.equal((await api.pod(name))?.status?.phase, "Failed", name);
    const mounts = (await machine.sh(`findmnt -rno TARGET | grep ^${guestPaths.root}/pods/ || true`))
      .trim()
      .split("\n");
    const uid = old.metadata.annotations?.["kubernetes.io/config.hash"] ?? "";
    assert.deepEqual(
      mounts.filter((mount) => !mount.includes(uid)),
      [],
      "only the static pod has mounts",
    );
    const state = JSON.parse(await machine.sh(`cat ${guestPaths.root}/graceful_node_shutdown_state`));
    assert.ok(state.endTime > state.startTime, JSON.stringify(state));
    await api.addPod("next", { containers: [{ name: "c" }] });
    await runs("next");
    await hasInhibitorLock();
  });

  test("a node that is powered off and on runs its static pods again, and no pod of before", async () => {
    const { machine, api } = node;
    const restarted = machine.restart("systemctl poweroff");
    await podIs("next", ({ status }) =>
      assert.deepEqual([status?.phase, status?.reason, status?.message], ["Failed", "Terminated", message]),
    );
    await restarted;
    await readyIs("True");
    await podIs("static-machine", ({ status }) => {
      assert.equal(status?.phase, "Running", JSON.stringify(status));
      assert.equal(status?.containerStatuses?.[0]?.restartCount, 2);
    });
    await api.addPod("last", { containers: [{ name: "c" }] });
    await runs("last");
    assert.equal((await api.pod("next"))?.status?.phase, "Failed");
  });
});
