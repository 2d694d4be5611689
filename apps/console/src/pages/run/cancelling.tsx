import { useQuery } from '@tanstack/react-query';
import { readFirstItems } from '../../api/read-all-items';
import { type AgentLogEntry, type Job, timelineLogs } from '../../api/generated';
import { Time } from '../../format/time';
import { ErrorNote } from '../../ui/error-note';
import { Panel, Skeleton } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';

const most = 200;

interface Stage {
  name: string;
  says: string;
  is: (entry: AgentLogEntry) => boolean;
  /** Whether this step occurs only if the previous step failed. */
  isEscalation?: boolean;
}

const isRequestFor = (action: string) => (entry: AgentLogEntry) =>
  entry.data?.['cancelling'] === true && entry.message.endsWith(`: ${action}`);

const stages: readonly Stage[] = [
  {
    name: 'TERM',
    says: 'The agent was asked to stop the run: it sends the signal TERM, and KILL after 10 seconds.',
    is: (entry) => entry.data?.['cancelling'] === true && entry.message === 'told to stop',
  },
  {
    name: 'KILL',
    says: 'The agent did not confirm the stop and was asked to kill the run at once.',
    is: isRequestFor('kill'),
    isEscalation: true,
  },
  {
    name: 'Reboot',
    says: 'The agent did not confirm the kill either, so its machine is rebooted.',
    is: isRequestFor('reboot'),
    isEscalation: true,
  },
  {
    name: 'Confirmed',
    says: 'The agent confirmed that all processes of the run have ended.',
    is: (entry) => entry.data?.['status'] === 'cancelled',
  },
];

/** The steps of a cancellation. A run is cancelled only after its machine confirms that its processes have ended. */
export function CancelProgress({ run }: { run: Job }) {
  const isShown = run.cancelling || run.status === 'cancelled';
  const { data, error, refetch } = useQuery({
    // The query key starts with the key of the run's query, so that a refetch of the run also refetches these entries.
    queryKey: ['run', run.id, 'cancel', run.status],
    // A run without an agent was never started, so nothing had to be stopped.
    enabled: isShown && run.agentId !== null,
    queryFn: ({ signal }) =>
      readFirstItems(most, async (page) => {
        const query = { ...page, jobId: run.id, kind: 'job', order: 'desc' } as const;
        const { entries, nextCursor } = await timelineLogs({ path: { id: run.agentId! }, query, signal });
        return { items: entries, nextCursor };
      }),
  });
  if (!isShown) return null;
  const reached = stages.map((stage) => ({ stage, entry: data?.items.find(stage.is) }));
  const isAtOnce = run.agentId === null || (data && !reached[0]!.entry);
  return (
    <Panel title={run.cancelling ? 'Cancelling' : 'Cancelled'}>
      {!data && !isAtOnce && (error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={2} />)}
      {isAtOnce && <p>The run was cancelled before it started, so nothing had to be stopped.</p>}
      {data && !isAtOnce && (
        <ol className="flex flex-col gap-1.5">
          {reached
            .filter(({ stage, entry }) => entry || !stage.isEscalation)
            .map(({ stage, entry }) => (
              <li key={stage.name} data-testid="cancel-step" className="flex flex-wrap items-center gap-x-3">
                <StatusMark status={entry ? 'passed' : 'pending'} />
                <span className="font-medium">{stage.name}</span>
                <span className="text-dim">{entry ? stage.says : 'Waiting for the agent to confirm.'}</span>
                {entry && <Time at={entry.timestamp} />}
              </li>
            ))}
        </ol>
      )}
    </Panel>
  );
}
