import { Link } from '@tanstack/react-router';
import type { Job } from '../../api/generated';
import { partsOfError } from '../../format/error-text';
import { oneDirection } from '../../format/one-direction';
import { shortId } from '../names';

/** What a run is called: its workflow, and what it is about. */
export function titleOfRun({ workflowName, subject }: Pick<Job, 'workflowName' | 'subject'>): string {
  return [workflowName, subject].flatMap((part) => (part ? [oneDirection(part)] : [])).join(' · ');
}

/** A run by its title, with the end of its id beside it. */
export function RunTitle({ run }: { run: Job }) {
  const title = titleOfRun(run);
  return (
    <Link to="/runs/$id" params={{ id: run.id }} className="group flex min-w-0 items-baseline gap-2" title={title}>
      <bdi className="truncate font-medium group-hover:underline">{title}</bdi>
      <span className="shrink-0 font-mono text-xs text-dim max-sm:hidden">{shortId(run.id)}</span>
    </Link>
  );
}

/** Why a run failed, in one line. */
export function RunCause({ run, inline }: { run: Job; inline?: boolean }) {
  const cause = run.error ? partsOfError(run.error).cause : run.status === 'failed' ? run.errorCode : null;
  if (!cause) return null;
  return (
    <bdi className={`text-bad ${inline ? '' : 'block truncate text-xs'}`} title={run.error ?? undefined}>
      {cause}
    </bdi>
  );
}
