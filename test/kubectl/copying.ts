import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { before, test } from "node:test";
import { type Bench, describeIn } from "./kubectl-suite.ts";
import { pod, run } from "./pods.ts";
import { transports } from "./transports.ts";

const sums = "find . -type f -exec md5sum {} + | sort";

/** kubectl cp. */
export function copying(bench: Bench): void {
  describeIn(
    bench,
    "copying",
    (at) => {
      before(() => run(at(), pod("copied")));

      for (const { by, env } of transports)
        test(`over ${by}: a directory of 50 MiB is copied into a container and back, unchanged`, async () => {
          const k = at();
          const given = join(dirname(k.file("marker", "")), `given-${by}`);
          mkdirSync(join(given, "deep/er"), { recursive: true });
          const files = [...Array(100).keys()].map((i) => [`deep/${i}`, i * 1000] as const);
          for (const [name, size] of [...files, ["large", 30 << 20], ["deep/er/less", 16 << 20]] as const)
            writeFileSync(join(given, name), randomBytes(size));
          const here = execFileSync("sh", ["-c", sums], { cwd: given, encoding: "utf8" });
          assert.equal(here.split("\n").length, 103);
          await k.ok(["cp", given, `copied:/tmp/${by}`], { env });
          assert.equal(await k.ok(["exec", "copied", "--", "sh", "-c", `cd /tmp/${by}; ${sums}`]), here);
          await k.ok(["cp", `copied:/tmp/${by}`, `${given}-back`], { env });
          assert.equal(execFileSync("sh", ["-c", sums], { cwd: `${given}-back`, encoding: "utf8" }), here);
        });
    },
    "together",
  );
}
