/** The values that 0 stands for in a client of the API, as in client-go. */
const defaultQps = 5;
const defaultBurst = 10;

/** The rate limit of a client for the settings kubeAPIQPS and kubeAPIBurst, or eventRecordQPS and eventBurst. */
export function clientRate(qps: number, burst: number): { qps: number; burst: number } {
  return { qps: qps || defaultQps, burst: burst || defaultBurst };
}
