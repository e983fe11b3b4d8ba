import { KubeletError } from "../../base/errors.ts";
import { KubeApiError } from "./api-error.ts";
import type { Query } from "./transport-interface.ts";

/**
 * The next step of a reflector. `from` is a resource version: at least as new as that for a list ("0": whatever the
 * server has cached, "": the newest), after that for a watch.
 */
export type Step =
  | { readonly do: "list"; readonly from: string }
  /** A watch that starts with all existing objects. */
  | { readonly do: "stream-list"; readonly from: string }
  | { readonly do: "watch"; readonly from: string };

export type WatchStep = Exclude<Step, { do: "list" }>;

export type Outcome =
  | { readonly kind: "listed"; readonly resourceVersion: string }
  /** The list is older than requested. */
  | { readonly kind: "stale" }
  /**
   * A watch that was opened has ended, with an error or because its stream was closed. `useful`: it delivered events, or
   * stayed open for a while.
   */
  | {
      readonly kind: "watched";
      readonly resourceVersion: string;
      readonly useful: boolean;
      readonly error?: unknown;
    }
  /** The server accepted a streamed list and does not complete it. */
  | { readonly kind: "not-streamed" }
  | { readonly kind: "failed"; readonly error: unknown };

export interface Next {
  readonly step: Step;
  /** Back off before the step. */
  readonly backOff: boolean;
  /** Reset the back-off before the step. */
  readonly resetBackOff: boolean;
  /** The server cannot stream lists. */
  readonly disableStreaming?: true;
}

type Failure = "expired" | "rejected" | "unavailable";

export function watchQuery(step: WatchStep): Query {
  const query = { watch: true, allowWatchBookmarks: true, resourceVersion: step.from || undefined };
  if (step.do === "watch") return query;
  return { ...query, sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" };
}

export function failureOf(error: unknown): Failure {
  // The same watch would return the same line again.
  if (error instanceof KubeletError && error.code === "MalformedWatch") return "rejected";
  if (!(error instanceof KubeApiError)) return "unavailable";
  const { status, reason, details, message } = error;
  if (status === 410 || reason === "Expired" || reason === "Gone") return "expired";
  // The version is newer than the server's newest: the server was reinstalled or restored from a backup.
  if (details?.causes?.some((cause) => cause.reason === "ResourceVersionTooLarge")) return "expired";
  if (/too large resource version/i.test(message)) return "expired";
  const mayChange = status >= 500 || [401, 403, 408, 429].includes(status);
  return mayChange ? "unavailable" : "rejected";
}

export function nextStep(step: Step, outcome: Outcome): Next {
  switch (outcome.kind) {
    case "listed":
      return {
        step: { do: "watch", from: outcome.resourceVersion },
        backOff: false,
        resetBackOff: false,
      };
    case "stale":
      return { step: { do: "list", from: "" }, backOff: false, resetBackOff: false };
    case "not-streamed":
      return listInstead(step);
    case "watched":
      return afterWatch(outcome);
    case "failed":
      return afterFailure(step, outcome.error);
    default:
      return outcome satisfies never;
  }
}

function afterWatch(outcome: Extract<Outcome, { kind: "watched" }>): Next {
  const { resourceVersion: from, useful, error } = outcome;
  const failure = error === undefined ? undefined : failureOf(error);
  if (failure === "expired" || failure === "rejected")
    return { step: { do: "list", from }, backOff: true, resetBackOff: useful };
  // A stream that was disconnected resumes immediately; one that ends as soon as it starts must not be reopened in a tight loop.
  return { step: { do: "watch", from }, backOff: !useful, resetBackOff: useful };
}

function afterFailure(step: Step, error: unknown): Next {
  const failure = failureOf(error);
  if (failure === "expired") {
    if (step.do === "watch")
      return { step: { do: "list", from: step.from }, backOff: true, resetBackOff: false };
    // That version was compacted: list the newest. If that fails too, back off.
    return { step: { ...step, from: "" }, backOff: step.from === "", resetBackOff: false };
  }
  if (failure === "rejected" && step.do === "watch")
    return { step: { do: "list", from: step.from }, backOff: true, resetBackOff: false };
  if (failure === "rejected" && step.do === "stream-list") return listInstead(step);
  return { step, backOff: true, resetBackOff: false };
}

function listInstead({ from }: Step): Next {
  return {
    step: { do: "list", from: from || "0" },
    backOff: false,
    resetBackOff: false,
    disableStreaming: true,
  };
}
