import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ContractPods, errorOf } from "./contract-pods.ts";

/** The behavior of images that the agent relies on. */
export function imageContract(pods: ContractPods): void {
  describe("images", () => {
    it("are listed and found by name and by id", async () => {
      const byName = await pods.client.imageStatus({ image: pods.runtime.busybox });
      assert.match(byName?.id ?? "", /^sha256:[0-9a-f]{64}$/);
      assert.ok(byName!.size > 0n);
      assert.ok(byName!.repoTags.includes(pods.runtime.busybox));
      assert.equal((await pods.client.imageStatus({ image: byName!.id }))?.id, byName!.id);
      assert.ok((await pods.client.listImages()).some(({ id }) => id === byName!.id));
    });

    it("are undefined when the runtime does not have them", async () => {
      assert.equal(
        await pods.client.imageStatus({ image: "localhost/kubelet-ts/no-such-image:1" }),
        undefined,
      );
    });

    it("that cannot be pulled are named in the error", async () => {
      // Port 9 of the loopback: nothing listens there, and no name is resolved.
      const image = "127.0.0.1:9/no-such-image:1";
      const error = await errorOf(pods.client.pullImage({ image }, undefined, undefined));
      assert.match(error.message, /failed to pull and unpack image "127\.0\.0\.1:9\/no-such-image:1"/);
    });

    it("have a filesystem", async () => {
      const { imageFilesystems } = await pods.client.imageFsInfo();
      assert.notEqual(imageFilesystems[0]?.fsId?.mountpoint ?? "", "");
    });
  });
}
