import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { before, test } from "node:test";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { pod, run } from "./pods.ts";
import { transports } from "./transports.ts";

const checksums = "find . -type f -exec md5sum {} + | sort";

/** kubectl cp. */
export function copying(setup: KubectlSetup): void {
  describeInNamespace(
    setup,
    "copying",
    (kubectl) => {
      before(() => run(kubectl(), pod("copied")));

      for (const { by, env } of transports)
        test(`over ${by}: a directory of 50 MiB is copied into a container and back, unchanged`, async () => {
          const k = kubectl();
          const source = join(dirname(k.file("marker", "")), `source-${by}`);
          mkdirSync(join(source, "deep/er"), { recursive: true });
          const files = [...Array(100).keys()].map((i) => [`deep/${i}`, i * 1000] as const);
          for (const [name, size] of [...files, ["large", 30 << 20], ["deep/er/less", 16 << 20]] as const)
            writeFileSync(join(source, name), randomBytes(size));
          const expected = execFileSync("sh", ["-c", checksums], { cwd: source, encoding: "utf8" });
          assert.equal(expected.split("\n").length, 103);
          await k.ok(["cp", source, `copied:/tmp/${by}`], { env });
          assert.equal(
            await k.ok(["exec", "copied", "--", "sh", "-c", `cd /tmp/${by}; ${checksums}`]),
            expected,
          );
          await k.ok(["cp", `copied:/tmp/${by}`, `${source}-back`], { env });
          assert.equal(
            execFileSync("sh", ["-c", checksums], { cwd: `${source}-back`, encoding: "utf8" }),
            expected,
          );
        });
    },
    "parallel",
  );
}
