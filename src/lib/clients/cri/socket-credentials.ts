import { ChannelCredentials, credentials } from "@grpc/grpc-js";

type SecureConnector = ReturnType<ChannelCredentials["_createSecureConnector"]>;

/**
 * Insecure credentials for a socket, with which a closed channel opens no further connection. By default, a channel of grpc-js that is
 * closed while it waits to reconnect does so once more, and keeps the connection: to the next server at the same socket.
 */
export class SocketCredentials extends ChannelCredentials {
  override _isSecure(): boolean {
    return false;
  }

  override _equals(other: ChannelCredentials): boolean {
    return other === this;
  }

  override _createSecureConnector(
    ...args: Parameters<ChannelCredentials["_createSecureConnector"]>
  ): SecureConnector {
    const connector = credentials.createInsecure()._createSecureConnector(...args);
    let isClosed = false;
    return {
      connect: (socket) => connector.connect(socket),
      // Awaited before each connection.
      waitForReady: () => (isClosed ? Promise.reject(new Error("channel closed")) : connector.waitForReady()),
      getCallCredentials: () => connector.getCallCredentials(),
      destroy() {
        isClosed = true;
        connector.destroy();
      },
    };
  }
}
