import fc from "fast-check";

const hostile = [
  ...["-", "--", "--all", "--options=bind", "-obind", "-o", "--bind", "-v", "-f", "--help", "-rf", "-F"],
  ...["", " ", "a b", "\t", "\n", "a\nb", "\r\n", "\0", "a\0b", "\u007f", "\u001b[0m"],
  ...["..", "../..", "/..", "/../../etc", "a/../../../../../etc/x", "/", "//", "/etc/shadow", "~", "./x"],
  ...[
    "=",
    "LABEL=x",
    "UUID=00",
    "PARTLABEL=x",
    "ID=x",
    "a=b",
    "/dev/sda",
    "none",
    "tmpfs",
    "proc",
    "sysfs",
    "bind",
  ],
  ...[",", "ro,bind", "a,b", "x,suid,dev", "*", "?", "[", "]", "[::1", "%n", "%s"],
  ...["$(touch x)", "`touch x`", ";touch x", "|x", "&x", "&&x", ">x", "'", '"', "\\", "#", "!"],
  ...["\u202e", "\u2028", "é", "\ud83d\ude00", "\ufeff", "\u2010\u2010all", "－－all", "\ud800"],
  ...["constructor", "__proto__", "999999999999", "-1", "0x1", "1e3", "NaN"],
];

/** Texts that a program, a shell, a path or a list could take for more than one name; some with a part of `valid`. */
export function hostileText(valid: string): fc.Arbitrary<string> {
  const fragment = fc.oneof(fc.constantFrom(...hostile), fc.string({ maxLength: 4 }));
  return fc.oneof(
    fc.constantFrom(...hostile),
    fc.constantFrom("\n", "\0", "/../../x", " -x", ",x=y").map((text) => `${valid}${text}z`),
    fc.string({ unit: "binary", maxLength: 12 }),
    fc.tuple(fragment, fragment).map(([a, b]) => `${a}${valid}${b}`),
    fc.tuple(fragment, fc.nat(valid.length)).map(([a, at]) => `${valid.slice(0, at)}${a}${valid.slice(at)}`),
  );
}
