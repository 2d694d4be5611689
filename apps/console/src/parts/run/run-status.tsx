import type { Job } from '../../api/generated';
import { StatusMark } from '../../ui/status-mark';

/** A run's status; one whose script is being ended still runs, and says that it is being cancelled. */
export function RunStatus({ run, testId, large }: { run: Job; testId?: string; large?: boolean }) {
  const note = run.cancelling ? 'being cancelled' : run.stalled ? 'silent' : '';
  return (
    <span className="whitespace-nowrap">
      <StatusMark status={run.status} testId={testId} large={large} />
      {note && <span className="ml-1.5 text-xs text-warn">{note}</span>}
    </span>
  );
}
