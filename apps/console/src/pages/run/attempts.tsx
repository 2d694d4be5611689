import { useQuery } from '@tanstack/react-query';
import { isTerminalStatus } from '@muster/contracts/words';
import { type Job, jobsList, jobsRead } from '../../api/generated';
import { Duration, Time } from '../../format/time';
import { RunLink } from '../../parts/names';
import { RunStatus } from '../../parts/run/run-status';
import { Panel } from '../../ui/page';

const mostEarlier = 20;
const mostLooked = 100;

/** The run's attempts in order: the run that it retries and the run that retries it. */
export function RunAttempts({ run }: { run: Job }) {
  const { data: earlier = [] } = useQuery({
    queryKey: ['attempts', run.id],
    enabled: run.retryOf !== null,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => readEarlierAttempts(run, signal),
  });
  const { data: later = [] } = useQuery({
    queryKey: ['run', run.id, 'retried'],
    enabled: isTerminalStatus(run.status) && run.status === 'failed' && run.maxRetries > 0,
    queryFn: ({ signal }) => readLaterAttempts(run, signal),
  });
  const all = [...earlier, run, ...later];
  if (all.length === 1) return null;
  return (
    <Panel title="Attempts">
      <ol className="flex flex-col divide-y divide-line">
        {all.map((each) => (
          <li key={each.id} data-testid="attempt" className="flex flex-wrap items-center gap-x-3 py-1.5">
            <span className={each.id === run.id ? 'font-medium' : ''}>Attempt {each.attempt}</span>
            <RunStatus run={each} />
            {each.id === run.id ? <span className="text-dim">this one</span> : <RunLink id={each.id} />}
            <span className="ml-auto text-dim">
              <Time at={each.queuedAt} relative />,{' '}
              <Duration from={each.startedAt} to={each.finishedAt} ms={each.durationMs} />
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

async function readEarlierAttempts(run: Job, signal: AbortSignal): Promise<Job[]> {
  const found: Job[] = [];
  for (let id = run.retryOf; id !== null && found.length < mostEarlier;) {
    const each = await jobsRead({ path: { id }, signal });
    found.unshift(each);
    id = each.retryOf;
  }
  return found;
}

/**
 * A retry has the same workflow, and also the same agent unless the run has a target, and is queued after the run that
 * it retries.
 */
async function readLaterAttempts(run: Job, signal: AbortSignal): Promise<Job[]> {
  const { workflowId, queuedAt } = run;
  const agentId = run.target ? undefined : (run.agentId ?? undefined);
  const query = { workflowId, agentId, from: queuedAt, sort: 'queuedAt', limit: mostLooked } as const;
  const { jobs } = await jobsList({ query, signal });
  const found: Job[] = [];
  for (let last = run; ;) {
    const next = jobs.find(({ retryOf }) => retryOf === last.id);
    if (!next) return found;
    found.push(next);
    last = next;
  }
}
