import { describeKubectl } from "./kubectl-suite.ts";
import { suites } from "./suites.ts";

describeKubectl("1.36", "2.x", suites);
