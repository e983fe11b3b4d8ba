import assert from "node:assert/strict";
import { before, test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { demoImage, list, pod, podThatPrints } from "./pods.ts";

/** kubectl describe. */
export function describing(setup: KubectlSetup): void {
  describeInNamespace(setup, "describing", (kubectl) => {
    before(async () => {
      const k = kubectl();
      const resources = { requests: { cpu: "10m", memory: "8Mi" }, limits: { memory: "64Mi" } };
      const web = pod("web", {
        labels: { app: "web" },
        container: { resources, env: [{ name: "A", value: "1" }] },
      });
      await k.ok(["create", "-f", "-"], { input: list(web, podThatPrints("broken", "exit 3")) });
      await k.ok(["wait", "--for=condition=Ready", "pod/web", "--timeout=60s"]);
      await k.ok(["wait", "--for=jsonpath={.status.phase}=Failed", "pod/broken", "--timeout=60s"]);
    });

    test("describe pod shows its node, containers, conditions and events", async () => {
      const { status } = await kubectl().json(["get", "pod", "web"]);
      const reported = await waitFor(async () => {
        const text = await kubectl().ok(["describe", "pod", "web"]);
        assert.match(text, /Normal +Started +\S+ +kubelet +.*Container started/);
        return text;
      });
      for (const line of [
        /^Name: +web$/m,
        /^Namespace: +describing$/m,
        /^Service Account: +default$/m,
        new RegExp(`^Node: +${setup.nodeName}/${status.hostIP}$`, "m"),
        /^Labels: +app=web$/m,
        /^Status: +Running$/m,
        new RegExp(`^IP: +${status.podIP}$`, "m"),
        new RegExp(`^ {4}Container ID: +${status.containerStatuses[0].containerID}$`, "m"),
        new RegExp(`^ {4}Image: +${demoImage}$`, "m"),
        /^ {4}State: +Running\n {6}Started: /m,
        /^ {4}Limits:\n {6}memory: +64Mi\n {4}Requests:\n {6}cpu: +10m\n {6}memory: +8Mi$/m,
        /^ {4}Environment:\n {6}A: +1$/m,
        /^Conditions:\n {2}Type +Status *\n {2}PodReadyToStartContainers +True *\n/m,
        /^ {2}Ready +True *$/m,
        /^QoS Class: +Burstable$/m,
        /^Tolerations: +node\.kubernetes\.io\/not-ready:NoExecute op=Exists for 300s$/m,
        new RegExp(
          `Normal +Scheduled +\\S+ +default-scheduler +Successfully assigned describing/web to ${setup.nodeName}`,
        ),
        new RegExp(
          `Normal +Pulled +\\S+ +kubelet +.*Container image "${demoImage}" already present on machine`,
        ),
        /Normal +Created +\S+ +kubelet +.*Container created/,
      ])
        assert.match(reported, line);
    });

    test("describe pod shows the reason and the exit code of a failed container", async () => {
      const reported = await kubectl().ok(["describe", "pod", "broken"]);
      assert.match(reported, /^ {4}State: +Terminated\n {6}Reason: +Error\n {6}Exit Code: +3$/m);
      assert.match(reported, /^Status: +Failed$/m);
    });

    test("describe node shows its conditions, capacity, pods and lease", async () => {
      const reported = await kubectl().ok(["describe", "node", setup.nodeName]);
      for (const line of [
        /^Taints: +<none>$/m,
        /^Unschedulable: +false$/m,
        new RegExp(`^ {2}HolderIdentity: +${setup.nodeName}$`, "m"),
        /^ {2}MemoryPressure +False .*KubeletHasSufficientMemory/m,
        /^ {2}Ready +True .*KubeletReady +kubelet is posting ready status$/m,
        /^ {2}pods: +110$/m,
        /^ {2}Container Runtime Version: +containerd:\/\//m,
        /^ {2}describing +web +10m \(\d+%\) +0 \(0%\) +8Mi \(\d+%\) +64Mi \(\d+%\)/m,
      ])
        assert.match(reported, line);
    });

    test("describe service shows its address and endpoints", async () => {
      const reported = await setup.kubectl.ok(["describe", "service", "kubernetes"]);
      assert.match(reported, /^Type: +ClusterIP$/m);
      assert.match(reported, new RegExp(`^IP: +${setup.node.apiAddress}$`, "m"));
      assert.match(reported, /^Port: +https {2}443\/TCP$/m);
      assert.match(reported, /^Endpoints: +[\d.]+:\d+$/m);
    });

    test("describe shows the data of a ConfigMap but not of a Secret, and supports other kinds", async () => {
      const k = kubectl();
      await k.ok(["create", "configmap", "settings", "--from-literal=a=one"]);
      await k.ok(["create", "secret", "generic", "hidden", "--from-literal=a=one"]);
      const expected: [args: string[], line: RegExp][] = [
        [["configmap", "settings"], /^a:\n----\none$/m],
        [["secret", "hidden"], /^Type: +Opaque$[\s\S]*^a: +3 bytes$/m],
        [
          ["namespace", "describing"],
          /^Labels: +kubernetes\.io\/metadata\.name=describing$[\s\S]*^Status: +Active$/m,
        ],
        [["serviceaccount", "default"], /^Name: +default$[\s\S]*^Image pull secrets: +<none>$/m],
        [["priorityclass", "system-node-critical"], /^Value: +2000001000$/m],
        [["lease", "-n", "kube-node-lease", setup.nodeName], /Holder Identity: +\S+/],
      ];
      for (const [args, line] of expected) assert.match(await k.ok(["describe", ...args]), line);
    });

    test("describe selects several objects by name prefix or label", async () => {
      const k = kubectl();
      assert.match(await k.ok(["describe", "pod", "we"]), /^Name: +web$/m);
      assert.match(await k.ok(["describe", "pods", "-l", "app=web"]), /^Name: +web$/m);
      assert.match(await k.fails(["describe", "pod", "none"]), /pods "none" not found/);
    });
  });
}
