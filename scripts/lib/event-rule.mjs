/**
 * The event rule of docs/architecture/code-map.md: a component of the kubelet reaches another through the event table only. Components do not import
 * each other (the import rule), so only callbacks of `src/kubelet/agent` and listeners could connect them: each of
 * them posts an event and does nothing else.
 */

/** Exceptions: callbacks that do not post. `name` is the name of the option, or of the subscription. */
export const exceptions = [
  // Calls to metrics, traces and logs, which trigger no handler.
  { file: "agent/agent-core.ts", name: "onLag", why: "a metric" },
  { file: "agent/start-limiter.ts", name: "onAdmitted", why: "a metric" },
  { file: "agent/start-limiter.ts", name: "onChange", why: "a metric" },
  { file: "agent/endpoints.ts", name: "onChecked", why: "a metric" },
  { file: "agent/kubelet-server.ts", name: "onChecked", why: "a metric" },
  { file: "agent/pods-api.ts", name: "onDropped", why: "a metric and a log line" },
  { file: "agent/tracing.ts", name: "onEnd", why: "spans go to their exporter" },
  { file: "node/runtime-support.ts", name: "onChange", why: "a metric and a log line" },
  { file: "agent/pod-volumes.ts", name: "onAbnormal", why: "an Event for users" },
  // A query with its result, or the progress of a call that the caller waits for.
  { file: "agent/cluster-node.ts", name: "onPodCidrs", why: "awaited: the node status manager retries it" },
  { file: "agent/runtime-parts.ts", name: "onPull", why: "progress of one pull, reported to its caller" },
  { file: "agent/timed-pulls.ts", name: "onPull", why: "progress of one pull, reported to its caller" },
  {
    file: "pipeline/pod-workers/create-pod-syncer.ts",
    name: "onChange",
    why: "progress of the mounts that a sync waits for",
  },
  { file: "explain/pod-overview.ts", name: "onChange", why: "its own listeners" },
  // Below the events: credentials and certificates of connections.
  { file: "certs/certificate-readiness.ts", name: "onChange", why: "requests wait for a certificate" },
  { file: "certs/cluster-access.ts", name: "onReconnect", why: "a transport around another" },
  { file: "certs/cluster-access.ts", name: "onReady", why: "a transport around another" },
  { file: "certs/serving-certificate.ts", name: "onChange", why: "a certificate around another" },
  { file: "server/https/server.ts", name: "onChange", why: "the TLS files of a server" },
  { file: "server/https/server-context.ts", name: "onChange", why: "the TLS files of a server" },
  { file: "pods/volumes/csi/csi-node.ts", name: "onReconnect", why: "ends its own wait for the API server" },
  // Requests that follow something until the client disconnects.
  { file: "agent/pod-streams.ts", name: "onChange", why: "a client that follows a log" },
  { file: "server/logs/follow-log.ts", name: "onChange", why: "a client that follows a log" },
  { file: "server/local-api.ts", name: "onChange", why: "a client that watches the overview" },
  { file: "pipeline/sources/applied-source.ts", name: "onChange", why: "a source of pods and its store" },
  // State on disk that follows state in memory.
  { file: "pods/probes/probe-checkpoint.ts", name: "onChange", why: "probe results are written to disk" },
  { file: "pods/volumes/volumes.ts", name: "onChange", why: "statistics of the same volumes" },
  {
    file: "pods/volumes/csi/allocatable-updates.ts",
    name: "onChange",
    why: "CSI drivers of the same component",
  },
];

/** The problems of one file; `file` is its path from the project's root ("src/kubelet/…"). */
export function checkEvents(file, text, allowed = exceptions) {
  const inside = file.slice("src/kubelet/".length);
  return callbacksOf(withoutComments(text), inside.startsWith("agent/")).flatMap(({ name, value, index }) => {
    if (posts(value)) return [];
    if (allowed.some((exception) => exception.file === inside && exception.name === name)) return [];
    const line = text.slice(0, index).split("\n").length;
    return [{ file, line, name, message: `${name} does more than post an event` }];
  });
}

/** Exceptions that no file needs. */
export function unusedExceptions(files, allowed = exceptions) {
  const found = files.flatMap(({ file, text }) =>
    checkEvents(file, text, []).map(({ name }) => `${file.slice("src/kubelet/".length)} ${name}`),
  );
  return allowed.filter(({ file, name }) => !found.includes(`${file} ${name}`));
}

/** A callback that was passed to the file, and that the file calls with data, not with a listener. */
const isOption = /(#o|#options|#c|\bo|\btype|\bwish)\??\.$/;

/** Listeners that are passed to a subscription (`x.onChange(…)`), and in the agent options that are callbacks (`onChange: …`). */
function callbacksOf(text, isAgent) {
  const found = [];
  for (const match of text.matchAll(/[\w)\]]\??\.(on[A-Z]\w*)(?:\?\.)?\(/g)) {
    const value = enclosed(text, match.index + match[0].length - 1).slice(1, -1);
    const receiver = text.slice(0, match.index + match[0].indexOf(match[1]));
    if (isOption.test(receiver) || !/=>|^\s*\w+\s*$/.test(value)) continue;
    found.push({ name: match[1], value, index: match.index });
  }
  if (!isAgent) return found;
  for (const match of text.matchAll(/(?<=[\s{,(])(on[A-Z]\w*)\s*(:|\()/g)) {
    const at = match.index + match[0].length;
    const value = match[2] === ":" ? valueAt(text, at) : methodAt(text, at - 1);
    if (value !== undefined) found.push({ name: match[1], value, index: match.index });
  }
  return found;
}

/** `(uid) => post({ … })` or `(uid) => core.post({ … })`, and nothing after it. */
function posts(value) {
  const call = /^\s*(\w+|\([^)]*\))\s*=>\s*(core\.)?post\(/.exec(value);
  return call !== null && value.slice(call[0].length - 1).trim() === enclosed(value, call[0].length - 1);
}

/** The value of a property; undefined for a member of a type. */
function valueAt(text, start) {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if ("({[".includes(char)) depth++;
    else if (")}]".includes(char)) depth--;
    const isOver = depth < 0 || (depth === 0 && (char === "," || char === ";"));
    if (!isOver) continue;
    const value = text.slice(start, at);
    return char === ";" || /=>\s*(void|Promise<void>|\(\) => void)\s*$/.test(value) ? undefined : value;
  }
  return text.slice(start);
}

/** The body of a method; undefined for a member of a type, for a call, and for what takes a listener: that is a subscription. */
function methodAt(text, start) {
  const parameters = enclosed(text, start);
  const rest = text.slice(start + parameters.length);
  const body = /^(\s*:[^{;]*)?\s*\{/.exec(rest);
  if (!body || /\blistener\b/.test(parameters)) return undefined;
  return enclosed(rest, body[0].length - 1);
}

/** The text from an opening bracket to its closing bracket. */
function enclosed(text, start) {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    if ("({[".includes(text[at])) depth++;
    else if (")}]".includes(text[at]) && --depth === 0) return text.slice(start, at + 1);
  }
  return text.slice(start);
}

/** Replaces comments with blanks: the remaining code keeps its position. */
function withoutComments(text) {
  return text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g, (comment) => comment.replace(/[^\n]/g, " "));
}
