import { Link } from '@tanstack/react-router';
import type { Job } from '../../api/generated';
import { splitError } from '../../format/error-text';
import { removeDirectionMarks } from '../../format/one-direction';
import { shortenId } from '../names';

/** Title of a run: the names of its workflow and of its subject. */
export function formatRunTitle({ workflowName, subject }: Pick<Job, 'workflowName' | 'subject'>): string {
  return [workflowName, subject].flatMap((part) => (part ? [removeDirectionMarks(part)] : [])).join(' · ');
}

/**
 * A link to a run with its title and the end of its id. A long title loses the end of the workflow's name, because the
 * subject is what distinguishes the runs of a workflow.
 */
export function RunTitle({ run }: { run: Job }) {
  const { id, workflowName, subject } = run;
  return (
    <Link to="/runs/$id" params={{ id }} className="group flex min-w-0 items-baseline" title={formatRunTitle(run)}>
      <bdi className="truncate font-medium group-hover:underline">{removeDirectionMarks(workflowName)}</bdi>
      {subject && (
        <>
          <span className="shrink-0 font-medium whitespace-pre"> · </span>
          <bdi className="max-w-3/5 shrink-0 truncate font-medium group-hover:underline">
            {removeDirectionMarks(subject)}
          </bdi>
        </>
      )}
      <span className="ml-2 shrink-0 font-mono text-xs text-dim max-sm:hidden">{shortenId(id)}</span>
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
