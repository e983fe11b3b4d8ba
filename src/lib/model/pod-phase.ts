export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed";

export function isTerminalPhase(phase: string | undefined): phase is "Succeeded" | "Failed" {
  return phase === "Succeeded" || phase === "Failed";
}
