import { type Job, jobsSteps, type JobStep, type JobStepList } from '../../api/generated';
import { useList } from '../../api/use-list';
import { formatDuration } from '../../format/format';
import { Button } from '../../ui/button';
import { ErrorNote } from '../../ui/error-note';
import { EmptyNote, Panel, Skeleton } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';

const getSteps = (page: JobStepList) => page.steps;

/** The steps of a run on its time axis. The query is refreshed together with the run. */
export function Steps({ run }: { run: Job }) {
  const { items, isPending, error, hasMore, isLoadingMore, loadMore, retry } = useList({
    queryKey: ['run', run.id, 'steps'],
    fetchPage: (page, signal) => jobsSteps({ path: { id: run.id }, query: page, signal }),
    itemsOf: getSteps,
  });
  const span = computeTimeSpan(run, items);
  return (
    <Panel title="Steps">
      {error && items.length === 0 ? <ErrorNote error={error} retry={retry} /> : isPending && <Skeleton />}
      {!isPending && !error && items.length === 0 && <EmptyNote title="The run has not reported any steps." />}
      <ol className="flex flex-col">
        {items.map((step) => (
          <StepRow key={step.stepOrder} step={step} span={span} />
        ))}
      </ol>
      {hasMore && (
        <Button className="mt-2" busy={isLoadingMore} onClick={loadMore}>
          More steps
        </Button>
      )}
    </Panel>
  );
}

interface Span {
  from: number;
  ms: number;
}

function StepRow({ step, span }: { step: JobStep; span: Span }) {
  const begin = step.startedAt ? Date.parse(step.startedAt) : null;
  const end = step.finishedAt ? Date.parse(step.finishedAt) : null;
  const ms = begin !== null && end !== null ? end - begin : null;
  return (
    <li
      data-testid="step"
      className="grid grid-cols-[5.5rem_minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 border-b border-line py-1.5 last:border-0 md:grid-cols-[6rem_minmax(0,14rem)_1fr_5.5rem]"
    >
      <StatusMark status={step.status} />
      <bdi className="[overflow-wrap:anywhere] md:truncate" title={step.name ?? step.stepId ?? undefined}>
        {step.name ?? step.stepId ?? `Step ${step.stepOrder}`}
      </bdi>
      <div aria-hidden className="relative h-2 rounded bg-sunken max-md:hidden">
        {begin !== null && (
          <div
            className={`absolute h-2 min-w-1 rounded ${step.status === 'failed' ? 'bg-bad' : 'bg-accent'}`}
            style={{
              left: `${((begin - span.from) / span.ms) * 100}%`,
              width: `${(((end ?? span.from + span.ms) - begin) / span.ms) * 100}%`,
            }}
          />
        )}
      </div>
      <span className="text-right whitespace-nowrap text-dim tabular-nums">
        {ms === null ? '' : formatDuration(ms)}
      </span>
      {step.error && (
        <p dir="auto" className="col-span-full whitespace-pre-wrap text-bad">
          {step.error}
        </p>
      )}
    </li>
  );
}

function computeTimeSpan(run: Job, steps: JobStep[]): Span {
  const times = [
    run.startedAt,
    run.finishedAt,
    ...steps.flatMap(({ startedAt, finishedAt }) => [startedAt, finishedAt]),
  ]
    .filter((at) => at !== null)
    .map((at) => Date.parse(at));
  const from = Math.min(...times);
  return { from, ms: Math.max(1, Math.max(...times) - from) };
}
