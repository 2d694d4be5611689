import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { type AutopilotSession, autopilotSessionsRead } from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { usePermission } from '../../api/session';
import { formatCount, formatMoney } from '../../format/format';
import { Duration, Time } from '../../format/time';
import { useSessionEvents } from '../../live/use-session-events';
import { useThrottled } from '../../live/use-throttled';
import { CancelSessionDialog } from '../../parts/autopilot/cancel-session';
import { AgentLink, WorkflowLink } from '../../parts/names';
import { isSessionOver } from '../../parts/autopilot/session-words';
import { Button } from '../../ui/button';
import { ErrorNote, ErrorWithAdvice } from '../../ui/error-note';
import { FactList, Page, Panel, Progress, Skeleton } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { SessionQuestion } from './asks';
import { SessionSteps } from './steps';

export function AutopilotSessionPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const client = useQueryClient();
  const mayControl = usePermission('agents.control');
  const [isEnding, setEnding] = useState(false);
  const {
    data: session,
    error,
    refetch,
  } = useQuery({
    queryKey: ['autopilot-session', id],
    queryFn: ({ signal }) => autopilotSessionsRead({ path: { id }, signal }),
    refetchInterval: ({ state }) => (state.data && isSessionOver(state.data.status) ? false : pollMs),
  });
  const look = useThrottled(() => client.invalidateQueries({ queryKey: ['autopilot-session', id] }), 300);
  const isOver = !session || isSessionOver(session.status);
  useSessionEvents(isOver ? undefined : { agentId: session.agentId, sessionId: id }, look);
  if (!session) {
    return (
      <Page title="Session">
        {error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={10} />}
      </Page>
    );
  }
  const { task, status, pausedFor, metrics } = session;
  return (
    <Page
      title={task?.title ?? 'The task is being written'}
      aside={<StatusMark status={status} testId="session-status" large />}
      actions={
        mayControl &&
        !isOver && (
          <Button look="danger" disabled={session.cancelling} onClick={() => setEnding(true)}>
            {session.cancelling ? 'Being cancelled' : 'Cancel session'}
          </Button>
        )
      }
    >
      {metrics.steps > 0 && (
        <div className="flex items-center gap-3">
          <Progress percent={(100 * metrics.passed) / metrics.steps} label="Progress" />
          <span className="shrink-0 text-dim tabular-nums">
            {metrics.passed} of {metrics.steps} steps
          </span>
        </div>
      )}
      {status === 'paused' && pausedFor && (
        <SessionQuestion key={pausedFor.question} session={session} pause={pausedFor} />
      )}
      <ErrorWithAdvice error={session.error} code={session.code} />
      {session.workflowId && (
        <p className="rounded-control bg-good-soft p-2.5">
          The session created the workflow <WorkflowLink id={session.workflowId} />, which runs without a model.
        </p>
      )}
      <div className="grid gap-4 xl:grid-cols-[minmax(0,1fr)_minmax(0,22rem)]">
        <SessionSteps session={session} />
        <SessionDetails session={session} />
      </div>
      <CancelSessionDialog
        session={{ sessionId: id, agentId: session.agentId, title: task?.title }}
        open={isEnding}
        onOpenChange={setEnding}
      />
    </Page>
  );
}

function SessionDetails({ session }: { session: AutopilotSession }) {
  const { task, metrics, agentId, createdAt, finishedAt, sessionId } = session;
  const startUrl = task?.startUrl;
  return (
    <Panel title="About">
      {task && (
        <p dir="auto" className="mb-3 break-words whitespace-pre-wrap">
          {task.goal}
        </p>
      )}
      <FactList
        facts={[
          ['Agent', <AgentLink id={agentId} />],
          ['Start URL', startUrl ? <bdi className="break-all">{startUrl}</bdi> : '–'],
          ['Success condition', task?.success.description ? <bdi>{task.success.description}</bdi> : '–'],
          ['Started', <Time at={createdAt} />],
          ['Ended', <Time at={finishedAt} />],
          ['Duration', <Duration ms={metrics.durationMs} />],
          ['Attempts', formatCount(metrics.attempts)],
          ['Steps with new code', formatCount(metrics.healed)],
          ['Model calls', formatCount(metrics.modelCalls)],
          ['Tokens', `${formatCount(metrics.inputTokens)} in, ${formatCount(metrics.outputTokens)} out`],
          ['Cost', formatMoney(metrics.costUsd)],
          ['Id', <code className="font-mono text-xs break-all">{sessionId}</code>],
        ]}
      />
    </Panel>
  );
}
