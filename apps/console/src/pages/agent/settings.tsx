import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import {
  type Agent,
  agentActionsExempt,
  type AgentLiveStatus,
  agentActionsStatus,
  agentsRead,
  agentsUpdate,
} from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { settingsQuery, usePermission } from '../../api/session';
import { Time } from '../../format/time';
import { Button } from '../../ui/button';
import { ErrorNote } from '../../ui/error-note';
import { Form, TextField } from '../../ui/form';
import { FactList, Panel, Skeleton } from '../../ui/page';
import { showToast, showErrorToast } from '../../ui/toast';
import { Placement } from './placement';
import { Savings } from './savings';
import { WorkerKeys } from './worker-keys';

/** Settings of an agent: name and labels, idle stop, machine and worker keys. */
export function AgentSettings({ agent }: { agent: Agent }) {
  const mayAdminister = usePermission('agents.admin');
  const isOver = agent.status === 'terminated';
  return (
    <div className="grid gap-4 xl:grid-cols-2">
      <div className="flex min-w-0 flex-col gap-4">
        {mayAdminister && !isOver && <NameAndLabels agent={agent} />}
        <Placement agent={agent} />
        <IdleStop agent={agent} />
      </div>
      <div className="flex min-w-0 flex-col gap-4">
        <MachineSettings agent={agent} />
        {mayAdminister && !isOver && <WorkerKeys agent={agent} />}
      </div>
    </div>
  );
}

/** Form for an agent's name and labels. It shows changes by other users until this user edits the form. */
function NameAndLabels({ agent }: { agent: Agent }) {
  const client = useQueryClient();
  const [{ base, turn, isTouched }, setState] = useState({ base: agent, turn: 0, isTouched: false });
  const isOther = agent.name !== base.name || agent.labels.join() !== base.labels.join();
  if (isOther && !isTouched) setState({ base: agent, turn: turn + 1, isTouched: false });
  return (
    <Panel title="Name and labels" unnamed>
      <div onInput={() => setState({ base, turn, isTouched: true })}>
        <Form
          key={turn}
          submit="Save"
          onSubmit={async (values) => {
            const name = values.readText('name');
            const labels = values
              .readText('labels')
              .split(',')
              .map((label) => label.trim())
              .filter(Boolean);
            // Only edited fields are sent, so that changes by other users are kept.
            const body = {
              ...(name === base.name ? {} : { name }),
              ...(labels.join() === base.labels.join() ? {} : { labels }),
            };
            const path = { id: agent.id };
            const changed = await (Object.keys(body).length > 0 ? agentsUpdate({ path, body }) : agentsRead({ path }));
            return { changed, isShown: changed.name === name && changed.labels.join() === labels.join() };
          }}
          onDone={({ changed, isShown }) => {
            setState({ base: changed, turn: isShown ? turn : turn + 1, isTouched: false });
            client.setQueryData(['agent', agent.id], changed);
            void client.invalidateQueries({ queryKey: ['agents'] });
            showToast('Saved.');
          }}
        >
          <TextField label="Name" name="name" defaultValue={base.name} required maxLength={100} autoComplete="off" />
          <TextField
            label="Labels"
            name="labels"
            defaultValue={base.labels.join(', ')}
            hint="Separate labels with commas. Runs can require labels of their machine, and lists can be filtered by label."
            autoComplete="off"
          />
          {isOther && isTouched && (
            <p role="status" className="rounded-control bg-warn-soft p-2.5">
              Another user has changed this agent: <bdi className="font-medium">{agent.name}</bdi>
              {agent.labels.length > 0 && (
                <>
                  , with the labels <bdi>{agent.labels.join(', ')}</bdi>
                </>
              )}
              . “Save” changes only what you have edited.
            </p>
          )}
        </Form>
      </div>
    </Panel>
  );
}

function IdleStop({ agent }: { agent: Agent }) {
  const { data: settings } = useQuery(settingsQuery);
  const mayControl = usePermission('agents.control');
  const client = useQueryClient();
  const isPinned = agent.idleAutoStopExempt;
  const setPinned = async (exempt: boolean) => {
    try {
      await agentActionsExempt({ path: { id: agent.id }, body: { exempt } });
      showToast(exempt ? 'The agent is pinned.' : 'The agent is no longer pinned.', () => void setPinned(!exempt));
    } catch (error) {
      showErrorToast(error);
    }
    await client.invalidateQueries({ queryKey: ['agent', agent.id] });
  };
  return (
    <Panel
      title="Idle stop"
      actions={
        mayControl &&
        agent.status !== 'terminated' && (
          <Button onClick={() => void setPinned(!isPinned)}>{isPinned ? 'Unpin' : 'Pin'}</Button>
        )
      }
    >
      <p className="mb-3">
        {isPinned
          ? 'The agent is pinned: its machine does not stop when it is idle.'
          : settings && !settings.autoStopEnabled
            ? 'The organization does not stop idle machines. An admin can change that in the settings.'
            : 'The machine of the agent stops after the idle time that the policy below allows.'}
      </p>
      {!settings && <Skeleton rows={2} />}
      {settings && (
        <FactList
          facts={[
            [
              'Policy',
              settings.idleStopPolicy === 'adaptive'
                ? `adaptive: depends on the next likely run, after ${settings.idleStopMinutes} min at the latest`
                : `fixed: after ${settings.idleStopMinutes} min`,
            ],
            ['Starts for runs', settings.vmAutoWakeOnJob ? 'yes' : 'no'],
            [
              'Starts before schedules',
              settings.prewake ? 'yes, early enough to have booted at the scheduled time' : 'no',
            ],
            ['Stops', agent.stopAt ? <Time at={agent.stopAt} /> : '–'],
          ]}
        />
      )}
      <p className="mt-2 text-dim">
        The policy applies to all machines. Change it in the{' '}
        <Link to="/settings" className="text-accent underline">
          settings
        </Link>
        .
      </p>
      <Savings agentId={agent.id} />
    </Panel>
  );
}

function MachineSettings({ agent }: { agent: Agent }) {
  const { data: live, error } = useQuery({
    queryKey: ['agent', agent.id, 'status'],
    queryFn: ({ signal }) => agentActionsStatus({ path: { id: agent.id }, signal }),
    refetchInterval: pollMs,
  });
  return (
    <Panel title="Machine">
      {error && !live && <ErrorNote error={error} />}
      <FactList
        facts={[
          ['Provider', agent.provider],
          ['Name at the provider', agent.providerRef ? <bdi className="break-all">{agent.providerRef}</bdi> : '–'],
          ['State at the provider', describeMachineState(agent, live)],
          ['IP address', live?.vmIp ?? agent.vmIp ?? '–'],
          [
            'Tunnel',
            agent.publicTunnelUrl ? (
              <bdi className="break-all">{agent.publicTunnelUrl}</bdi>
            ) : (
              'none: the worker polls for commands'
            ),
          ],
          ['Worker', agent.workerVersion ?? '–'],
          ['Last seen', <Time at={agent.lastSeen} relative />],
          ['Created', <Time at={agent.createdAt} />],
          ['Id', <code className="font-mono text-xs break-all">{agent.id}</code>],
        ]}
      />
    </Panel>
  );
}

function describeMachineState(agent: Agent, live: AgentLiveStatus | undefined): string {
  const state = live?.vmState ?? agent.vmState ?? '–';
  return live?.stale ? `${state} (last known: the provider does not answer)` : state;
}
