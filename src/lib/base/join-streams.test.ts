import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { describe, test } from "node:test";
import { joinStreams } from "./join-streams.ts";

/** One side of a connection: `incoming` is sent to it, and data that it receives is held until `letThrough`. */
class FakeEnd extends Duplex {
  readonly received: string[] = [];
  readonly #waiting: (() => void)[] = [];
  #open: boolean;

  constructor(incoming: readonly string[], open: boolean) {
    super();
    this.#open = open;
    for (const each of [...incoming, null]) this.push(each);
  }

  override _read(): void {}

  override _write(chunk: Buffer, _: string, done: () => void): void {
    const take = () => {
      if (this.destroyed) return;
      this.received.push(String(chunk));
      done();
    };
    if (this.#open) take();
    else this.#waiting.push(take);
  }

  letThrough(): void {
    this.#open = true;
    for (const take of this.#waiting.splice(0)) take();
  }
}

const closed = (end: Duplex) => new Promise((resolve) => end.once("close", resolve));

describe("joined connections", () => {
  test("the last data arrives after its sender and the request have closed", async () => {
    const [client, backend] = [new FakeEnd(["last line"], true), new FakeEnd(["bye"], false)];
    const request = new AbortController();
    client.once("close", () => request.abort());
    const over = joinStreams(client, backend, request.signal);
    await closed(client);
    backend.letThrough();
    await over;
    assert.deepEqual([client.received, backend.received], [["bye"], ["last line"]]);
  });

  test("a side that closed cleanly leaves no open peer behind", async () => {
    const end = () => new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
    const [client, backend] = [end(), end()];
    const over = joinStreams(client, backend, new AbortController().signal);
    client.push(null);
    client.end();
    await closed(client);
    backend.push("unread data");
    backend.push(null);
    await over;
    assert.equal(backend.closed, true);
  });

  test("an error on one side closes the other", async () => {
    const [client, backend] = [new FakeEnd([], true), new FakeEnd([], false)];
    const over = joinStreams(client, backend, new AbortController().signal);
    backend.destroy(new Error("reset"));
    await over;
    assert.ok(client.destroyed);
  });

  test("a request aborted beforehand leaves nothing open", async () => {
    const [client, backend] = [new FakeEnd([], true), new FakeEnd([], true)];
    await joinStreams(client, backend, AbortSignal.abort());
    assert.ok(client.destroyed && backend.destroyed);
  });
});
