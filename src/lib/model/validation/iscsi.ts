import type { Problems } from "./problem.ts";

interface IscsiSource {
  readonly targetPortal?: string;
  readonly iqn?: string;
  readonly lun?: number;
  readonly initiatorName?: string;
  readonly chapAuthDiscovery?: boolean;
  readonly chapAuthSession?: boolean;
  readonly secretRef?: { readonly name?: string };
}

/** The forms of the names of targets and initiators, by their first letters. */
const forms: Readonly<Record<string, RegExp>> = {
  iqn: /iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\t\n\f\r ]+$/,
  eui: /^eui.[A-Za-z0-9]{16}$/s,
  naa: /^naa.[A-Za-z0-9]{32}$/s,
};
const maxLun = 255;
const maxInterfaceName = 64;

/**
 * Checks the fields of the iSCSI source of a pod's volume or of a PersistentVolume. The messages of the two differ. `at` is the path of the
 * volume or of the spec. Required fields are checked by the caller.
 */
export function checkIscsi(
  source: IscsiSource,
  { name, at: parent, isPod }: { readonly name: string; readonly at: string; readonly isPod: boolean },
  problems: Problems,
): void {
  const { targetPortal = "", iqn = "", lun = 0, initiatorName, secretRef } = source;
  const at = `${parent}.iscsi`;
  const unknownForm = isPod ? "must be valid format starting with iqn, eui, or naa" : "must be valid format";
  const checkName = (path: string, value: string) => {
    const form = forms[value.slice(0, 3)];
    if (!form) problems.invalid(path, value, unknownForm);
    else if (!form.test(value)) problems.invalid(path, value, "must be valid format");
  };
  const checkLength = () => {
    if (initiatorName !== undefined && Buffer.byteLength(`${name}:${targetPortal}`) > maxInterfaceName)
      problems.invalid(
        isPod ? `${parent}.name` : `${at}.targetportal`,
        isPod ? name : targetPortal,
        "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.",
      );
  };
  if (!isPod) checkLength();
  if (iqn !== "") checkName(`${at}.iqn`, iqn);
  if (lun < 0 || lun > maxLun)
    problems.invalid(`${at}.lun`, lun, `must be between 0 and ${maxLun}, inclusive`);
  if ((source.chapAuthDiscovery || source.chapAuthSession) && !secretRef)
    problems.required(`${at}.secretRef`);
  if (!isPod && secretRef && !secretRef.name) problems.required(`${at}.secretRef.name`);
  if (initiatorName !== undefined) checkName(`${at}.initiatorname`, initiatorName);
  if (isPod) checkLength();
}
