import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { isTerminalStatus } from '@muster/contracts/words';
import { costsOfJob, type Job } from '../../api/generated';
import { buildRunQuery } from '../../api/queries';
import { usePermission } from '../../api/session';
import { formatCountWithNoun, formatCount, formatDuration, formatMoney } from '../../format/format';
import { Duration, Time } from '../../format/time';
import { useAgentEvents } from '../../live/use-agent-events';
import { useThrottled } from '../../live/use-throttled';
import { InstallationLink } from '../../parts/installation-link';
import { AgentOfRun, LabelLinks, RunLink, shortenId, WorkflowLink } from '../../parts/names';
import { ReportIssue } from '../../parts/report-issue';
import { CancelRunDialog, useReplayRun } from '../../parts/run/run-menu';
import { RunStatus } from '../../parts/run/run-status';
import { formatRunTitle } from '../../parts/run/run-title';
import { Button } from '../../ui/button';
import { ErrorNote } from '../../ui/error-note';
import { FactList, Page, Panel, Progress, Skeleton } from '../../ui/page';
import { RunAttempts } from './attempts';
import { CancelProgress } from './cancelling';
import { IncompleteReportNote } from './incomplete';
import { OpenQuestion } from './open-question';
import { RunLog } from './run-log';
import { Steps } from './steps';
import { RunExplanation } from './why';

// The module of this dialog is loaded when the dialog is opened, because most visits to the page do not need it.
const RunAgainDialog = lazy(async () => ({ default: (await import('../../parts/run/run-dialog')).RunAgainDialog }));

export function RunPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const { data: run, error, refetch } = useQuery(buildRunQuery(id));
  const mayChange = usePermission('runs.write');
  const seesCosts = usePermission('costs.read');
  const [asks, setAsks] = useState(false);
  const [isChanging, setIsChanging] = useState(false);
  const { replay, isReplaying } = useReplayRun(id);
  useLiveRun(id, run?.agentId ?? undefined);
  if (error && !run) {
    return (
      <Page title="Run">
        <ErrorNote error={error} retry={() => void refetch()} />
      </Page>
    );
  }
  if (!run) {
    return (
      <Page title="Run">
        <Skeleton rows={10} />
      </Page>
    );
  }
  return (
    <Page
      title={formatRunTitle(run)}
      aside={
        <>
          <RunStatus run={run} testId="run-status" large />
          <code className="font-mono text-xs text-dim select-all" title={run.id}>
            {shortenId(run.id)}
          </code>
        </>
      }
      actions={
        <>
          <ReportIssue run={run} />
          {mayChange &&
            (isTerminalStatus(run.status) ? (
              <>
                <Button onClick={() => setIsChanging(true)}>Change and run</Button>
                <Button look="primary" busy={isReplaying} onClick={replay}>
                  Replay
                </Button>
              </>
            ) : (
              <Button look="danger" disabled={run.cancelling} onClick={() => setAsks(true)}>
                Cancel run
              </Button>
            ))}
        </>
      }
    >
      <div className="flex items-center gap-3">
        <Progress percent={run.progress.percent} label="Progress" status={run.status} />
        <span className="shrink-0 text-dim tabular-nums">
          {Math.round(run.progress.percent)}%{run.progress.currentStep && ` · ${run.progress.currentStep}`}
        </span>
      </div>
      <OpenQuestion run={run} />
      <RunExplanation run={run} />
      <IncompleteReportNote run={run} />
      <CancelProgress run={run} />
      <div className="grid gap-4 xl:grid-cols-[minmax(0,1fr)_minmax(0,22rem)]">
        <div className="flex min-w-0 flex-col gap-4">
          <Steps run={run} />
          <RunLog run={run} />
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <RunDetails run={run} />
          <RunAttempts run={run} />
          {seesCosts && <RunCost run={run} />}
          <RunData run={run} />
        </div>
      </div>
      <Suspense>{isChanging && <RunAgainDialog run={run} open onOpenChange={setIsChanging} />}</Suspense>
      <CancelRunDialog run={run} open={asks} onOpenChange={setAsks} />
    </Page>
  );
}

/** Follows the agent's event stream and refetches the run after each of its events. */
function useLiveRun(id: string, agentId: string | undefined): void {
  const client = useQueryClient();
  const refresh = useThrottled(() => client.invalidateQueries({ queryKey: ['run', id] }), 400);
  useAgentEvents(agentId, (event) => {
    if (event.type === 'open' || event.type === 'resync') refresh();
    else if (event.type === 'job' && event.jobId === id) refresh();
  });
}

