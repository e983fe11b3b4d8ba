import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
export const mirror = "http://deb.debian.org/debian";

/** The files that `isolatedApt` needs. */
export const aptFiles = ["/usr/bin/apt-get", keyring];

/** Options for an apt-get that reads one Debian suite and keeps everything in `work`: nothing on the system changes, not even its lists. */
export function isolatedApt(work, suite) {
  rmSync(work, { recursive: true, force: true });
  for (const dir of ["lists/partial", "archives/partial", "sources"]) {
    mkdirSync(join(work, dir), { recursive: true });
  }
  writeFileSync(join(work, "status"), "");
  writeFileSync(
    join(work, "sources", "isolated.sources"),
    `Types: deb\nURIs: ${mirror}\nSuites: ${suite}\nComponents: main\nSigned-By: ${keyring}\n`,
  );
  const settings = {
    "Dir::State": work,
    "Dir::State::lists": join(work, "lists"),
    "Dir::State::status": join(work, "status"),
    "Dir::Cache": work,
    "Dir::Etc::SourceList": "/dev/null",
    "Dir::Etc::SourceParts": join(work, "sources"),
    "Dir::Etc::Preferences": "/dev/null",
    "Dir::Etc::PreferencesParts": "/dev/null",
    "Acquire::Languages": "none",
    // Otherwise apt continues without lists that it could not download.
    "APT::Update::Error-Mode": "any",
    // The user that apt downloads as cannot write here; signatures are still checked.
    "APT::Sandbox::User": "root",
  };
  return Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`]);
}
