import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Agent, agentActionsAct, agentActionsActivity } from '../../api/generated';
import { Time } from '../../format/time';
import { Button } from '../../ui/button';
import { ConfirmDialog } from '../../ui/dialog';
import { showToast, showErrorToast } from '../../ui/toast';

/** Time of the automatic stop, with buttons to postpone it or to stop now. */
export function IdleStopControls({ agent }: { agent: Agent }) {
  /**
   * The agent as it was when the dialog opened, so that the request has the effect that the dialog described, even if a
   * run has started since.
   */
  const [confirming, setConfirming] = useState<Agent | null>(null);
  const client = useQueryClient();
  const refreshAgent = () => client.invalidateQueries({ queryKey: ['agent', agent.id] });
  const isOn = agent.status === 'online';
  if (!isOn && !confirming) return null;
  const keepRunning = async () => {
    try {
      await agentActionsActivity({ path: { id: agent.id }, body: { kind: 'console' } });
      showToast(`${agent.name} stays on. The idle time of its machine starts again from zero.`);
    } catch (error) {
      showErrorToast(error);
    }
    await refreshAgent();
  };
  return (
    <>
      {isOn && agent.stopAt && (
        <>
          <span className="self-center text-dim">
            Stops <Time at={agent.stopAt} relative />
          </span>
          <Button onClick={() => void keepRunning()}>Keep on</Button>
        </>
      )}
      {isOn && <Button onClick={() => setConfirming(agent)}>Stop now</Button>}
      {confirming && (
        <ConfirmDialog
          open
          onOpenChange={() => setConfirming(null)}
          title={`Stop ${confirming.name}?`}
          verb="Stop"
          act={async () => {
            const force = confirming.currentJobId !== null;
            await agentActionsAct({
              path: { id: confirming.id },
              body: { action: 'stop', ...(force ? { force } : {}) },
            });
            await refreshAgent();
            showToast(`${confirming.name} is being stopped.`);
          }}
        >
          {confirming.currentJobId
            ? 'The run that is in progress on it fails, and is retried if it has retries left.'
            : 'No run is in progress on it.'}
        </ConfirmDialog>
      )}
    </>
  );
}
