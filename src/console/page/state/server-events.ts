/** The data of server-sent events, from text that arrives in chunks. The node sends each message as one line of data. */
export class ServerEvents {
  #rest = "";

  append(chunk: string): string[] {
    const events = (this.#rest + chunk).split("\n\n");
    this.#rest = events.pop() ?? "";
    return events.flatMap((event) => /^data: (.*)$/m.exec(event)?.[1] ?? []);
  }
}