function RunDetails({ run }: { run: Job }) {
  return (
    <Panel title="About">
      <FactList
        facts={[
          ['Workflow', <WorkflowLink id={run.workflowId} />],
          ['Revision', formatCount(run.workflowRevision)],
          ['Agent', <AgentOfRun run={run} />],
          ...listPlacementFacts(run),
          ['Queued', <Time at={run.queuedAt} />],
          ['Started', <Time at={run.startedAt} />],
          ['Ended', <Time at={run.finishedAt} />],
          ['Took', <Duration from={run.startedAt} to={run.finishedAt} ms={run.durationMs} />],
          ['Attempt', `${formatCount(run.attempt)} of ${formatCount(run.maxRetries + 1)}`],
          ['Id', <code className="font-mono text-xs break-all">{run.id}</code>],
          ...(run.retryOf ? ([['Retry of', <RunLink id={run.retryOf} />]] as [string, React.ReactNode][]) : []),
          [
            'Claims',
            run.claims.attempted > 0
              ? `${formatCountWithNoun(run.claims.eobUploaded, 'EOB')} uploaded of ${formatCountWithNoun(run.claims.attempted, 'claim')}, ${run.claims.noEobFound} without one, ${run.claims.failed} failed`
              : 'none',
          ],
          ...(run.bundle
            ? ([
                ['Pack', <InstallationLink id={run.bundle.installationId} />],
                ['Bundle', <code className="font-mono text-xs break-all">{run.bundle.digest}</code>],
              ] as [string, React.ReactNode][])
            : []),
          ...(run.scheduleId
            ? ([['Schedule', <ScheduleLink id={run.scheduleId} />]] as [string, React.ReactNode][])
            : []),
          ...(run.batchId ? ([['Batch', <BatchLink id={run.batchId} />]] as [string, React.ReactNode][]) : []),
        ]}
      />
    </Panel>
  );
}

/** The labels that a run requires of its agent, and why it got this one. */
function listPlacementFacts({ target, placement }: Job): [string, React.ReactNode][] {
  const facts: [string, React.ReactNode][] = [];
  if (target) facts.push(['Any with labels', <LabelLinks labels={target.labels} />]);
  if (placement) {
    facts.push(['Chosen because', <span data-testid="placement-why">{placement.why}</span>]);
    facts.push(['Chosen', <Time at={placement.at} />]);
  }
  return facts;
}

function ScheduleLink({ id }: { id: string }) {
  return (
    <Link to="/schedules/$id" params={{ id }} className="text-accent hover:underline">
      the one that launched it
    </Link>
  );
}

function BatchLink({ id }: { id: string }) {
  return (
    <Link to="/runs" search={{ batchId: id }} className="text-accent hover:underline">
      all of its runs
    </Link>
  );
}

function RunCost({ run }: { run: Job }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['run', run.id, 'cost'],
    queryFn: ({ signal }) => costsOfJob({ path: { id: run.id }, signal }),
  });
  return (
    <Panel title="Cost">
      {!data && (error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={2} />)}
      {data && (
        <>
          <p className="text-base font-medium tabular-nums">{formatMoney(data.totalUsd)}</p>
          <ul className="mt-1.5 flex flex-col gap-1">
            {data.components.map(({ kind, model, quantity, unit, amountUsd, unpriced }, at) => (
              <li key={at} className="flex justify-between gap-3">
                <span className="text-dim">
                  {model ?? kind}, {formatQuantity(quantity, unit)}
                </span>
                <span className="tabular-nums">{unpriced ? 'no price' : formatMoney(amountUsd)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}

/** Formats hours as a duration and other quantities as a count with their unit. */
function formatQuantity(quantity: number, unit: string): string {
  if (unit === 'hour') return formatDuration(quantity * 60 * 60 * 1000);
  return unit === 'reported' ? 'reported by the run' : formatCountWithNoun(quantity, unit.replaceAll('_', ' '));
}

/** The run's variables, its result and the raw API response. */
function RunData({ run }: { run: Job }) {
  return (
    <Panel title="Variables and result">
      {Object.keys(run.variables).length > 0 && (
        <FactList facts={Object.entries(run.variables).map(([name, value]) => [name, <bdi>{String(value)}</bdi>])} />
      )}
      {run.screenshotUrl && (
        <a href={run.screenshotUrl} target="_blank" rel="noreferrer">
          <img
            src={run.screenshotUrl}
            alt="The last screenshot of the run"
            className="mt-2 rounded-control border border-line"
          />
        </a>
      )}
      {run.result !== null && <JsonBlock label="Result" value={run.result} open />}
      <JsonBlock label="Raw JSON" value={run} />
    </Panel>
  );
}

function JsonBlock({ label, value, open }: { label: string; value: unknown; open?: boolean }) {
  return (
    <details open={open} className="mt-2">
      <summary className="text-dim">{label}</summary>
      <pre
        tabIndex={0}
        aria-label={label}
        className="mt-1 max-h-80 overflow-auto rounded-control bg-sunken p-2 font-mono text-xs whitespace-pre-wrap"
      >
        {JSON.stringify(value, null, 2)}
      </pre>
    </details>
  );
}
