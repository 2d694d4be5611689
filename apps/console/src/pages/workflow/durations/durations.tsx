import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { jobsList } from '../../../api/generated';
import { ErrorNote } from '../../../ui/error-note';
import { EmptyNote, Panel } from '../../../ui/page';
import { PlotSkeleton } from '../../../ui/plots/plot-skeleton';
import { selectTimedRuns } from './select-timed-runs';

const DurationPlot = lazy(async () => ({ default: (await import('./duration-plot')).DurationPlot }));

const most = 200;

/** Durations of the workflow's latest runs, with its revisions. */
export function WorkflowDurations({ workflowId }: { workflowId: string }) {
  const { data, error, refetch } = useQuery({
    // The key does not start with 'runs', because every event of a run would then request all of these runs again.
    queryKey: ['durations', workflowId],
    queryFn: ({ signal }) => jobsList({ query: { workflowId, sort: '-startedAt', limit: most }, signal }),
    staleTime: 15_000,
  });
  const runs = data ? selectTimedRuns(data.jobs) : [];
  return (
    <Panel
      title="Durations of runs"
      actions={
        <Link to="/runs" search={{ workflowId, sort: '-durationMs' }} className="text-accent hover:underline">
          Longest runs
        </Link>
      }
    >
      {!data && (error ? <ErrorNote error={error} retry={() => void refetch()} /> : <PlotSkeleton />)}
      {data && runs.length === 0 && (
        <EmptyNote title="No run has ended yet.">The durations of runs are shown here, with the revisions.</EmptyNote>
      )}
      {runs.length > 0 && (
        <Suspense fallback={<PlotSkeleton />}>
          <DurationPlot runs={runs} />
        </Suspense>
      )}
    </Panel>
  );
}
