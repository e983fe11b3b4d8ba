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
    rule: "finalizers keep it, marked",
    meta: { finalizers: ["x/y"] },
    plan: { finalizers: ["x/y"], deletionTimestamp: time(0), deletionGracePeriodSeconds: 0 },
  },
  {
    rule: "the deletion timestamp increments the generation, once",
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
    requested: { grace: graceful },
    plan: { deletionTimestamp: time(30), deletionGracePeriodSeconds: 30, generation: 2 },
  },
  {
    rule: "the client may choose the grace",
    requested: { grace: graceful, gracePeriodSeconds: 5 },
    plan: { deletionTimestamp: time(5), deletionGracePeriodSeconds: 5 },
  },
  {
    rule: "a negative grace is one second",
    requested: { grace: graceful, gracePeriodSeconds: -1 },
    plan: { deletionTimestamp: time(1), deletionGracePeriodSeconds: 1 },
  },
  {
    rule: "a grace period of 0 removes the object",
    requested: { grace: graceful, gracePeriodSeconds: 0 },
    plan: "remove",
  },
  {
    rule: "no grace and a finalizer",
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
    rule: "grace that would be over by now is one second more",
    meta: { deletionTimestamp: time(20), deletionGracePeriodSeconds: 30 },
    requested: { grace: graceful, gracePeriodSeconds: 2 },
    plan: { deletionTimestamp: time(0), deletionGracePeriodSeconds: 1 },
  },
  {
    rule: "the component that stopped it deletes it",
    meta: { deletionTimestamp: time(20), deletionGracePeriodSeconds: 30 },
    requested: { grace: graceful, gracePeriodSeconds: 0 },
    plan: "remove",
  },
  {
    rule: "a kind with reasons of its own keeps it",
    requested: { hasSpecFinalizers: () => true },
    plan: { deletionTimestamp: time(0), deletionGracePeriodSeconds: 0 },
  },
  {
    rule: "foreground is noted if a controller acts on it",
    requested: { propagation: "Foreground", handled: ["Foreground"] },
    plan: { finalizers: ["foregroundDeletion"], deletionTimestamp: time(0), deletionGracePeriodSeconds: 0 },
  },
  { rule: "and is background if none does", requested: { propagation: "Foreground" }, plan: "remove" },
  {
    rule: "background takes back what was noted",
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
    assert.deepEqual(current, before, "the present object is left alone");
    if (typeof plan === "string") assert.equal(got.kind, plan);
    else assert.deepEqual(got.kind === "mark" && got.draft.metadata, { name: "a", uid: "u", ...plan });
  });
