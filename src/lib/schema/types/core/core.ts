import { TypePackage } from "../../type-package.ts";
import { meta } from "../meta.ts";
import { containerTypes } from "./container.ts";
import { handlerTypes } from "./handlers.ts";
import { inTreeVolumeTypes } from "./in-tree-volumes.ts";
import { nodeTypes } from "./node.ts";
import { objectTypes } from "./objects.ts";
import { persistentVolumeTypes } from "./persistent-volume.ts";
import { podTypes } from "./pod.ts";
import { podStatusTypes } from "./pod-status.ts";
import { securityTypes } from "./security.ts";
import { serviceTypes } from "./service.ts";
import { volumeTypes } from "./volume.ts";

export const core = new TypePackage({
  name: "core",
  group: "",
  version: "v1",
  uses: [meta],
  text: [
    ...[podTypes, podStatusTypes, containerTypes, handlerTypes, securityTypes, volumeTypes],
    ...[persistentVolumeTypes, inTreeVolumeTypes, nodeTypes, serviceTypes, objectTypes],
  ].join("\n"),
});
