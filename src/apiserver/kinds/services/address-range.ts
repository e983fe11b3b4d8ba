import { KubeletError } from "../../../lib/base/errors.ts";
import { cidrFamily } from "../addresses.ts";

/** A range of IPv4 addresses for services, such as 10.96.0.0/16: all but the first and the last. */
export class AddressRange {
  readonly cidr: string;
  readonly #first: number;
  readonly #last: number;

  constructor(cidr: string) {
    const [address = "", bits = ""] = cidr.split("/");
    const size = 2 ** (32 - Number(bits));
    if (cidrFamily(cidr) !== "IPv4" || Number(bits) < 8 || Number(bits) > 30)
      throw new KubeletError("BadRequest", `${cidr} is not a range for services: want IPv4, /8 to /30`);
    const base = Math.floor(numberOf(address) / size) * size;
    this.cidr = `${textOf(base)}/${bits}`;
    this.#first = base + 1;
    this.#last = base + size - 2;
  }

  /** The address of the API itself. */
  get first(): string {
    return textOf(this.#first);
  }

  has(address: string): boolean {
    const number = numberOf(address);
    return number >= this.#first && number <= this.#last;
  }

  /**
   * Any free address; `start` (0 to 1) sets where the search begins. The low part of the range is left to clients that
   * choose their addresses, until the rest is full.
   */
  free(taken: { has(address: string): boolean }, start: number): string | undefined {
    const size = this.#last - this.#first + 1;
    const reserved = size < 16 ? 0 : Math.min(256, Math.max(16, Math.floor(size / 16)));
    return (
      this.#freeIn(this.#first + reserved, this.#last, taken, start) ??
      this.#freeIn(this.#first, this.#first + reserved - 1, taken, 0)
    );
  }

  #freeIn(
    first: number,
    last: number,
    taken: { has(address: string): boolean },
    start: number,
  ): string | undefined {
    const size = last - first + 1;
    const offset = Math.floor(start * size);
    for (let i = 0; i < size; i++) {
      const address = textOf(first + ((offset + i) % size));
      if (!taken.has(address)) return address;
    }
    return undefined;
  }
}

function numberOf(address: string): number {
  return address.split(".").reduce((number, part) => number * 256 + Number(part), 0);
}

function textOf(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");
}
