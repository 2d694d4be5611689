import { Link } from '@tanstack/react-router';
import type { Job } from '../../api/generated';
import { partsOfError } from '../../format/error-text';
import { withoutDirectionMarks } from '../../format/one-direction';
import { shortId } from '../names';

/** Title of a run: the names of its workflow and of its subject. */
export function titleOfRun({ workflowName, subject }: Pick<Job, 'workflowName' | 'subject'>): string {
  return [workflowName, subject].flatMap((part) => (part ? [withoutDirectionMarks(part)] : [])).join(' · ');
}

/** A link to a run with its title and the end of its id. */
export function RunTitle({ run }: { run: Job }) {
  const title = titleOfRun(run);
  return (
    <Link to="/runs/$id" params={{ id: run.id }} className="group flex min-w-0 items-baseline gap-2" title={title}>
      <bdi className="truncate font-medium group-hover:underline">{title}</bdi>
      <span className="shrink-0 font-mono text-xs text-dim max-sm:hidden">{shortId(run.id)}</span>
    </Link>
  );
}

/** Cause of a run's failure in one line. */
export function RunCause({ run, inline }: { run: Job; inline?: boolean }) {
  const cause = run.error ? partsOfError(run.error).cause : run.status === 'failed' ? run.errorCode : null;
  if (!cause) return null;
  return (
    <bdi className={`text-bad ${inline ? '' : 'block truncate text-xs'}`} title={run.error ?? undefined}>
      {cause}
    </bdi>
  );
}
