import assert from "node:assert/strict";
import { mkdtemp, open, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import { hostNetworkHosts, managedHosts, writeEtcHosts } from "./etc-hosts.ts";

const plain = fakePod();
const aliased = fakePod({
  spec: { hostAliases: [{ ip: "10.1.2.3", hostnames: ["foo.local", "bar.local"] }] },
});
const local =
  "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\nfe00::0\tip6-localnet\n" +
  "fe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n";

describe("/etc/hosts", () => {
  it("names the pod by each of its addresses", () => {
    assert.equal(
      managedHosts(plain, ["10.0.0.5", "fd00::5"], { hostname: "web", domain: "" }),
      `# Kubernetes-managed hosts file.\n${local}10.0.0.5\tweb\nfd00::5\tweb\n`,
    );
  });
  it("has the full name first, and aliases at the end", () => {
    assert.equal(
      managedHosts(aliased, ["10.0.0.5"], { hostname: "web", domain: "sub.default.svc.cluster.local" }),
      `# Kubernetes-managed hosts file.\n${local}10.0.0.5\tweb.sub.default.svc.cluster.local\tweb\n` +
        "\n# Entries added by HostAliases.\n10.1.2.3\tfoo.local\tbar.local\n",
    );
  });
  it("is the node's for pods in the host's network, with their aliases", () => {
    assert.equal(
      hostNetworkHosts(aliased, "127.0.0.1 localhost\n"),
      "# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n" +
        "\n# Entries added by HostAliases.\n10.1.2.3\tfoo.local\tbar.local\n",
    );
  });
  it("is rewritten in place, so that containers that mount it see the change, and is readable by all", async () => {
    const dir = await mkdtemp(join(tmpdir(), "etc-hosts-"));
    try {
      const file = join(dir, "pods", "uid", "etc-hosts");
      await writeEtcHosts(file, "a long first version\n");
      const mounted = await open(file);
      await writeEtcHosts(file, "short\n");
      assert.equal(await readFile(mounted, "utf8"), "short\n");
      await mounted.close();
      assert.equal((await stat(file)).mode & 0o777, 0o644);
    } finally {
      await rm(dir, { recursive: true });
    }
  });
});
