/** In the notation of `../../notation.ts`. */
export const handlerTypes = `
Probe
   1 ...ProbeHandler
   2 initialDelaySeconds int32
   3 timeoutSeconds int32
   4 periodSeconds int32
   5 successThreshold int32
   6 failureThreshold int32
   7 terminationGracePeriodSeconds *int64
ProbeHandler
   1 exec *ExecAction
   2 httpGet *HTTPGetAction
   3 tcpSocket *TCPSocketAction
   4 grpc *GRPCAction
Lifecycle
   1 postStart *LifecycleHandler
   2 preStop *LifecycleHandler
   3 stopSignal *Signal
LifecycleHandler
   1 exec *ExecAction
   2 httpGet *HTTPGetAction
   3 tcpSocket *TCPSocketAction
   4 sleep *SleepAction
ExecAction
   1 command []string
HTTPGetAction
   1 path string
   2 port! int-or-string
   3 host string
   4 scheme URIScheme
   5 httpHeaders []HTTPHeader
HTTPHeader
   1 name! string
   2 value! string
TCPSocketAction
   1 port! int-or-string
   2 host string
GRPCAction
   1 port! int32
   2 service *string =
SleepAction
   1 seconds! int64
URIScheme = string HTTP | HTTPS
`;
