import { subscribe } from "node:diagnostics_channel";
import { type ClientHttp2Stream, constants } from "node:http2";

// Servers may push streams that no client here has a use for. An error of a stream without a listener would end the process, and
// the HTTP/2 client of gRPC cannot be configured: so every client of HTTP/2 imports this module, which refuses them for all.
subscribe("http2.client.stream.created", (message) => {
  const { stream } = message as { stream: ClientHttp2Stream };
  // Only streams of the server have an even ID; a request may not have its ID yet.
  if (stream.id === undefined || stream.id % 2 === 1) return;
  stream.on("error", () => {});
  stream.close(constants.NGHTTP2_REFUSED_STREAM);
});
