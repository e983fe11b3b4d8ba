import type { Clock } from "../../src/lib/base/clock.ts";
import type { Program } from "./program.ts";

export interface ProcessOptions {
  program: Program;
  clock: Clock;
  /** The kernel does not deliver signals to the init process of a PID namespace that it has no handler for. */
  pidOne: boolean;
  print(to: "stdout" | "stderr", line: string): void;
}

/** Runs a program on a clock. */
export class FakeProcess {
  /** The exit code, once it has exited. */
  readonly exited: Promise<number>;
  readonly #options: ProcessOptions;
  readonly #exit = Promise.withResolvers<number>();
  #cancelTimer: (() => void) | undefined;
  #over: boolean = false;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.exited = this.#exit.promise;
  }

  start(): void {
    this.#from(0);
  }

  signal(name: "TERM" | "KILL"): void {
    const { onTerm } = this.#options.program;
    if (name === "KILL") this.end(137);
    else if (typeof onTerm === "number") this.end(onTerm);
    else if (onTerm === "default" && !this.#options.pidOne) this.end(143);
  }

  /** Makes it exit immediately. */
  end(code: number): void {
    if (this.#over) return;
    this.forget();
    this.#exit.resolve(code);
  }

  /** Cancels everything, including the exit. */
  forget(): void {
    this.#over = true;
    this.#cancelTimer?.();
  }

  #from(index: number): void {
    for (const [offset, step] of this.#options.program.steps.slice(index).entries()) {
      if (this.#over || step.do === "run-forever") return;
      if (step.do === "print") this.#options.print(step.to, step.line);
      if (step.do === "exit") this.end(step.code);
      if (step.do === "wait") {
        this.#cancelTimer = this.#options.clock.after(step.ms, () => this.#from(index + offset + 1));
        return;
      }
    }
    this.end(0);
  }
}
