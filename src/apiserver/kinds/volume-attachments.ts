import { dnsSubdomain } from "../../lib/base/name-rules.ts";
import type { VolumeAttachmentSource, VolumeAttachmentStatus } from "../../lib/gen/kubernetes/storage.d.ts";
import { checkDriverName } from "./csi-nodes.ts";
import { defineKind } from "./define.ts";
import type { FieldProblems } from "./field-problems.ts";
import { nameIsSubdomain } from "./names.ts";

const metadataBytes = 256 * 1024;
const messageBytes = 1024;
const oneSource = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";

export const volumeAttachments = defineKind({
  group: "storage.k8s.io",
  version: "v1",
  name: "volumeattachments",
  singular: "volumeattachment",
  kind: "VolumeAttachment",
  namespaced: false,
  nameRule: nameIsSubdomain,
  defaults(draft) {
    draft.spec ??= {};
    draft.status = { attached: false, ...draft.status };
  },
  check({ spec, status }, problems) {
    checkDriverName(spec.attacher, "spec.attacher", problems);
    checkSource(spec.source ?? {}, problems);
    problems.check("spec.nodeName", spec.nodeName ?? "", dnsSubdomain(spec.nodeName ?? ""));
    checkStatus(status, problems);
  },
  checkUpdate(draft, oldObject, problems) {
    problems.immutable("spec", draft.spec, oldObject.spec);
  },
  status: {
    atCreation: { attached: false },
    checkUpdate: ({ status }, _oldObject, problems) => checkStatus(status, problems),
  },
});

function checkSource(source: VolumeAttachmentSource, problems: FieldProblems): void {
  const { inlineVolumeSpec: inline, persistentVolumeName: name } = source;
  if (inline === undefined && name === undefined) problems.required("spec.source", oneSource);
  else if (inline !== undefined && name !== undefined) problems.forbidden("spec.source", oneSource);
  else if (name === "")
    problems.required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName");
  if (name !== undefined) problems.check("spec.source.persistentVolumeName", name, dnsSubdomain(name));
}

function checkStatus(status: VolumeAttachmentStatus | undefined, problems: FieldProblems): void {
  let bytes = 0;
  for (const [key, value] of Object.entries(status?.attachmentMetadata ?? {}))
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  if (bytes > metadataBytes) problems.tooLong("status.attachmentMetadata", metadataBytes);
  for (const error of ["attachError", "detachError"] as const)
    if (Buffer.byteLength(status?.[error]?.message ?? "") > messageBytes)
      problems.tooLong(`status.${error}.message`, metadataBytes);
}
