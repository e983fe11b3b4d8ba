import { describeKubectl } from "./kubectl-suite.ts";
import { suites } from "./suites.ts";

describeKubectl("1.32", "1.6", suites);
