import assert from "node:assert/strict";
import { test } from "node:test";
import { type DeletionAsked, planDeletion } from "./deletion-plan.ts";

const now = Date.UTC(2026, 0, 1, 12, 0, 0);
const time = (seconds: number) => `${new Date(now + seconds * 1000).toISOString().slice(0, 19)}Z`;
const graceful = (asked: number | undefined) => asked ?? 30;

interface Case {
  rule: string;
  meta?: Record<string, unknown>;
  asked?: Partial<DeletionAsked>;
  plan: "remove" | "pending" | Record<string, unknown>;
}

const cases: Case[] = [
  { rule: "an object without grace goes at once", plan: "remove" },
  {
    rule: "finalizers keep it, marked",
    meta: { finalizers: ["x/y"] },
    plan: { finalizers: ["x/y"], deletionTimestamp: time(0), deletionGracePeriodSeconds: 0 },
  },
  {
    rule: "the mark counts as a new generation, once",
    meta: { finalizers: ["x/y"], generation: 4 },
    plan: { finalizers: ["x/y"], deletionTimestamp: time(0), deletionGracePeriodSeconds: 0, generation: 5 },
  },
  {
    rule: "an object that is marked is not marked again",
    meta: { finalizers: ["x/y"], deletionTimestamp: time(-9), deletionGracePeriodSeconds: 0, generation: 5 },
    plan: { finalizers: ["x/y"], deletionTimestamp: time(-9), deletionGracePeriodSeconds: 0, generation: 5 },
  },
  {
    rule: "a graceful kind is marked with the end of its grace",
    meta: { generation: 1 },
    asked: { grace: graceful },
    plan: { deletionTimestamp: time(30), deletionGracePeriodSeconds: 30, generation: 2 },
  },
  {
    rule: "the client may choose the grace",
    asked: { grace: graceful, gracePeriodSeconds: 5 },
    plan: { deletionTimestamp: time(5), deletionGracePeriodSeconds: 5 },
  },
  {
    rule: "a negative grace is one second",
    asked: { grace: graceful, gracePeriodSeconds: -1 },
    plan: { deletionTimestamp: time(1), deletionGracePeriodSeconds: 1 },
  },
  { rule: "no grace is no grace", asked: { grace: graceful, gracePeriodSeconds: 0 }, plan: "remove" },
  {
    rule: "no grace and a finalizer",
    meta: { finalizers: ["x/y"] },
    asked: { grace: graceful, gracePeriodSeconds: 0 },
    plan: { finalizers: ["x/y"], deletionTimestamp: time(0), deletionGracePeriodSeconds: 0 },
  },
  {
    rule: "asked again without a wish, nothing changes",
    meta: { deletionTimestamp: time(20), deletionGracePeriodSeconds: 30 },
    asked: { grace: graceful },
    plan: "pending",
  },
  {
    rule: "grace is never made longer",
    meta: { deletionTimestamp: time(20), deletionGracePeriodSeconds: 30 },
    asked: { grace: graceful, gracePeriodSeconds: 60 },
    plan: "pending",
  },
  {
    rule: "grace is made shorter, from when it began",
    meta: { deletionTimestamp: time(20), deletionGracePeriodSeconds: 30, generation: 2 },
    asked: { grace: graceful, gracePeriodSeconds: 15 },
    plan: { deletionTimestamp: time(5), deletionGracePeriodSeconds: 15, generation: 2 },
  },
  {
    rule: "grace that would be over by now is one second more",
    meta: { deletionTimestamp: time(20), deletionGracePeriodSeconds: 30 },
    asked: { grace: graceful, gracePeriodSeconds: 2 },
    plan: { deletionTimestamp: time(0), deletionGracePeriodSeconds: 1 },
  },
  {
    rule: "whoever stopped it takes it away",
    meta: { deletionTimestamp: time(20), deletionGracePeriodSeconds: 30 },
    asked: { grace: graceful, gracePeriodSeconds: 0 },
    plan: "remove",
  },
  {
    rule: "a kind with reasons of its own keeps it",
    asked: { holds: () => true },
    plan: { deletionTimestamp: time(0), deletionGracePeriodSeconds: 0 },
  },
  {
    rule: "foreground is noted if somebody acts on it",
    asked: { propagation: "Foreground", handled: ["Foreground"] },
    plan: { finalizers: ["foregroundDeletion"], deletionTimestamp: time(0), deletionGracePeriodSeconds: 0 },
  },
  { rule: "and is background if nobody does", asked: { propagation: "Foreground" }, plan: "remove" },
  {
    rule: "background takes back what was noted",
    meta: { finalizers: ["orphan"], deletionTimestamp: time(-1), deletionGracePeriodSeconds: 0 },
    asked: { propagation: "Background", handled: ["Orphan"] },
    plan: "remove",
  },
];

for (const { rule, meta = {}, asked = {}, plan } of cases)
  test(`deletion: ${rule}`, () => {
    const current = { metadata: { name: "a", uid: "u", ...meta } };
    const before = structuredClone(current);
    const got = planDeletion(current, { now, handled: [], ...asked });
    assert.deepEqual(current, before, "the present object is left alone");
    if (typeof plan === "string") assert.equal(got.kind, plan);
    else assert.deepEqual(got.kind === "mark" && got.draft.metadata, { name: "a", uid: "u", ...plan });
  });
