/** The version of Kubernetes whose kubelet this is a drop-in for. */
export const version = "v1.36.4";

/** The output of --version=raw, in the form of the Go kubelet: a Go struct. What describes a Go build is empty. */
export function rawVersion(): string {
  const [major, minor] = version.slice(1).split(".");
  const platform = `linux/${process.arch === "x64" ? "amd64" : process.arch}`;
  const fields = {
    Major: major,
    Minor: minor,
    EmulationMajor: "",
    EmulationMinor: "",
    MinCompatibilityMajor: "",
    MinCompatibilityMinor: "",
    GitVersion: version,
    GitCommit: "",
    GitTreeState: "",
    BuildDate: "",
    GoVersion: "",
    Compiler: "",
    Platform: platform,
  };
  const texts = Object.entries(fields).map(([name, value]) => `${name}:${JSON.stringify(value)}`);
  return `version.Info{${texts.join(", ")}}`;
}
