import assert from "node:assert/strict";
import { before, test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { rows } from "./kubectl.ts";
import { type Bench, describeIn } from "./kubectl-suite.ts";
import { pod, run } from "./pods.ts";

const life = ["Scheduled", "Pulled", "Created", "Started"];

/** kubectl events. */
export function events(bench: Bench): void {
  describeIn(bench, "events", (at) => {
    before(async () => {
      await run(at(), pod("web"), pod("other"));
      await waitFor(async () => assert.deepEqual(await reasons(["--for", "pod/other"]), life));
      await waitFor(async () => assert.deepEqual(await reasons(["--for", "pod/web"]), life));
    });

    /** In the order of time, without what has to do with the machine. */
    async function reasons(args: readonly string[]): Promise<string[]> {
      const seen = rows(await at().ok(["events", ...args])).map((row) => row.REASON ?? "");
      return seen.sort((a, b) => life.indexOf(a) - life.indexOf(b));
    }

    test("events --for lists those of one object only", async () => {
      const reported = rows(await at().ok(["events", "--for", "pod/web"]));
      assert.ok(
        reported.every((row) => row.OBJECT === "Pod/web"),
        JSON.stringify(reported),
      );
      const started = reported.find((row) => row.REASON === "Started");
      assert.deepEqual([started?.TYPE, started?.MESSAGE], ["Normal", "Container started"]);
    });

    test("events and get events list all of a namespace", async () => {
      for (const args of [["events"], ["get", "events"]]) {
        const objects = rows(await at().ok(args)).map((row) => row.OBJECT?.toLowerCase());
        assert.deepEqual(new Set(objects), new Set(["pod/web", "pod/other"]));
      }
    });

    test("events are selected by type, reason and the object that they are about", async () => {
      const k = at();
      assert.deepEqual(await reasons(["--types=Warning"]), []);
      const by = (fields: string) =>
        k.ok(["get", "events", "--field-selector", fields, "-o", "jsonpath={.items[*].reason}"]);
      assert.equal(await by("reason=Started,involvedObject.name=web"), "Started");
      assert.equal(await by("type=Normal,involvedObject.kind=Node"), "");
    });

    test("the same events are in both API groups", async () => {
      const k = at();
      const names = (kind: string) =>
        k.ok(["get", kind, "--sort-by=.metadata.name", "-o", "jsonpath={.items[*].metadata.name}"]);
      assert.equal(await names("events.v1.events.k8s.io"), await names("events.v1."));
    });

    test("events --watch lists new ones", async () => {
      const k = at();
      const watched = k.start(["events", "--for", "pod/web", "--watch"]);
      await watched.prints(/Started/);
      await k.ok(["delete", "pod", "web"]);
      await watched.prints(/Normal +Killing +Pod\/web +Stopping container c/);
      await watched.stop();
    });

    test("events of a node are found in all namespaces", async () => {
      const reported = rows(await at().ok(["events", "-A", "--for", `node/${bench.nodeName}`]));
      assert.ok(
        reported.some((row) => row.NAMESPACE === "default" && row.REASON === "Starting"),
        JSON.stringify(reported),
      );
    });

    test("a pod gets the event about missing cluster DNS only if it was applied with that policy", async () => {
      const dnsPod = pod("asks", { spec: { dnsPolicy: "ClusterFirst" } });
      await at().ok(["apply", "-f", "-"], { input: JSON.stringify(dnsPod) });
      await waitFor(async () =>
        assert.ok((await reasons(["--for", "pod/asks"])).includes("MissingClusterDNS")),
      );
      assert.deepEqual(await reasons(["--for", "pod/other"]), life);
      await at().ok(["delete", "pod", "asks", "--now"]);
    });
  });
}
