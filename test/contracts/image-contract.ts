import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Bench, refused } from "./bench.ts";

/** What the agent relies on of images. */
export function imageContract(bench: Bench): void {
  describe("images", () => {
    it("are listed and found by name and by id", async () => {
      const byName = await bench.client.imageStatus({ image: bench.runtime.busybox });
      assert.match(byName?.id ?? "", /^sha256:[0-9a-f]{64}$/);
      assert.ok(byName!.size > 0n);
      assert.ok(byName!.repoTags.includes(bench.runtime.busybox));
      assert.equal((await bench.client.imageStatus({ image: byName!.id }))?.id, byName!.id);
      assert.ok((await bench.client.listImages()).some(({ id }) => id === byName!.id));
    });

    it("are undefined when the runtime does not have them", async () => {
      assert.equal(
        await bench.client.imageStatus({ image: "localhost/kubelet-ts/no-such-image:1" }),
        undefined,
      );
    });

    it("that cannot be pulled are named in the error", async () => {
      // Port 9 of the loopback: nothing listens there, and no name is resolved.
      const image = "127.0.0.1:9/no-such-image:1";
      const error = await refused(bench.client.pullImage({ image }, undefined, undefined));
      assert.match(error.message, /failed to pull and unpack image "127\.0\.0\.1:9\/no-such-image:1"/);
    });

    it("have a file system", async () => {
      const { imageFilesystems } = await bench.client.imageFsInfo();
      assert.notEqual(imageFilesystems[0]?.fsId?.mountpoint ?? "", "");
    });
  });
}
