import { KubeletError } from "../lib/base/errors.ts";

/**
 * The program of the pause container, as an ELF file assembled here: it blocks SIGTERM, SIGINT and SIGCHLD, reaps children
 * that have already exited, receives signals with rt_sigtimedwait, reaps, and exits with status 0 on TERM or INT.
 * Blocked signals are also delivered to pid 1 of a pid namespace, so no handler (and no libc) is needed.
 */
export function pauseElf(arch: string = process.arch): Buffer {
  switch (arch) {
    case "x64":
      return elf(62, x64Code());
    case "arm64":
      return elf(183, arm64Code());
    default:
      throw new KubeletError("Architecture", `no pause program for ${arch}: x64 and arm64 are supported`);
  }
}

const sigint = 2;
const sigterm = 15;
const sigchld = 17;
const mask = (1 << (sigint - 1)) | (1 << (sigterm - 1)) | (1 << (sigchld - 1));
const wnohang = 1;

function x64Code(): Buffer {
  const code = new X64();
  code.bytes(0x68).int32(mask); // push mask: the signal set is at [rsp]
  code.bytes(0x31, 0xff); // xor edi, edi: SIG_BLOCK
  code.bytes(0x48, 0x89, 0xe6); // mov rsi, rsp
  code.bytes(0x31, 0xd2); // xor edx, edx: no old set
  code.bytes(0x41, 0xba).int32(8); // mov r10d, 8: size of the set
  code.syscall(14); // rt_sigprocmask
  code.jump(0xeb, "reap"); // children that exited before notified another parent
  code.label("wait");
  code.bytes(0x48, 0x89, 0xe7); // mov rdi, rsp
  code.bytes(0x31, 0xf6); // xor esi, esi: no siginfo
  code.bytes(0x31, 0xd2); // xor edx, edx: no timeout
  code.bytes(0x41, 0xba).int32(8); // mov r10d, 8
  code.syscall(128); // rt_sigtimedwait
  code.bytes(0x83, 0xf8, sigchld).jump(0x74, "reap"); // cmp eax, SIGCHLD; je
  code.bytes(0x83, 0xf8, sigterm).jump(0x74, "end");
  code.bytes(0x83, 0xf8, sigint).jump(0x74, "end");
  code.jump(0xeb, "wait"); // interrupted
  code.label("reap");
  code.bytes(0xbf).int32(-1); // mov edi, -1: any child
  code.bytes(0x31, 0xf6); // xor esi, esi: no status
  code.bytes(0xba).int32(wnohang); // mov edx, WNOHANG
  code.bytes(0x45, 0x31, 0xd2); // xor r10d, r10d: no rusage
  code.syscall(61); // wait4
  code.bytes(0x85, 0xc0).jump(0x7f, "reap"); // test eax, eax; jg: several children may share one signal
  code.jump(0xeb, "wait");
  code.label("end");
  code.bytes(0x31, 0xff); // xor edi, edi: status 0
  code.syscall(231); // exit_group
  return code.finish();
}

class X64 {
  readonly #code: number[] = [];
  readonly #labels = new Map<string, number>();
  readonly #jumps: { at: number; to: string }[] = [];

