import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { lazy, useState } from 'react';
import { buildAgentQuery } from '../../api/queries';
import { useCurrentUser, usePermission } from '../../api/session';
import { useAgentEvents } from '../../live/use-agent-events';
import { useThrottled } from '../../live/use-throttled';
import { AgentMenu } from '../../parts/agent-menu';
import { ErrorNote } from '../../ui/error-note';
import { Page, Skeleton } from '../../ui/page';
import { AgentStatus } from '../../parts/agent-status';
import { Tabs } from '../../ui/tabs';
import { AgentName } from '../agents/agent-name';
import { Overview } from './overview';
import { IdleStopControls } from './stop-or-keep';

// The module of each of these tabs is loaded when the tab is opened.
const Commands = lazy(async () => ({ default: (await import('./commands')).Commands }));
const Recordings = lazy(async () => ({ default: (await import('./recordings')).Recordings }));
const Imaging = lazy(async () => ({ default: (await import('./imaging')).Imaging }));
const Chat = lazy(async () => ({ default: (await import('./chat')).Chat }));
const AgentSessions = lazy(async () => ({ default: (await import('./agent-sessions')).AgentSessions }));
const MachineTime = lazy(async () => ({ default: (await import('./machine-time')).MachineTime }));
const AgentSettings = lazy(async () => ({ default: (await import('./settings')).AgentSettings }));

export function AgentPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const { data: agent, error, refetch } = useQuery(buildAgentQuery(id));
  const [isRenaming, setRenaming] = useState(false);
  const mayControl = usePermission('agents.control');
  const { permissions } = useCurrentUser().user;
  useLiveAgent(id);
  if (!agent) {
    return (
      <Page title="Agent">
        {error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={10} />}
      </Page>
    );
  }
  const isOver = agent.status === 'terminated';
  const mayAsk = mayControl && !isOver;
  return (
    <Page
      title={agent.name}
      aside={<AgentStatus agent={agent} large />}
      actions={
        <>
          {mayAsk && <IdleStopControls agent={agent} />}
          <AgentMenu agent={agent} rename={() => setRenaming(true)} />
        </>
      }
    >
      {isRenaming && <AgentName agent={agent} done={() => setRenaming(false)} />}
      <Tabs
        label={`Sections of ${agent.name}`}
        tabs={[
          { id: 'overview', name: 'Overview', needs: null, content: <Overview agent={agent} mayAsk={mayAsk} /> },
          { id: 'commands', name: 'Commands', needs: null, content: <Commands agentId={id} /> },
          {
            id: 'recordings',
            name: 'Recordings',
            needs: 'runs.read' as const,
            content: <Recordings agentId={id} mayAsk={mayAsk} />,
          },
          {
            id: 'imaging',
            name: 'Imaging',
            needs: 'runs.read' as const,
            content: <Imaging agentId={id} mayAsk={mayAsk} />,
          },
          { id: 'chat', name: 'Chat', needs: 'assistant.use' as const, content: <Chat agentId={id} /> },
          { id: 'autopilot', name: 'Autopilot', needs: null, content: <AgentSessions agentId={id} mayAsk={mayAsk} /> },
          {
            id: 'machine-time',
            name: 'Machine time',
            needs: 'costs.read' as const,
            content: <MachineTime agentId={id} />,
          },
          { id: 'settings', name: 'Settings', needs: null, content: <AgentSettings agent={agent} /> },
        ].filter(({ needs }) => needs === null || permissions.includes(needs))}
      />
    </Page>
  );
}

/** Refetches the agent when its stream reports an event, so that the header never shows event data itself. */
function useLiveAgent(id: string): void {
  const client = useQueryClient();
  const refresh = useThrottled(() => client.invalidateQueries({ queryKey: ['agent', id] }), 500);
  useAgentEvents(id, ({ type }) => {
    if (type !== 'log') refresh();
  });
}
