import type { Shape } from "./shape.ts";

const logs = "read the logs of the container: {logs}";

/** Results of probes and hooks; `{check}` is "readiness probe of container c fails". */
export const probeShapes: readonly Shape[] = [
  {
    pattern: /^\s*$/,
    sentence: "{check}: its command exited with {code} and no output",
    step: "run it in the container: {exec} -- {command}",
    ifKnown: "code",
  },
  {
    pattern: /^\s*$/,
    sentence: "{check}: its command failed with no output",
    step: "run it in the container: {exec} -- {command}",
  },
  {
    pattern: /HTTP probe failed with statuscode: (?<status>\d+)/,
    sentence: "{check}: {target} responds with HTTP status {status}",
    step: "correct its path, or see why the program responds so: {logs}",
  },
  {
    pattern:
      /the container has no port with the name "(?<port>[^"]*)"|couldn't find port: |strconv\.Atoi: parsing "(?<other>[^"]+)"/,
    sentence: '{check}: the container has no port with the name "{port}{other}"',
    step: "add a port with this name to the container, or use its number: kubectl get pod {pod} -n {namespace} -o yaml",
  },
  {
    pattern: /server gave HTTP response to HTTPS client/,
    sentence: "{check}: {target} serves HTTP, not HTTPS",
    step: "remove scheme: HTTPS from the probe: kubectl get pod {pod} -n {namespace} -o yaml",
  },
  {
    pattern: /tls: |x509: /,
    sentence: "{check}: no TLS connection to {target}",
    step: logs,
  },
  {
    pattern: /connection refused/,
    sentence: "{check}: nothing listens on {target} (connection refused)",
    step: "compare the port of the probe with the port of the program: {exec} -- netstat -tln",
  },
  {
    pattern: /timeout: failed to connect service "?(?<address>[^"\s]+)"? within (?<time>\S+):/,
    sentence: "{check}: no gRPC server at {target} within {time}",
    step: "compare the port of the probe with the port of the program: {exec} -- netstat -tln",
  },
  {
    pattern: /service unhealthy \(responded with "(?<status>\w+)"\)/,
    sentence: "{check}: the gRPC health service responds with {status}",
    step: logs,
  },
  {
    pattern: /does not implement the grpc health protocol/,
    sentence: "{check}: the gRPC server has no health service (grpc.health.v1.Health)",
    step: "register the health service in the program, or use another probe: {logs}",
  },
  {
    pattern: /command timed out: "(?<ran>.*)" timed out after (?<time>\S+)/s,
    sentence: "{check}: its command takes longer than timeoutSeconds ({time})",
    step: "raise timeoutSeconds, or see how long it takes: {exec} -- {command}",
  },
  {
    pattern: /Client\.Timeout|i\/o timeout|deadline exceeded/,
    sentence: "{check}: no response from {target} within timeoutSeconds",
    step: "raise timeoutSeconds, or see why the program is slow: {logs}",
  },
  {
    pattern:
      /exec: "(?<program>[^"]+)": (?:stat \S+: )?(?:no such file or directory|executable file not found)/,
    sentence: '{check}: its command "{program}" does not exist in the image',
    step: "correct the command of the probe; the image has: crictl inspecti {image}",
  },
  {
    pattern: /exec: "(?<program>[^"]+)": permission denied/,
    sentence: '{check}: its command "{program}" is not executable',
    step: "make it executable in the image (RUN chmod +x {program}): crictl inspecti {image}",
  },
  {
    pattern: /no such host/,
    sentence: "{check}: {target} has no address (no such host)",
    step: "correct host of the probe, or remove it: kubectl get pod {pod} -n {namespace} -o yaml",
  },
  {
    pattern: /connection reset by peer|\bEOF$/,
    sentence: "{check}: {target} closes the connection without a response",
    step: logs,
  },
  {
    pattern: /^(?<output>[^\n]{1,60})\s*$/,
    sentence: "{check}: {output}",
    step: logs,
  },
];
