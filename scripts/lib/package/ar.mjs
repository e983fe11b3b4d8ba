/** The archive format of Debian packages: members of { name, data }, owned by root, all with the same time. */
export function ar(members, seconds) {
  const parts = [Buffer.from("!<arch>\n")];
  for (const { name, data } of members) {
    if (name.length > 16) throw new RangeError(`"${name}" does not fit an ar header`);
    const header = [
      name.padEnd(16),
      String(seconds).padEnd(12),
      "0".padEnd(6),
      "0".padEnd(6),
      "100644".padEnd(8),
      String(data.length).padEnd(10),
      "`\n",
    ].join("");
    parts.push(Buffer.from(header, "ascii"), data);
    if (data.length % 2 === 1) parts.push(Buffer.from("\n"));
  }
  return Buffer.concat(parts);
}
