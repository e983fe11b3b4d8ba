import type { StepKind } from "../../lib/model/pod-step.ts";
import type { PullProgress } from "../../lib/model/pull-progress.ts";

/** Why a pod is in its state. docs/EXPLAIN.md describes each field. */
export interface PodExplanation {
  namespace: string;
  name: string;
  uid: string;
  source: string;
  phase: string;
  ready: boolean;
  seenAt: string;
  cause: string | null;
  raw: string | null;
  try: string | null;
  failedAt: string | null;
  /** Set once the pod is removed. */
  goneAt?: string;
  waitsFor: { step: StepKind; text: string; container?: string; since: string; until?: string } | null;
  details: string[];
  /** The image that the pod waits for first, then those that are pulled early. Absent if nothing is pulled for the pod. */
  pulls?: PullProgress[];
  lastError: { text: string; at: string } | null;
  start: { readyAt: string; tookMs: number; steps: { step: StepKind; ms: number }[] } | null;
  history: ExplainedStep[];
  dropped: number;
}

export interface ExplainedStep {
  step: StepKind;
  text: string;
  container?: string;
  startedAt: string;
  endedAt?: string;
  ms: number;
  until?: string;
  error?: string;
  problem?: string;
}
