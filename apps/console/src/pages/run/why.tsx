import { Link } from '@tanstack/react-router';
import { CircleX, Hourglass } from 'lucide-react';
import { Fragment } from 'react';
import type { Job, JobWaiting } from '../../api/generated';
import { type RunErrorCode, runErrorCodes } from '@muster/contracts/words';
import { splitError } from '../../format/error-text';
import { formatCountWithNoun } from '../../format/format';
import { Duration } from '../../format/time';
import { LabelLinks } from '../../parts/names';

const reasons: Record<JobWaiting['reason'], string> = {
  agent_busy: 'The agent is busy with another run.',
  agent_waking: 'The agent is starting.',
  agent_offline:
    'The agent is off, and the organization does not start machines for runs. Start the machine of the agent ' +
    'yourself.',
  concurrency_limit: 'The organization has reached its limit of concurrent runs. The run starts when another one ends.',
  concurrency_key:
    'One of the run’s concurrency keys is held by as many other runs as its limit allows. The run starts when one ' +
    'of them ends.',
  account_busy: 'In one of the pools that the run needs, no account is free.',
  retry_delay: 'The run is a retry and waits for its retry delay.',
  billing_gate: 'The monthly limit of runs or spending is reached. An admin can raise it in the settings.',
  secret_missing: 'A secret that the workflow needs is not in the vault. Add it to the vault.',
  draining: 'The agent is draining and accepts no new runs.',
  no_agent_free: 'No agent with the required labels is free. The run starts when one of them is free.',
  no_agent_online:
    'No agent with the required labels is online, and the organization does not start machines for runs. Start one ' +
    'yourself.',
};

/** A run without an agent waits for any agent that fits, not for a certain one. */
function explainWait({ agentId, target }: Job, reason: JobWaiting['reason']): React.ReactNode {
  if (agentId !== null || !target) return reasons[reason];
  const words = reason === 'agent_waking' ? 'An agent with the required labels is starting.' : reasons[reason];
  return (
    <>
      {words} It needs the {target.labels.length === 1 ? 'label' : 'labels'} <LabelLinks labels={target.labels} />.
    </>
  );
}

/**
 * Explains what a waiting run waits for: a concurrency key with the runs that hold it, a pool with the runs that use
 * its accounts, or the agents that have the required labels.
 */
function Holders({
  detail: { key, limit, pool, holders = [], ...agents },
}: {
  detail: NonNullable<JobWaiting['detail']>;
}) {
  if (agents.fits !== undefined) {
    const { fits, busy, waking, draining, off } = agents;
    const states = `${busy} busy, ${waking} starting, ${draining} draining, ${off} off`;
    return <span>{`${formatCountWithNoun(fits, 'agent has the labels', 'agents have the labels')}: ${states}. `}</span>;
  }
  const shown = holders.slice(0, 3);
  return (
    <span className="[overflow-wrap:anywhere]">
      {limit === 0 ? (
        <>
          The key <bdi>{key}</bdi> is paused.
        </>
      ) : pool !== undefined && holders.length === 0 ? (
        <>
          Each account of the pool <bdi>{pool}</bdi> is resting after a run, set aside or disabled.
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
          {explainWait(run, run.waiting.reason)} {run.waiting.detail && <Holders detail={run.waiting.detail} />}
          <span className="text-dim">
            {run.waiting.reason}, for <Duration from={run.waiting.since} />
          </span>
        </span>
      </p>
    );
  }
  // No error code is shown, because the status already shows that the run was cancelled.
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
            <summary className="text-dim">Exit code and stack trace</summary>
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
