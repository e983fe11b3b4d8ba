import { isAbsolute, resolve } from "node:path";
import { KubeletError } from "../../base/errors.ts";

/** sockaddr_un holds 108 bytes, the last of them a zero. */
const MAX_SOCKET_PATH = 107;

/** The socket file that a runtime endpoint (`unix:///path`, `unix:path` or an absolute path) names. */
export function socketPathOf(endpoint: string): string {
  const invalid = (why: string) =>
    new KubeletError(
      "InvalidEndpoint",
      `container runtime endpoint "${endpoint}" ${why}; a unix socket is needed, e.g. unix:///run/containerd/containerd.sock`,
    );
  let path: string;
  if (isAbsolute(endpoint)) {
    path = endpoint;
  } else if (endpoint.startsWith("unix://")) {
    path = endpoint.slice("unix://".length);
    if (!isAbsolute(path)) throw invalid("has no absolute path after unix://");
  } else if (endpoint.startsWith("unix:") && endpoint.length > "unix:".length) {
    path = resolve(endpoint.slice("unix:".length));
  } else {
    throw invalid(endpoint === "" ? "is empty" : "is not a unix socket");
  }
  if (path.includes("\0")) throw invalid("contains a zero byte");
  if (path.endsWith("/")) throw invalid("names a directory");
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH) {
    throw invalid(`has a path longer than the ${MAX_SOCKET_PATH} bytes that Linux allows`);
  }
  return path;
}
