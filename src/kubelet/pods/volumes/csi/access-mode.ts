import { VolumeCapability_AccessMode_Mode as Mode } from "../../../../lib/gen/csi/v1/csi_pb.js";

/** A PersistentVolume's access mode in CSI's words. Older drivers know only one kind of writer on one node. */
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
