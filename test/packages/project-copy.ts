import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { repoDir } from "../e2e/agent-process.ts";
import { removeDir } from "../node/remove-dir.ts";

const run = promisify(execFile);

/** Everything that `npm run package` reads. */
const inputs = [
  ...["LICENSE", "package.json", "package-lock.json", "tsconfig.json"],
  ...["bin", "docs", "examples", "packaging", "scripts", "src"],
];

/** A copy of the project in a folder of its own, in which packages are made: the bundles of the project itself are in use by other tests. */
export class ProjectCopy {
  readonly dir: string;
  readonly #parent: string;

  private constructor(parent: string, dir: string) {
    this.#parent = parent;
    this.dir = dir;
  }

  /** `name`: of its folder. */
  static async create(name: string): Promise<ProjectCopy> {
    // In the project, so that the packages can be hard links.
    const cache = join(repoDir, ".cache");
    await mkdir(join(cache, "npm-packages"), { recursive: true });
    await removeAbandoned(cache);
    const parent = await mkdtemp(join(cache, `copy-${process.pid}-`));
    const copy = new ProjectCopy(parent, join(parent, name));
    try {
      for (const input of inputs)
        await cp(join(repoDir, input), join(copy.dir, input), { recursive: true, preserveTimestamps: false });
      await run("cp", ["-al", join(repoDir, "node_modules"), copy.dir]);
      await mkdir(join(copy.dir, ".cache"));
      await symlink(join(cache, "npm-packages"), join(copy.dir, ".cache/npm-packages"));
      return copy;
    } catch (error) {
      await copy.remove();
      throw error;
    }
  }

  /** Makes packages. Resolves with their directory and names. */
  async makePackages(...args: string[]): Promise<{ dir: string; names: string[] }> {
    const dir = join(this.#parent, "packages");
    const env = {
      ...process.env,
      SOURCE_DATE_EPOCH: "1790000000",
      // The copy is below the repository, whose commit may change while the test runs.
      GIT_DIR: "/nonexistent",
      NODE_COMPILE_CACHE: undefined,
    };
    const path = `${dirname(process.execPath)}:${process.env.PATH}`;
    await run(process.execPath, [join(this.dir, "scripts/package.mjs"), "--out", dir, ...args], {
      env: { ...env, PATH: path },
      cwd: this.#parent,
    });
    return { dir, names: (await readdir(dir)).sort() };
  }

  remove(): Promise<void> {
    return removeDir(this.#parent);
  }
}

/** Removes the copies of test processes that were killed. */
async function removeAbandoned(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    const owner = /^copy-(\d+)-/.exec(name)?.[1];
    if (owner && !existsSync(`/proc/${owner}`)) await removeDir(join(cache, name));
  }
}
