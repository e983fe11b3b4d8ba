import { volumesOfPods } from "./all-types.ts";
import { describeOn } from "./runtimes.ts";

describeOn("2.x", "volumes of pods", volumesOfPods);
