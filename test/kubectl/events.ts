import assert from "node:assert/strict";
import { before, test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { rows } from "./kubectl.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { pod, run } from "./pods.ts";

const startReasons = ["Scheduled", "Pulled", "Created", "Started"];

/** kubectl events. */
export function events(setup: KubectlSetup): void {
  describeInNamespace(setup, "events", (kubectl) => {
    before(async () => {
      await run(kubectl(), pod("web"), pod("other"));
      await waitFor(async () => assert.deepEqual(await reasons(["--for", "pod/other"]), startReasons));
      await waitFor(async () => assert.deepEqual(await reasons(["--for", "pod/web"]), startReasons));
    });

    /** The reasons of events, in the order of a pod's start. */
    async function reasons(args: readonly string[]): Promise<string[]> {
      const shown = rows(await kubectl().ok(["events", ...args])).map((row) => row.REASON ?? "");
      return shown.sort((a, b) => startReasons.indexOf(a) - startReasons.indexOf(b));
    }

    test("events --for lists the events of one object only", async () => {
      const reported = rows(await kubectl().ok(["events", "--for", "pod/web"]));
      assert.ok(
        reported.every((row) => row.OBJECT === "Pod/web"),
        JSON.stringify(reported),
      );
      const started = reported.find((row) => row.REASON === "Started");
      assert.deepEqual([started?.TYPE, started?.MESSAGE], ["Normal", "Container started"]);
    });

    test("events and get events list all events of a namespace", async () => {
      for (const args of [["events"], ["get", "events"]]) {
        const objects = rows(await kubectl().ok(args)).map((row) => row.OBJECT?.toLowerCase());
        assert.deepEqual(new Set(objects), new Set(["pod/web", "pod/other"]));
      }
    });

    test("events are selected by type, reason and involved object", async () => {
      const k = kubectl();
      assert.deepEqual(await reasons(["--types=Warning"]), []);
      const by = (fields: string) =>
        k.ok(["get", "events", "--field-selector", fields, "-o", "jsonpath={.items[*].reason}"]);
      assert.equal(await by("reason=Started,involvedObject.name=web"), "Started");
      assert.equal(await by("type=Normal,involvedObject.kind=Node"), "");
    });

    test("the same events are in both API groups", async () => {
      const k = kubectl();
      const names = (kind: string) =>
        k.ok(["get", kind, "--sort-by=.metadata.name", "-o", "jsonpath={.items[*].metadata.name}"]);
      assert.equal(await names("events.v1.events.k8s.io"), await names("events.v1."));
    });

    test("events --watch prints new events", async () => {
      const k = kubectl();
      const watched = k.start(["events", "--for", "pod/web", "--watch"]);
      await watched.prints(/Started/);
      await k.ok(["delete", "pod", "web"]);
      await watched.prints(/Normal +Killing +Pod\/web +Stopping container c/);
      await watched.stop();
    });

    test("events of a node are found in all namespaces", async () => {
      const reported = rows(await kubectl().ok(["events", "-A", "--for", `node/${setup.nodeName}`]));
      assert.ok(
        reported.some((row) => row.NAMESPACE === "default" && row.REASON === "Starting"),
        JSON.stringify(reported),
      );
    });

    test("a pod gets the event about missing cluster DNS only if it was applied with that policy", async () => {
      const dnsPod = pod("asks", { spec: { dnsPolicy: "ClusterFirst" } });
      await kubectl().ok(["apply", "-f", "-"], { input: JSON.stringify(dnsPod) });
      await waitFor(async () =>
        assert.ok((await reasons(["--for", "pod/asks"])).includes("MissingClusterDNS")),
      );
      assert.deepEqual(await reasons(["--for", "pod/other"]), startReasons);
      await kubectl().ok(["delete", "pod", "asks", "--now"]);
    });
  });
}