  bytes(...bytes: number[]): this {
    this.#code.push(...bytes);
    return this;
  }
  int32(value: number): this {
    return this.bytes(value & 0xff, (value >> 8) & 0xff, (value >> 16) & 0xff, (value >> 24) & 0xff);
  }
  syscall(number: number): this {
    return this.bytes(0xb8).int32(number).bytes(0x0f, 0x05); // mov eax, number; syscall
  }
  label(name: string): void {
    this.#labels.set(name, this.#code.length);
  }
  jump(opcode: number, to: string): void {
    this.bytes(opcode, 0);
    this.#jumps.push({ at: this.#code.length, to });
  }
  finish(): Buffer {
    for (const { at, to } of this.#jumps) this.#code[at - 1] = (this.#labels.get(to)! - at) & 0xff;
    return Buffer.from(this.#code);
  }
}

function arm64Code(): Buffer {
  const code = new Arm64();
  code.word(0xd10043ff); // sub sp, sp, #16
  code.move(9, mask & 0xffff).word(0xf2a00009 | ((mask >>> 16) << 5)); // movk x9, #high, lsl 16
  code.word(0xf90003e9); // str x9, [sp]: the signal set
  code.move(0, 0); // SIG_BLOCK
  code.word(0x910003e1); // mov x1, sp
  code.move(2, 0).move(3, 8);
  code.syscall(135); // rt_sigprocmask
  code.branchIf(0xe, "reap"); // always
  code.label("wait");
  code.word(0x910003e0); // mov x0, sp
  code.move(1, 0).move(2, 0).move(3, 8);
  code.syscall(137); // rt_sigtimedwait
  code.compare(sigchld).branchIf(0x0, "reap"); // eq
  code.compare(sigterm).branchIf(0x0, "end");
  code.compare(sigint).branchIf(0x0, "end");
  code.branchIf(0xe, "wait"); // always
  code.label("reap");
  code.word(0x92800000); // mov x0, #-1
  code.move(1, 0).move(2, wnohang).move(3, 0);
  code.syscall(260); // wait4
  code.compare(0).branchIf(0xc, "reap"); // gt
  code.branchIf(0xe, "wait");
  code.label("end");
  code.move(0, 0);
  code.syscall(94); // exit_group
  return code.finish();
}

class Arm64 {
  readonly #words: number[] = [];
  readonly #labels = new Map<string, number>();
  readonly #branches: { at: number; to: string }[] = [];

  word(word: number): this {
    this.#words.push(word >>> 0);
    return this;
  }
  /** movz x<register>, #value */
  move(register: number, value: number): this {
    return this.word(0xd2800000 | (value << 5) | register);
  }
  syscall(number: number): this {
    return this.move(8, number).word(0xd4000001);
  }
  /** cmp w0, #value */
  compare(value: number): this {
    return this.word(0x7100001f | (value << 10));
  }
  label(name: string): void {
    this.#labels.set(name, this.#words.length);
  }
  branchIf(condition: number, to: string): void {
    this.#branches.push({ at: this.#words.length, to });
    this.word(0x54000000 | condition);
  }
  finish(): Buffer {
    for (const { at, to } of this.#branches) {
      this.#words[at]! |= ((this.#labels.get(to)! - at) & 0x7ffff) << 5;
    }
    const out = Buffer.alloc(this.#words.length * 4);
    for (const [i, word] of this.#words.entries()) out.writeUInt32LE(word >>> 0, i * 4);
    return out;
  }
}

/** A static 64-bit program: header, one loadable segment (read, execute) and the code. */
function elf(machine: number, code: Buffer): Buffer {
  const headers = 64 + 2 * 56;
  const base = 0x400000n;
  const b = Buffer.alloc(headers);
  b.write("\x7fELF\x02\x01\x01", 0, "latin1");
  b.writeUInt16LE(2, 16); // an executable
  b.writeUInt16LE(machine, 18);
  b.writeUInt32LE(1, 20);
  b.writeBigUInt64LE(base + BigInt(headers), 24); // entry
  b.writeBigUInt64LE(64n, 32); // program headers
  b.writeUInt16LE(64, 52);
  b.writeUInt16LE(56, 54);
  b.writeUInt16LE(2, 56);
  const total = BigInt(headers + code.length);
  b.writeUInt32LE(1, 64); // PT_LOAD
  b.writeUInt32LE(5, 68); // read, execute
  b.writeBigUInt64LE(base, 80);
  b.writeBigUInt64LE(base, 88);
  b.writeBigUInt64LE(total, 96);
  b.writeBigUInt64LE(total, 104);
  b.writeBigUInt64LE(0x10000n, 112); // fits 64 KiB pages too
  b.writeUInt32LE(0x6474e551, 120); // PT_GNU_STACK
  b.writeUInt32LE(6, 124); // read, write: no executable stack
  b.writeBigUInt64LE(16n, 168);
  return Buffer.concat([b, code]);
}
