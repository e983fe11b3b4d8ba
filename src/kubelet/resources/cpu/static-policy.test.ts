import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCpuSet, noCpus, parseCpuSet } from "../../../lib/model/cpu-set.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { CpuAssignments } from "./cpu-assignments.ts";
import { machine } from "./machine-fixtures.ts";
import { staticPolicyOptions } from "./policy-options.ts";
import {
  allocatableCpus,
  checkAssignments,
  checkSmtAlignment,
  initialAssignments,
  staticPolicy,
} from "./static-policy.ts";

function policy(name: string, reserved: string | number, ...options: string[]) {
  const configured = Object.fromEntries(options.map((option) => [option, "true"]));
  return staticPolicy({
    topology: machine(name),
    options: staticPolicyOptions(configured, { enabled: () => true }),
    reservedCpus: typeof reserved === "string" ? parseCpuSet(reserved) : noCpus,
    reservedMilliCpus:
      typeof reserved === "string" ? BigInt(parseCpuSet(reserved).size) * 1000n : BigInt(reserved),
  });
}

function assignments(shared: string, exclusive: Readonly<Record<string, string>> = {}): CpuAssignments {
  const pods = Object.entries(exclusive).map(
    ([uid, list]) => [uid as PodUid, new Map([["app", parseCpuSet(list)]])] as const,
  );
  return { shared: parseCpuSet(shared), pods: new Map(pods) };
}

test("reserved CPUs are those configured, or as many as the reservation needs, by core", () => {
  const rows: [string, string | number, string][] = [
    ["core-4", "2,6", "2,6"],
    ["core-4", 1, "0"],
    ["core-4", 1000, "0"],
    ["core-4", 1001, "0,4"],
    ["core-4", 2500, "0-1,4"],
    ["xeon-2x20", 4000, "0,2,40,42"],
    ["power9-2x20", 4000, "0-3"],
    ["vm-2", 2000, "0-1"],
  ];
  for (const [name, reserved, expected] of rows)
    assert.equal(formatCpuSet(policy(name, reserved).reserved), expected, `${reserved} on ${name}`);
});

test("the static policy does not start without a reservation that the machine has", () => {
  assert.throws(() => policy("core-4", 0), {
    message:
      "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero",
  });
  assert.throws(() => policy("core-4", 8001), {
    message:
      "new static policy error: [cpumanager] unable to reserve the required amount of CPUs (size of  did not equal 9)",
  });
  assert.throws(() => policy("core-4", "0,99"), /unknown CPU ID: 99/);
});

test("the shared pool begins with all CPUs, without reserved ones only if they are strictly reserved", () => {
  const shared = (...options: string[]) =>
    formatCpuSet(initialAssignments(policy("core-4", "0", ...options)).shared);
  assert.equal(shared(), "0-7");
  assert.equal(shared("strict-cpu-reservation"), "1-7");
  assert.equal(formatCpuSet(allocatableCpus(policy("core-4", "0"))), "1-7");
});

test("assignments that do not fit the machine or the reservation are rejected", () => {
  const strict = ["strict-cpu-reservation"];
  const rows: [string[], string, Record<string, string>, string | undefined][] = [
    [[], "0-7", {}, undefined],
    [[], "0-3", { a: "4-5", b: "6-7" }, undefined],
    [[], "", { a: "0-7" }, "default cpuset cannot be empty"],
    [[], "1-7", {}, 'not all reserved cpus: "0" are present in defaultCpuSet: "1-7"'],
    [[], "0-6", { a: "6-7" }, 'pod: a, container: app cpuset: "6-7" overlaps with default cpuset "0-6"'],
    [[], "0-6", {}, 'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-6"'],
    [[], "0-6", { a: "7-8" }, 'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-8"'],
    [strict, "1-7", {}, undefined],
    [strict, "", { a: "1-7" }, undefined],
    [strict, "0-7", {}, 'some of strictly reserved cpus: "0" are present in defaultCpuSet: "0-7"'],
    [strict, "1-6", {}, 'current set of available CPUs "1-7" doesn\'t match with CPUs in state "1-6"'],
  ];
  for (const [options, shared, exclusive, message] of rows) {
    const check = () => checkAssignments(policy("core-4", "0", ...options), assignments(shared, exclusive));
    if (message === undefined) check();
    else assert.throws(check, { message }, shared);
  }
});

test("with full-pcpus-only a request must be whole cores, of which none is reserved in part", () => {
  const full = policy("core-4", "0", "full-pcpus-only");
  const check = (count: number, shared: string, reusable = "") =>
    checkSmtAlignment(full, assignments(shared), { count, reusable: parseCpuSet(reusable) });
  check(2, "0-7");
  check(6, "0-7");
  check(2, "0,4", "1,5");
  assert.throws(() => check(3, "0-7"), {
    code: "SMTAlignmentError",
    message: "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2",
  });
  assert.throws(() => check(8, "0-7"), {
    code: "SMTAlignmentError",
    message:
      "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 6, requested CPUs = 8, CPUs per core = 2",
  });
  checkSmtAlignment(policy("core-4", "0"), assignments("0-7"), { count: 3, reusable: noCpus });
});
