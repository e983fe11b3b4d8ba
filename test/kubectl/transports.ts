/** The streaming protocols of kubectl; the first is its default. */
export const transports = (["WebSocket", "SPDY"] as const).map((by) => {
  const wanted = String(by === "WebSocket");
  return {
    by,
    env: { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: wanted, KUBECTL_PORT_FORWARD_WEBSOCKETS: wanted },
  };
});
