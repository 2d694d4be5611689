import { Link } from '@tanstack/react-router';
import { CircleX, Hourglass } from 'lucide-react';
import { Fragment } from 'react';
import type { Job, JobWaiting } from '../../api/generated';
import { type RunErrorCode, runErrorCodes } from '@muster/contracts/words';
import { splitError } from '../../format/error-text';
import { Duration } from '../../format/time';

const reasons: Record<JobWaiting['reason'], string> = {
  agent_busy: 'The agent is busy with another run.',
  agent_waking: 'The agent is starting.',
  agent_offline: 'The agent is off, and runs do not start it. Start it manually.',
  concurrency_limit: 'The organization has reached its limit of concurrent runs.',
  concurrency_key: 'One of the run’s concurrency keys is at its limit.',
  account_busy: 'No account of one of the run’s pools is free.',
  retry_delay: 'The run is a retry and waits for its retry delay.',
  billing_gate: 'The monthly limit of runs or spending is reached.',
  secret_missing: 'A secret that the workflow needs is not in the vault. Add it to the vault.',
  draining: 'The agent is draining and accepts no new runs.',
};

/** The key that a run waits for and the runs that hold it, or the pool and the runs that have its accounts. */
function Holders({ detail: { key, limit, pool, holders } }: { detail: NonNullable<JobWaiting['detail']> }) {
  const shown = holders.slice(0, 3);
  return (
    <span className="[overflow-wrap:anywhere]">
      {limit === 0 ? (
        <>
          The key <bdi>{key}</bdi> is paused.
        </>
      ) : pool !== undefined && holders.length === 0 ? (
        <>
          Each account of the pool <bdi>{pool}</bdi> rests, is set aside or is disabled.
        </>
      ) : (
        <>
          {pool === undefined ? (
            <>
              <bdi>{key}</bdi> is held by{' '}
            </>
          ) : (
            <>
              The accounts of the pool <bdi>{pool}</bdi> are held by{' '}
            </>
          )}
          {shown.map((id, at) => (
            <Fragment key={id}>
              {at > 0 && ', '}
              <Link to="/runs/$id" params={{ id }}>
                {id.slice(-8)}
              </Link>
            </Fragment>
          ))}
          {holders.length > shown.length && ` and ${holders.length - shown.length} more`}.
        </>
      )}{' '}
    </span>
  );
}

/** Why a run waits, or why it failed. */
export function RunExplanation({ run }: { run: Job }) {
  if (run.waiting) {
    return (
      <p data-testid="run-why" className="flex items-start gap-2 rounded-control bg-warn-soft p-3">
        <Hourglass aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
        <span>
          {reasons[run.waiting.reason]} {run.waiting.detail && <Holders detail={run.waiting.detail} />}
          <span className="text-dim">
            {run.waiting.reason}, for <Duration from={run.waiting.since} />
          </span>
        </span>
      </p>
    );
  }
  // The status already shows that the run was cancelled.
  if (!run.error && (!run.errorCode || run.status === 'cancelled')) return null;
  const { cause, details } = splitError(run.error ?? '');
  return (
    <div data-testid="run-why" className="flex items-start gap-2 rounded-control bg-bad-soft p-3">
      <CircleX aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <div className="min-w-0 grow">
        <p dir="auto" className="font-medium [overflow-wrap:anywhere]">
          {cause || run.errorCode}
        </p>
        {run.errorCode && (
          <p className="text-xs text-dim">
            {run.errorCode}
            {run.errorCode in runErrorCodes && `: ${runErrorCodes[run.errorCode as RunErrorCode]}`}
          </p>
        )}
        {details && (
          <details className="mt-1">
            <summary className="text-dim">How it ended, and its trace</summary>
            <pre
              tabIndex={0}
              aria-label="Trace"
              dir="auto"
              className="mt-1 max-h-96 overflow-auto rounded-control bg-surface p-2 font-mono text-xs whitespace-pre-wrap"
            >
              {details}
            </pre>
          </details>
        )}
      </div>
    </div>
  );
}
