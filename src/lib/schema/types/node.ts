/** In the notation of `../type-notation.ts`. */
export const nodeTypes = `
Overhead: podFixed core.ResourceList
kind RuntimeClass: handler! string, metadata meta.ObjectMeta, overhead Overhead, scheduling Scheduling
Scheduling: nodeSelector map string atomic, tolerations []core.Toleration
`;
