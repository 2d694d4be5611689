import { Link } from '@tanstack/react-router';
import type { Job } from '../../api/generated';
import { splitError } from '../../format/error-text';
import { removeDirectionMarks } from '../../format/one-direction';
import { shortenId } from '../names';

/** Title of a run: the names of its workflow and of its subject. */
export function formatRunTitle({ workflowName, subject }: Pick<Job, 'workflowName' | 'subject'>): string {
  return [workflowName, subject].flatMap((part) => (part ? [removeDirectionMarks(part)] : [])).join(' · ');
}

/** A link to a run with its title and the end of its id. */
export function RunTitle({ run }: { run: Job }) {
  const title = formatRunTitle(run);
  return (
    <Link to="/runs/$id" params={{ id: run.id }} className="group flex min-w-0 items-baseline gap-2" title={title}>
      <bdi className="truncate font-medium group-hover:underline">{title}</bdi>
      <span className="shrink-0 font-mono text-xs text-dim max-sm:hidden">{shortenId(run.id)}</span>
    </Link>
  );
}

/** Cause of a run's failure in one line. */
export function RunCause({ run, inline }: { run: Job; inline?: boolean }) {
  const cause = run.error ? splitError(run.error).cause : run.status === 'failed' ? run.errorCode : null;
  if (!cause) return null;
  return (
    <bdi className={`text-bad ${inline ? '' : 'block truncate text-xs'}`} title={run.error ?? undefined}>
      {cause}
    </bdi>
  );
}
