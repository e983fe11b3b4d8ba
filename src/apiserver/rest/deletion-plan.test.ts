import assert from "node:assert/strict";
import { test } from "node:test";
import { type DeletionRequest, planDeletion } from "./deletion-plan.ts";

const now = Date.UTC(2026, 0, 1, 12, 0, 0);
const time = (seconds: number) => `${new Date(now + seconds * 1000).toISOString().slice(0, 19)}Z`;
const graceful = (requested: number | undefined) => requested ?? 30;

interface Case {
  rule: string;
  meta?: Record<string, unknown>;
  requested?: Partial<DeletionRequest>;
  plan: "remove" | "pending" | Record<string, unknown>;
}

const cases: Case[] = [
  { rule: "an object without grace period is removed immediately", plan: "remove" },
  {
    rule: "an object with finalizers is marked as deleted",
    meta: { finalizers: ["x/y"] },
    plan: { finalizers: ["x/y"], deletionTimestamp: time(0), deletionGracePeriodSeconds: 0 },
  },
  {
    rule: "the deletion timestamp increments the generation, once",
    meta: { finalizers: ["x/y"], generation: 4 },
    plan: { finalizers: ["x/y"], deletionTimestamp: time(0), deletionGracePeriodSeconds: 0, generation: 5 },
  },
  {
    rule: "an object that is being deleted is not marked again",
    meta: { finalizers: ["x/y"], deletionTimestamp: time(-9), deletionGracePeriodSeconds: 0, generation: 5 },
    plan: { finalizers: ["x/y"], deletionTimestamp: time(-9), deletionGracePeriodSeconds: 0, generation: 5 },
  },
  {
    rule: "a graceful kind gets the end of its grace period as deletionTimestamp",
    meta: { generation: 1 },
    requested: { grace: graceful },
    plan: { deletionTimestamp: time(30), deletionGracePeriodSeconds: 30, generation: 2 },
  },
  {
    rule: "the client may set the grace period",
    requested: { grace: graceful, gracePeriodSeconds: 5 },
    plan: { deletionTimestamp: time(5), deletionGracePeriodSeconds: 5 },
  },
  {
    rule: "a negative grace period is one second",
    requested: { grace: graceful, gracePeriodSeconds: -1 },
    plan: { deletionTimestamp: time(1), deletionGracePeriodSeconds: 1 },
  },
  {
    rule: "a grace period of 0 removes the object",
    requested: { grace: graceful, gracePeriodSeconds: 0 },
    plan: "remove",
  },
  {
    rule: "a grace period of 0 and a finalizer",
    meta: { finalizers: ["x/y"] },
    requested: { grace: graceful, gracePeriodSeconds: 0 },
    plan: { finalizers: ["x/y"], deletionTimestamp: time(0), deletionGracePeriodSeconds: 0 },
  },
  {
    rule: "requested again without a grace period, nothing changes",
    meta: { deletionTimestamp: time(20), deletionGracePeriodSeconds: 30 },
    requested: { grace: graceful },
    plan: "pending",
  },
  {
    rule: "the grace period is never extended",
    meta: { deletionTimestamp: time(20), deletionGracePeriodSeconds: 30 },
    requested: { grace: graceful, gracePeriodSeconds: 60 },
    plan: "pending",
  },
  {
    rule: "the grace period is shortened, from its start",
    meta: { deletionTimestamp: time(20), deletionGracePeriodSeconds: 30, generation: 2 },
    requested: { grace: graceful, gracePeriodSeconds: 15 },
    plan: { deletionTimestamp: time(5), deletionGracePeriodSeconds: 15, generation: 2 },
  },
  {
    rule: "a grace period that would have elapsed ends in one second",
    meta: { deletionTimestamp: time(20), deletionGracePeriodSeconds: 30 },
    requested: { grace: graceful, gracePeriodSeconds: 2 },
    plan: { deletionTimestamp: time(0), deletionGracePeriodSeconds: 1 },
  },
  {
    rule: "a deletion with grace period 0 removes it",
    meta: { deletionTimestamp: time(20), deletionGracePeriodSeconds: 30 },
    requested: { grace: graceful, gracePeriodSeconds: 0 },
    plan: "remove",
  },
  {
    rule: "an object with finalizers in its spec is kept",
    requested: { hasSpecFinalizers: () => true },
    plan: { deletionTimestamp: time(0), deletionGracePeriodSeconds: 0 },
  },
  {
    rule: "Foreground adds a finalizer if a controller handles it",
    requested: { propagation: "Foreground", handled: ["Foreground"] },
    plan: { finalizers: ["foregroundDeletion"], deletionTimestamp: time(0), deletionGracePeriodSeconds: 0 },
  },
  {
    rule: "Foreground is Background if no controller handles it",
    requested: { propagation: "Foreground" },
    plan: "remove",
  },
  {
    rule: "Background removes the finalizer of Foreground",
    meta: { finalizers: ["orphan"], deletionTimestamp: time(-1), deletionGracePeriodSeconds: 0 },
    requested: { propagation: "Background", handled: ["Orphan"] },
    plan: "remove",
  },
];

for (const { rule, meta = {}, requested = {}, plan } of cases)
  test(`deletion: ${rule}`, () => {
    const current = { metadata: { name: "a", uid: "u", ...meta } };
    const before = structuredClone(current);
    const got = planDeletion(current, { now, handled: [], ...requested });
    assert.deepEqual(current, before, "the current object is not modified");
    if (typeof plan === "string") assert.equal(got.kind, plan);
    else assert.deepEqual(got.kind === "mark" && got.draft.metadata, { name: "a", uid: "u", ...plan });
  });
