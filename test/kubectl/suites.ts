import { applying } from "./applying.ts";
import { applyingServerSide } from "./applying-server-side.ts";
import { asking } from "./asking.ts";
import { changing } from "./changing.ts";
import { creating } from "./creating.ts";
import { deleting } from "./deleting.ts";
import { describing } from "./describing.ts";
import { getting } from "./getting.ts";
import { happenings } from "./happenings.ts";
import { nodes } from "./nodes.ts";
import { refusing } from "./refusing.ts";
import { running } from "./running.ts";
import { signing } from "./signing.ts";
import { streaming } from "./streaming.ts";
import { waiting } from "./waiting.ts";

/** Everything that a user types; last what changes the node for all. */
export const suites = [
  asking,
  getting,
  describing,
  creating,
  running,
  applying,
  applyingServerSide,
  changing,
  waiting,
  happenings,
  deleting,
  refusing,
  signing,
  streaming,
  nodes,
];
