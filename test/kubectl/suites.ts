import { applying } from "./applying.ts";
import { applyingServerSide } from "./applying-server-side.ts";
import { attaching } from "./attaching.ts";
import { changing } from "./changing.ts";
import { copying } from "./copying.ts";
import { creating } from "./creating.ts";
import { deleting } from "./deleting.ts";
import { describing } from "./describing.ts";
import { discovering } from "./discovering.ts";
import { events } from "./events.ts";
import { executing } from "./executing.ts";
import { explaining } from "./explaining.ts";
import { forwarding } from "./forwarding.ts";
import { getting } from "./getting.ts";
import { logging } from "./logging.ts";
import { measuring } from "./measuring.ts";
import { nodes } from "./nodes.ts";
import { rejecting } from "./rejecting.ts";
import { resizing } from "./resizing.ts";
import { running } from "./running.ts";
import { signing } from "./signing.ts";
import { waiting } from "./waiting.ts";
import { why } from "./why.ts";

/** All suites; those that change the node are last. */
export const suites = [
  discovering,
  getting,
  describing,
  creating,
  running,
  applying,
  applyingServerSide,
  changing,
  resizing,
  waiting,
  events,
  explaining,
  why,
  deleting,
  rejecting,
  signing,
  logging,
  executing,
  attaching,
  copying,
  forwarding,
  measuring,
  nodes,
];
