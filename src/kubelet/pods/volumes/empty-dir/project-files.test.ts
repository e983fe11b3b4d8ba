import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  freeProject,
  type ProjectFiles,
  reservedProject,
  withoutReservation,
  withReservation,
} from "./project-files.ts";

const files = (projects: string, projid = ""): ProjectFiles => ({ projects, projid });
const always = async () => true;

describe("reserved projects", () => {
  it("a directory has the project of its line", () => {
    const found = files("# mine\n7:/data\n1048577:/var/lib/kubelet/a:b\n");
    assert.equal(reservedProject(found, "/var/lib/kubelet/a:b"), 1_048_577);
    assert.equal(reservedProject(found, "/data"), 7);
    assert.equal(reservedProject(found, "/var/lib/kubelet/a"), undefined);
  });

  for (const [rule, found, project] of [
    ["the first project is beyond those of administrators", files(""), 1_048_577],
    ["a project with a directory is not free", files("1048577:/a\n"), 1_048_578],
    ["a project with a name is not free", files("", "mine:1048577\n"), 1_048_578],
    ["a comment takes no project", files("#1048577:/a\n", "#mine:1048577\n"), 1_048_577],
  ] as const)
    it(rule, async () => assert.equal(await freeProject(found, always), project));

  it("a project with files on the filesystem is not free", async () => {
    assert.equal(await freeProject(files(""), async (id) => id > 1_048_580), 1_048_581);
    await assert.rejects(
      freeProject(files(""), async () => false),
      { message: "cannot find available quota ID" },
    );
  });

  it("a reservation has a directory and a name, and other lines are kept, complete or not", () => {
    assert.deepEqual(withReservation(files("7:/data", "data:7\n"), "/v", 1_048_577), {
      projects: "7:/data\n1048577:/v\n",
      projid: "data:7\nvolume1048577:1048577\n",
    });
  });

  it("a name that another directory needs is kept", () => {
    const shared = files("9:/a\n9:/b\n", "volume9:9\n");
    assert.deepEqual(withoutReservation(shared, "/a"), files("9:/b\n", "volume9:9\n"));
  });

  it("after a reservation is removed, the files are as before", async () => {
    const line = fc.oneof(
      fc.constantFrom("", "# comment", "nonsense", "12:/other", "1048577:/other"),
      fc.tuple(fc.nat(), fc.constantFrom("/x", "/y:z")).map(([id, dir]) => `${id}:${dir}`),
    );
    const content = fc.array(line, { maxLength: 6 }).map((all) => all.map((one) => `${one}\n`).join(""));
    await fc.assert(
      fc.asyncProperty(content, content, async (projects, projid) => {
        const before = { projects, projid };
        const project = await freeProject(before, always);
        const reserved = withReservation(before, "/volume", project);
        assert.equal(reservedProject(reserved, "/volume"), project);
        assert.deepEqual(withoutReservation(reserved, "/volume"), before);
      }),
    );
  });
});
