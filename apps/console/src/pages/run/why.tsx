import { CircleX, Hourglass } from 'lucide-react';
import type { Job, JobWaiting } from '../../api/generated';
import { Duration } from '../../format/time';

const reasons: Record<JobWaiting['reason'], string> = {
  agent_busy: 'Its agent is on another run.',
  agent_waking: 'Its agent is being woken.',
  agent_offline: 'Its agent is off, and is not woken by runs: start it by hand.',
  concurrency_limit: 'The organization runs as many as it may at once.',
  retry_delay: 'It is a retry, and its delay is not over.',
  billing_gate: 'The month’s limit of runs or spending is reached.',
  secret_missing: 'A secret that it needs is not in the vault.',
  draining: 'Its agent takes no new runs.',
};

/** Why a run waits, or why it failed. */
export function Why({ run }: { run: Job }) {
  if (run.waiting) {
    return (
      <p data-testid="run-why" className="flex items-start gap-2 rounded-control bg-warn-soft p-3">
        <Hourglass aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
        <span>
          {reasons[run.waiting.reason]}{' '}
          <span className="text-dim">
            {run.waiting.reason}, for <Duration from={run.waiting.since} />
          </span>
        </span>
      </p>
    );
  }
  if (!run.error && !run.errorCode) return null;
  return (
    <div data-testid="run-why" className="flex items-start gap-2 rounded-control bg-bad-soft p-3">
      <CircleX aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <div className="min-w-0">
        <p dir="auto" className="max-h-60 overflow-y-auto whitespace-pre-wrap">
          {run.error}
        </p>
        {run.errorCode && <p className="text-xs text-dim">{run.errorCode}</p>}
      </div>
    </div>
  );
}
