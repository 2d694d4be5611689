import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  type Workflow,
  type WorkflowRevision,
  workflowsDiff,
  workflowsRead,
  workflowsRestore,
  workflowsRevisions,
} from '../../api/generated';
import { usePermission } from '../../api/session';
import { type Versioned, readWithEtag } from '../../api/versioned';
import { escapeDirectionMarks } from '../../format/one-direction';
import { Time } from '../../format/time';
import { Button } from '../../ui/button';
import { useVersionedSave } from '../../ui/conflict';
import { ConfirmDialog } from '../../ui/dialog';
import { ErrorNote } from '../../ui/error-note';
import { Panel, Skeleton } from '../../ui/page';
import { showToast } from '../../ui/toast';
import { summarizeStep, getStepId, getStepTitle } from './steps/step-words';
import type { Content } from './use-editing';

/** The revisions of a workflow. Each can be compared with the current one and restored. */
export function Revisions({ workflow }: { workflow: Versioned<Workflow> }) {
  const { id } = workflow;
  const mayChange = usePermission('workflows.write');
  const client = useQueryClient();
  const [compared, setCompared] = useState<number | null>(null);
  const [restoring, setRestoring] = useState<WorkflowRevision | null>(null);
  const { save, conflict } = useVersionedSave<Workflow, Content>({
    read: () => readWithEtag((options) => workflowsRead({ ...options, path: { id } })),
    write: (_content, ifMatch) => {
      const path = { id, revision: String(restoring!.revision) };
      return readWithEtag((options) => workflowsRestore({ ...options, path, headers: { 'If-Match': ifMatch } }));
    },
    labels: { script: 'Script', steps: 'Steps', variables: 'Variables' },
  });
  const { data, error, refetch } = useQuery({
    queryKey: ['workflow', id, 'revisions'],
    queryFn: ({ signal }) => workflowsRevisions({ path: { id }, query: { limit: 50 }, signal }),
  });
  return (
    <Panel title="Revisions">
      {error && !data ? <ErrorNote error={error} retry={() => void refetch()} /> : !data && <Skeleton />}
      <ul className="flex flex-col divide-y divide-line">
        {data?.revisions.map((each) => (
          <li key={each.revision} className="py-2">
            <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
              <span className="font-medium">Revision {each.revision}</span>
              <span className="text-dim">
                {each.savedBy}, <Time at={each.createdAt} relative />
                {each.restoredFrom !== null && `, restored from ${each.restoredFrom}`}
              </span>
              {each.revision === workflow.revision ? (
                <span className="ml-auto text-dim">current</span>
              ) : (
                <span className="ml-auto flex gap-2">
                  <Button
                    aria-expanded={compared === each.revision}
                    onClick={() => setCompared(compared === each.revision ? null : each.revision)}
                  >
                    Compare
                  </Button>
                  {mayChange && (
                    <Button onClick={() => setRestoring(each)}>{`Restore revision ${each.revision}`}</Button>
                  )}
                </span>
              )}
            </div>
            {compared === each.revision && (
              <RevisionDiff id={id} revision={workflow.revision} against={each.revision} />
            )}
          </li>
        ))}
      </ul>
      {restoring && (
        <ConfirmDialog
          open
          onOpenChange={() => setRestoring(null)}
          title={`Restore revision ${restoring.revision}?`}
          verb="Restore"
          act={async () => {
            const { script, steps, variables } = restoring;
            const { isMine } = await save({ script, steps, variables }, workflow);
            await client.invalidateQueries({ queryKey: ['workflow', id] });
            showToast(
              isMine ? `Revision ${restoring.revision} is the current one again.` : 'The revision was not restored.',
            );
          }}
        >
          Its content is saved as a new revision. All existing revisions stay available.
        </ConfirmDialog>
      )}
      {conflict}
    </Panel>
  );
}

function RevisionDiff({ id, revision, against }: { id: string; revision: number; against: number }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['workflow', id, 'diff', revision, against],
    queryFn: ({ signal }) => workflowsDiff({ path: { id, revision: String(revision) }, query: { against }, signal }),
  });
  if (error && !data) return <ErrorNote error={error} retry={() => void refetch()} />;
  if (!data) return <Skeleton />;
  const { steps, variables, script } = data;
  const lines = [
    ...variables.added.map((name) => `+ variable ${name}`),
    ...variables.removed.map((name) => `- variable ${name}`),
    ...steps.added.map((step) => `+ step ${getStepId(step)}: ${getStepTitle(step)} ${summarizeStep(step)}`),
    ...steps.removed.map((step) => `- step ${getStepId(step)}: ${getStepTitle(step)} ${summarizeStep(step)}`),
    ...steps.changed.flatMap(({ id: step, before, after }) => [
      `- step ${step}: ${getStepTitle(before)} ${summarizeStep(before)}`,
      `+ step ${step}: ${getStepTitle(after)} ${summarizeStep(after)}`,
    ]),
    ...steps.moved.map((step) => `  step ${step} has moved to another position`),
    ...(script === '' ? [] : script.split('\n')),
  ];
  return (
    <pre
      tabIndex={0}
      aria-label={`Differences from revision ${against}`}
      className="mt-2 max-h-96 overflow-auto rounded-control bg-sunken p-2 font-mono text-xs"
    >
      {lines.length === 0 && 'The revisions are identical.'}
      {lines.map((line, at) => (
        <div key={at} className={line.startsWith('+') ? 'text-good' : line.startsWith('-') ? 'text-bad' : ''}>
          {escapeDirectionMarks(line) || ' '}
        </div>
      ))}
    </pre>
  );
}
