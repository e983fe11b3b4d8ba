const alphabet = /[A-Za-z0-9+/]/;

/** The error of Go's base64 decoder, with the offset of the first illegal byte. Line breaks are ignored. */
export function base64Error(text: string): string | undefined {
  if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return undefined;
  const offset = firstIllegal(text);
  return offset === undefined ? undefined : `illegal base64 data at input byte ${offset}`;
}

function firstIllegal(text: string): number | undefined {
  const offsets = [...text].flatMap((char, at) => (char === "\n" || char === "\r" ? [] : [at]));
  for (const [count, at] of offsets.entries()) {
    if (alphabet.test(text[at]!)) continue;
    const inGroup = count % 4;
    if (text[at] !== "=" || inGroup < 2) return at;
    if (inGroup === 3) return offsets[count + 1];
    const second = offsets[count + 1];
    if (second === undefined) return text.length;
    return text[second] === "=" ? offsets[count + 2] : second;
  }
  const open = offsets.length % 4;
  return open === 0 ? undefined : text.length - open;
}
