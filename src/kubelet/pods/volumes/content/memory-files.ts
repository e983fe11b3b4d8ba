import * as fs from "node:fs";
import type { FileCalls } from "./atomic-writer.ts";

const later =
  <A extends unknown[], R>(call: (...args: A) => R) =>
  async (...args: A): Promise<R> =>
    call(...args);

/**
 * File calls for what is in memory. No disk is waited for there, and each call takes microseconds: with a thread in between,
 * a volume takes three times the CPU (0.8 ms instead of 0.25 ms, measured with three files).
 */
export const memoryFiles = {
  chmod: later(fs.chmodSync),
  chown: later(fs.chownSync),
  lchown: later(fs.lchownSync),
  lstat: later(fs.lstatSync as (path: string) => fs.Stats),
  mkdir: later(fs.mkdirSync),
  readFile: later(fs.readFileSync as (path: string) => Buffer),
  readdir: later(fs.readdirSync),
  readlink: later(fs.readlinkSync),
  rename: later(fs.renameSync),
  rm: later(fs.rmSync),
  symlink: later(fs.symlinkSync),
  writeFile: later(fs.writeFileSync),
} as unknown as FileCalls;
