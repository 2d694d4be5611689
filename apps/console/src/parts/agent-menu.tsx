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
import { usePermission } from '../api/session';
import { ConfirmDialog } from '../ui/dialog';
import { ActionMenu } from '../ui/menu';
import { showToast, showErrorToast } from '../ui/toast';

type Deed = 'Stop' | 'Reboot' | 'Terminate';
const actionOf: Record<Deed, AgentActionBody['action']> = { Stop: 'stop', Reboot: 'reboot', Terminate: 'terminate' };

/** The actions on an agent that the user's role and the agent's status allow. */
export function AgentMenu({ agent, rename }: { agent: Agent; rename?: () => void }) {
  const [chosen, setChosen] = useState<Deed | null>(null);
  const mayControl = usePermission('agents.control');
  const mayAdminister = usePermission('agents.admin');
  const applyChange = useApplyChange(agent);
  const { status } = agent;
  const isOff = ['stopped', 'offline'].includes(status);
  const isOver = status === 'terminated';
  return (
    <>
      <ActionMenu
        name={agent.name}
        actions={[
          mayAdminister && !!rename && { label: 'Rename', run: rename },
          mayControl &&
            !isOver && {
              label: agent.idleAutoStopExempt ? 'Unpin' : 'Pin',
              run: () => applyChange(createPinChange(agent, !agent.idleAutoStopExempt)),
            },
          mayControl &&
            !isOver && {
              label: 'Start',
              off: !isOff && `The agent is ${status}.`,
              run: () => applyChange({ what: 'is being started', act: () => sendAgentAction(agent, 'start') }),
            },
          mayControl &&
            !isOver && {
              label: 'Stop',
              off: status === 'stopped' && 'The agent is stopped.',
              run: () => setChosen('Stop'),
            },
          mayControl && !isOver && { label: 'Reboot', run: () => setChosen('Reboot') },
          mayControl &&
            !isOver &&
            (status === 'draining'
              ? { label: 'Undrain', run: () => applyChange(createDrainChange(agent, false)) }
              : { label: 'Drain', run: () => applyChange(createDrainChange(agent, true)) }),
          mayAdminister && !isOver && { label: 'Terminate', danger: true, run: () => setChosen('Terminate') },
        ]}
      />
      {chosen && <AgentActionDialog deed={chosen} agent={agent} close={() => setChosen(null)} />}
    </>
  );
}

function AgentActionDialog({ deed, agent: now, close }: { deed: Deed; agent: Agent; close: () => void }) {
  const client = useQueryClient();
  // The agent as it was when the dialog opened. A run that started later is not ended, because the user was not warned
  // about it.
  const [agent] = useState(now);
  const hasRun = agent.currentJobId !== null;
  return (
    <ConfirmDialog
      open
      onOpenChange={close}
      title={`${deed} ${agent.name}?`}
      verb={deed}
      act={async () => {
        await sendAgentAction(agent, actionOf[deed], hasRun);
        await refreshAgent(client, agent.id);
        showToast(`${deed} requested for ${agent.name}.`);
      }}
    >
      {hasRun ? (
        <p>
          The agent is executing a run now (<code className="font-mono text-xs">{agent.currentJobId}</code>). The run
          fails, and is retried if it has retries left.
        </p>
      ) : (
        <p>The agent is executing no run now. Queued runs wait until it is online again.</p>
      )}
      {deed === 'Terminate' && <p className="mt-2 font-medium text-bad">The machine is terminated permanently.</p>}
    </ConfirmDialog>
  );
}

/** Sends the action. With `force`, the action also ends the current run; a reboot always ends the run. */
function sendAgentAction({ id }: Agent, action: AgentActionBody['action'], force = false) {
  const forced = force && action !== 'reboot' ? { force } : {};
  return agentActionsAct({ path: { id }, body: { action, ...forced } });
}

/** Makes a change without a confirmation, and offers to undo it if that is possible. */
interface Change {
  what: string;
  act: () => Promise<unknown>;
  undo?: () => Change;
}

function createPinChange(agent: Agent, exempt: boolean): Change {
  return {
    what: exempt ? 'is pinned: it is not stopped when idle' : 'is no longer pinned',
    act: () => agentActionsExempt({ path: { id: agent.id }, body: { exempt } }),
    undo: () => createPinChange(agent, !exempt),
  };
}

function createDrainChange(agent: Agent, isDrained: boolean): Change {
  const path = { id: agent.id };
  return {
    what: isDrained ? 'is draining: it accepts no new runs' : 'accepts runs again',
    act: () => (isDrained ? agentDrainDrain({ path, body: { mode: 'finish' } }) : agentDrainUndrain({ path })),
    undo: () => createDrainChange(agent, !isDrained),
  };
}

function useApplyChange(agent: Agent): (change: Change) => void {
  const client = useQueryClient();
  const applyChange = async ({ what, act: deed, undo }: Change) => {
    try {
      await deed();
      showToast(`${agent.name} ${what}.`, undo && (() => void applyChange(undo())));
    } catch (error) {
      showErrorToast(error, agent.name);
    }
    await refreshAgent(client, agent.id);
  };
  return (wanted) => void applyChange(wanted);
}

function refreshAgent(client: ReturnType<typeof useQueryClient>, id: string) {
  return Promise.all([
    client.invalidateQueries({ queryKey: ['agents'] }),
    client.invalidateQueries({ queryKey: ['agent', id] }),
  ]);
}
