import type { PodSummary } from "../../protocol.ts";
import { deletePod, restartContainer } from "../browser/api.ts";
import { ConfirmDialog } from "../parts/dialog.tsx";
import { notify } from "../parts/notices.tsx";

export function DeletePodDialog({ pod, onClose }: { pod: PodSummary; onClose: () => void }) {
  return (
    <ConfirmDialog
      title={`Delete ${pod.namespace}/${pod.name}?`}
      text="Its containers are stopped, with its grace period, and its volumes of type emptyDir and its logs are removed. This cannot be undone."
      action="Delete pod"
      danger
      onConfirm={() => report(deletePod(pod.uid, {}))}
      onClose={onClose}
    />
  );
}

export function RestartContainerDialog(props: { uid: string; container: string; onClose: () => void }) {
  const { uid, container, onClose } = props;
  return (
    <ConfirmDialog
      title={`Restart container ${container}?`}
      text="The container is stopped, with the grace period of its pod, and started again as its restart policy allows."
      action="Restart container"
      onConfirm={() => report(restartContainer(uid, container))}
      onClose={onClose}
    />
  );
}

async function report(change: Promise<{ readonly message: string }>): Promise<void> {
  try {
    notify((await change).message);
  } catch (error) {
    notify((error as Error).message, true);
  }
}
