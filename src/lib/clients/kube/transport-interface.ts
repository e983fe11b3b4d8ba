export type Query = Record<string, string | number | boolean | undefined>;

export interface KubeRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path with its segments already escaped: "/api/v1/namespaces/default/pods". */
  path: string;
  /** Values that are undefined are left out. */
  query?: Query;
  /** Sent as JSON. */
  body?: unknown;
  /** The media type of the body; a PATCH has to say which kind of patch it is. */
  contentType?: string;
  signal?: AbortSignal;
  /** How long one attempt may take until its whole answer is here. */
  timeoutMs?: number;
}

export interface KubeStreamRequest {
  path: string;
  query?: Query;
  /** Ends the stream. */
  signal: AbortSignal;
  /** How long the server may take until it begins to answer. The stream itself has no deadline. */
  timeoutMs?: number;
}

/** The way to the API server. Who is asked, as whom and over which connection is not the caller's concern. */
export interface KubeTransport {
  /**
   * JSON in, JSON out. Throws a KubeApiError for an answer of 400 and above, a TransportError when nobody answers, and an
   * AbortError when the signal says so.
   */
  request<T>(call: KubeRequest): Promise<T>;
  /**
   * An answer that is read as it comes: lines of JSON (a watch). Throws as `request` does until the answer begins; the
   * iteration throws a TransportError when the stream is cut, and just ends when the server ends it or the signal is aborted.
   */
  stream(call: KubeStreamRequest): Promise<AsyncIterable<Uint8Array>>;
  /** Told when a connection comes to be after one did not: who waits for the server need not wait on. Returns what ends it. */
  onBack?(listener: () => void): () => void;
  close(): void;
}
