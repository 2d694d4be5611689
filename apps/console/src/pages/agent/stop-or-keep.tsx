import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Agent, agentActionsAct, agentActionsActivity } from '../../api/generated';
import { Time } from '../../format/time';
import { Button } from '../../ui/button';
import { ConfirmDialog } from '../../ui/dialog';
import { toast, toastRefused } from '../../ui/toast';

/** When it stops by itself, and the two things that one then wants: not yet, or at once. */
export function StopOrKeep({ agent }: { agent: Agent }) {
  /** As it was when it was asked: what it says is what is done, whatever the machine begins meanwhile. */
  const [asked, setAsked] = useState<Agent | null>(null);
  const client = useQueryClient();
  const refresh = () => client.invalidateQueries({ queryKey: ['agent', agent.id] });
  const isOn = agent.status === 'online';
  if (!isOn && !asked) return null;
  const keep = async () => {
    try {
      await agentActionsActivity({ path: { id: agent.id }, body: { kind: 'console' } });
      toast(`${agent.name} stays on: its idle time begins anew.`);
    } catch (error) {
      toastRefused(error);
    }
    await refresh();
  };
  return (
    <>
      {isOn && agent.stopAt && (
        <>
          <span className="self-center text-dim">
            Stops <Time at={agent.stopAt} relative />
          </span>
          <Button onClick={() => void keep()}>Keep on</Button>
        </>
      )}
      {isOn && <Button onClick={() => setAsked(agent)}>Stop now</Button>}
      {asked && (
        <ConfirmDialog
          open
          onOpenChange={() => setAsked(null)}
          title={`Stop ${asked.name}?`}
          verb="Stop"
          act={async () => {
            const force = asked.currentJobId !== null;
            await agentActionsAct({ path: { id: asked.id }, body: { action: 'stop', ...(force ? { force } : {}) } });
            await refresh();
            toast(`${asked.name} is being stopped.`);
          }}
        >
          {asked.currentJobId ? 'Its run ends as failed, and is retried if it has retries left.' : 'It has no run now.'}
        </ConfirmDialog>
      )}
    </>
  );
}
