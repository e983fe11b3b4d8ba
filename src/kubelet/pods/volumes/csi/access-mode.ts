import { VolumeCapability_AccessMode_Mode as Mode } from "../../../../lib/gen/csi/v1/csi_pb.js";

/** The CSI access mode of a PersistentVolume's access mode. Older drivers know only SINGLE_NODE_WRITER. */
export function accessModeFor(mode: string, singleNodeMultiWriter: boolean): Mode {
  switch (mode) {
    case "ReadWriteOnce":
      return singleNodeMultiWriter ? Mode.SINGLE_NODE_MULTI_WRITER : Mode.SINGLE_NODE_WRITER;
    case "ReadWriteOncePod":
      return singleNodeMultiWriter ? Mode.SINGLE_NODE_SINGLE_WRITER : Mode.SINGLE_NODE_WRITER;
    case "ReadOnlyMany":
      return Mode.MULTI_NODE_READER_ONLY;
    case "ReadWriteMany":
      return Mode.MULTI_NODE_MULTI_WRITER;
    default:
      return Mode.UNKNOWN;
  }
}
