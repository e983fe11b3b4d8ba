import { bool, int32, int64, intOrString, list, map, object, quantity, string, strings } from "./schema.ts";
import { fieldRef, resourceFieldRef } from "./volume-shape.ts";

export const resourcesShape = object({
  limits: map(quantity),
  requests: map(quantity),
  claims: list(object(strings("name", "request"))),
});
export const seLinuxOptions = object(strings("user", "role", "type", "level"));
export const windowsOptions = object({
  ...strings("gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName"),
  hostProcess: bool,
});
export const profile = object(strings("type", "localhostProfile"));

const exec = object({ command: list(string) });
const httpGet = object({
  ...strings("path", "host", "scheme"),
  port: intOrString,
  httpHeaders: list(object(strings("name", "value"))),
});
const tcpSocket = object({ port: intOrString, host: string });
const hook = object({ exec, httpGet, tcpSocket, sleep: object({ seconds: int64 }) });
const probe = object({
  exec,
  httpGet,
  tcpSocket,
  grpc: object({ port: int32, service: string }),
  initialDelaySeconds: int32,
  timeoutSeconds: int32,
  periodSeconds: int32,
  successThreshold: int32,
  failureThreshold: int32,
  terminationGracePeriodSeconds: int64,
});
const keyRef = object({ ...strings("name", "key"), optional: bool });
const env = object({
  ...strings("name", "value"),
  valueFrom: object({
    fieldRef,
    resourceFieldRef,
    configMapKeyRef: keyRef,
    secretKeyRef: keyRef,
    fileKeyRef: object({ ...strings("volumeName", "path", "key"), optional: bool }),
  }),
});
const objectRef = object({ name: string, optional: bool });

const securityContext = object({
  capabilities: object({ add: list(string), drop: list(string) }),
  privileged: bool,
  seLinuxOptions,
  windowsOptions,
  runAsUser: int64,
  runAsGroup: int64,
  runAsNonRoot: bool,
  readOnlyRootFilesystem: bool,
  allowPrivilegeEscalation: bool,
  procMount: string,
  seccompProfile: profile,
  appArmorProfile: profile,
});

export const containerFields = {
  ...strings("name", "image", "workingDir", "restartPolicy"),
  ...strings("terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy"),
  command: list(string),
  args: list(string),
  ports: list(object({ ...strings("name", "protocol", "hostIP"), hostPort: int32, containerPort: int32 })),
  envFrom: list(object({ prefix: string, configMapRef: objectRef, secretRef: objectRef })),
  env: list(env),
  resources: resourcesShape,
  resizePolicy: list(object(strings("resourceName", "restartPolicy"))),
  restartPolicyRules: list(
    object({ action: string, exitCodes: object({ operator: string, values: list(int32) }) }),
  ),
  volumeMounts: list(
    object({
      ...strings("name", "mountPath", "subPath", "subPathExpr", "mountPropagation", "recursiveReadOnly"),
      readOnly: bool,
    }),
  ),
  volumeDevices: list(object(strings("name", "devicePath"))),
  livenessProbe: probe,
  readinessProbe: probe,
  startupProbe: probe,
  lifecycle: object({ postStart: hook, preStop: hook, stopSignal: string }),
  securityContext,
  stdin: bool,
  stdinOnce: bool,
  tty: bool,
};
