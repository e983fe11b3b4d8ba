// Runs in a guest: logs in to an iSCSI target, with the password in CHAP_PASSWORD, or without one. The arguments are target, portal and user.
import { Iscsiadm } from "../../src/kubelet/pods/volumes/iscsi/iscsiadm.ts";
import { systemCommands } from "../../src/lib/host/system-commands.ts";

const [Iqn = "", portal = "", user = ""] = process.argv.slice(2);
const password = process.env.CHAP_PASSWORD ?? "";
const disk = {
  VolName: "v",
  Portals: [portal],
  Iqn,
  Lun: "1",
  InitIface: "default",
  Iface: "default",
  InitiatorName: "",
};
const values = { "node.session.auth.username": user, "node.session.auth.password": password };
const chap = { discovery: false, session: password !== "", values };
await new Iscsiadm(systemCommands(), new AbortController().signal).login(disk, portal, chap);
