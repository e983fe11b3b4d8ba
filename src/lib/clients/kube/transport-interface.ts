export type Query = Record<string, string | number | boolean | undefined>;

export interface KubeRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path with its segments already escaped: "/api/v1/namespaces/default/pods". */
  path: string;
  /** Values that are undefined are omitted. */
  query?: Query;
  /** Sent as JSON. */
  body?: unknown;
  /** The media type of the body; a PATCH has to name its kind of patch. */
  contentType?: string;
  signal?: AbortSignal;
  /** Timeout of one attempt, with its whole response. */
  timeoutMs?: number;
}

export interface KubeStreamRequest {
  path: string;
  query?: Query;
  /** Ends the stream. */
  signal: AbortSignal;
  /** Timeout until the response starts. The stream itself has no deadline. */
  timeoutMs?: number;
}

/** The client of the API server, implemented by `HttpKubeTransport`. Address, identity and connection are not the caller's concern. */
export interface KubeTransport {
  /**
   * JSON in, JSON out. Throws a KubeApiError for a response of 400 and above, a TransportError without a response, and
   * an AbortError when the signal is aborted.
   */
  request<T>(call: KubeRequest): Promise<T>;
  /**
   * A streamed response: lines of JSON (a watch). Throws as `request` does until the response starts; the
   * iteration throws a TransportError when the stream is disconnected, and just ends when the server ends it or the signal is aborted.
   */
  stream(call: KubeStreamRequest): Promise<AsyncIterable<Uint8Array>>;
  /** Reflectors list with a watch that starts with the existing objects, unless the server does not support it. */
  readonly streamsLists?: boolean | undefined;
  /**
   * Called when a connection is established after a failed one: callers waiting for the server can retry.
   * Returns a function that unsubscribes.
   */
  onReconnect?(listener: () => void): () => void;
  close(): void;
}
