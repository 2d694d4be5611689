import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  type Agent,
  agentActionsAct,
  agentActionsExempt,
  agentDrainDrain,
  agentDrainUndrain,
  type AgentActionBody,
} from '../api/generated';
import { useMay } from '../api/session';
import { ConfirmDialog } from '../ui/dialog';
import { ActionMenu } from '../ui/menu';
import { toast, toastRefused } from '../ui/toast';

type Deed = 'Stop' | 'Reboot' | 'Terminate';
const actionOf: Record<Deed, AgentActionBody['action']> = { Stop: 'stop', Reboot: 'reboot', Terminate: 'terminate' };

/** What may be done with an agent, by whoever looks at it and as it is now. */
export function AgentMenu({ agent, rename }: { agent: Agent; rename?: () => void }) {
  const [asked, setAsked] = useState<Deed | null>(null);
  const isMember = useMay('member');
  const isAdmin = useMay('admin');
  const change = useChange(agent);
  const { status } = agent;
  const isOff = ['stopped', 'offline'].includes(status);
  const isOver = status === 'terminated';
  return (
    <>
      <ActionMenu
        name={agent.name}
        actions={[
          isAdmin && !!rename && { label: 'Rename', run: rename },
          isMember &&
            !isOver && {
              label: agent.idleAutoStopExempt ? 'Unpin' : 'Pin',
              run: () => change(pinned(agent, !agent.idleAutoStopExempt)),
            },
          isMember &&
            !isOver && {
              label: 'Start',
              off: !isOff && `It is ${status}.`,
              run: () => change({ what: 'is being started', act: () => act(agent, 'start') }),
            },
          isMember &&
            !isOver && { label: 'Stop', off: status === 'stopped' && 'It is stopped.', run: () => setAsked('Stop') },
          isMember && !isOver && { label: 'Reboot', run: () => setAsked('Reboot') },
          isMember &&
            !isOver &&
            (status === 'draining'
              ? { label: 'Undrain', run: () => change(drained(agent, false)) }
              : { label: 'Drain', run: () => change(drained(agent, true)) }),
          isAdmin && !isOver && { label: 'Terminate', danger: true, run: () => setAsked('Terminate') },
        ]}
      />
      {asked && <AgentDeed deed={asked} agent={agent} close={() => setAsked(null)} />}
    </>
  );
}

function AgentDeed({ deed, agent: now, close }: { deed: Deed; agent: Agent; close: () => void }) {
  const client = useQueryClient();
  // As it was when it was asked: a run that begins meanwhile is not ended unsaid.
  const [agent] = useState(now);
  const hasRun = agent.currentJobId !== null;
  return (
    <ConfirmDialog
      open
      onOpenChange={close}
      title={`${deed} ${agent.name}?`}
      verb={deed}
      act={async () => {
        await act(agent, actionOf[deed], hasRun);
        await refresh(client, agent.id);
        toast(`${deed} requested for ${agent.name}.`);
      }}
    >
      {hasRun ? (
        <p>
          It is on a run now (<code className="font-mono text-xs">{agent.currentJobId}</code>), which fails with that
          and is retried if it has retries left.
        </p>
      ) : (
        <p>It has no run now. Queued runs wait until it is back.</p>
      )}
      {deed === 'Terminate' && <p className="mt-2 font-medium text-bad">The machine is given back for good.</p>}
    </ConfirmDialog>
  );
}

/** `force` ends the run that it is on; a reboot always does. */
function act({ id }: Agent, action: AgentActionBody['action'], force = false) {
  const forced = force && action !== 'reboot' ? { force } : {};
  return agentActionsAct({ path: { id }, body: { action, ...forced } });
}

/** What is done at once, and what undoes it where something does. */
interface Change {
  what: string;
  act: () => Promise<unknown>;
  undo?: () => Change;
}

function pinned(agent: Agent, exempt: boolean): Change {
  return {
    what: exempt ? 'is pinned: it is not stopped for being idle' : 'is no longer pinned',
    act: () => agentActionsExempt({ path: { id: agent.id }, body: { exempt } }),
    undo: () => pinned(agent, !exempt),
  };
}

function drained(agent: Agent, isDrained: boolean): Change {
  const path = { id: agent.id };
  return {
    what: isDrained ? 'takes no new runs' : 'takes runs again',
    act: () => (isDrained ? agentDrainDrain({ path, body: { mode: 'finish' } }) : agentDrainUndrain({ path })),
    undo: () => drained(agent, !isDrained),
  };
}

function useChange(agent: Agent): (change: Change) => void {
  const client = useQueryClient();
  const change = async ({ what, act: deed, undo }: Change) => {
    try {
      await deed();
      toast(`${agent.name} ${what}.`, undo && (() => void change(undo())));
    } catch (error) {
      toastRefused(error, agent.name);
    }
    await refresh(client, agent.id);
  };
  return (wanted) => void change(wanted);
}

function refresh(client: ReturnType<typeof useQueryClient>, id: string) {
  return Promise.all([
    client.invalidateQueries({ queryKey: ['agents'] }),
    client.invalidateQueries({ queryKey: ['agent', id] }),
  ]);
}
