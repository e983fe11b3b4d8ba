import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * The version of the packages and the time of all files in them. They depend on the commit only: SOURCE_DATE_EPOCH names the time where
 * there is no git repository.
 */
export function readRelease(root, env = process.env) {
  const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  const given = env.SOURCE_DATE_EPOCH;
  if (given !== undefined && !/^\d+$/.test(given))
    throw new Error(`SOURCE_DATE_EPOCH=${given}: must be a Unix time in seconds`);
  const time = given ?? git(root, "log", "-1", "--format=%ct");
  if (!time) throw new Error("no git repository: set SOURCE_DATE_EPOCH to the Unix time of the packages");
  const commit = git(root, "rev-parse", "HEAD") ?? "";
  const isTagged = (git(root, "tag", "--points-at", "HEAD") ?? "").split("\n").includes(`v${version}`);
  const isChanged = (git(root, "status", "--porcelain") ?? "") !== "";
  return releaseOf({ version, seconds: Number(time), commit, isTagged, isChanged });
}

/** A commit without a tag is a version before the next release: it sorts by its time. */
export function releaseOf({ version, seconds, commit, isTagged, isChanged }) {
  const stamp = new Date(seconds * 1000).toISOString().replace(/\D/g, "").slice(0, 14);
  const suffix = [`git${stamp}`, commit && `g${commit.slice(0, 10)}`, isChanged && "changed"]
    .filter(Boolean)
    .join(".");
  const isRelease = isTagged && !isChanged;
  return {
    seconds,
    commit,
    version: isRelease ? version : `${version}-${suffix}`,
    debianVersion: isRelease ? version : `${version}~${suffix}`,
  };
}

function git(root, ...args) {
  try {
    // Without optional locks: status would write to the repository.
    const env = { ...process.env, GIT_OPTIONAL_LOCKS: "0" };
    return execFileSync("git", args, {
      cwd: root,
      env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    return undefined;
  }
}
