import type { Job } from '../../api/generated';
import { StatusMark } from '../../ui/status-mark';

/** A run's status, with a note if the run is being cancelled (its script is still running) or stalled. */
export function RunStatus({ run, testId, large }: { run: Job; testId?: string; large?: boolean }) {
  const note = run.cancelling ? 'being cancelled' : run.stalled ? 'stalled' : '';
  return (
    <span className="whitespace-nowrap">
      <StatusMark status={run.status} testId={testId} large={large} />
      {note && <span className="ml-1.5 text-xs text-warn">{note}</span>}
    </span>
  );
}
