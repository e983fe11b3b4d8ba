import { volumesOfPods } from "./all-types.ts";
import { describeOn } from "./runtimes.ts";

describeOn("1.6", "volumes of pods", volumesOfPods);
