import { describeKubectl } from "./bench.ts";
import { suites } from "./suites.ts";

describeKubectl("1.36", "2.x", suites);
