import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useBlocker, useParams } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import type { Workflow } from '../../api/generated';
import { buildWorkflowQuery } from '../../api/queries';
import { usePermission } from '../../api/session';
import type { Versioned } from '../../api/versioned';
import { Button, getButtonClass } from '../../ui/button';
import { ErrorNote } from '../../ui/error-note';
import { Page, Panel, Skeleton } from '../../ui/page';
import { WorkflowDetails } from './about';
import { WorkflowDurations } from './durations/durations';
import { Steps } from './steps/steps';
import { useWorkflowEditing } from './use-editing';
import { Variables } from './variables';

const CodeEditor = lazy(async () => ({ default: (await import('../../ui/code-editor')).CodeEditor }));
// The modules of these parts are loaded when the parts are opened, because most visits to the page do not need them.
const RunDialog = lazy(async () => ({ default: (await import('../../parts/run/run-dialog')).RunDialog }));
const BatchDialog = lazy(async () => ({ default: (await import('./batch/batch-dialog')).BatchDialog }));
const EditWorkflowDialog = lazy(async () => ({ default: (await import('./edit-workflow')).EditWorkflowDialog }));
const Revisions = lazy(async () => ({ default: (await import('./revisions')).Revisions }));

export function WorkflowPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const { data: workflow, error, refetch } = useQuery(buildWorkflowQuery(id));
  if (workflow) return <WorkflowView key={id} workflow={workflow} />;
  return (
    <Page title="Workflow">
      {error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={10} />}
    </Page>
  );
}

type Open = 'run' | 'batch' | 'edit';

function WorkflowView({ workflow }: { workflow: Versioned<Workflow> }) {
  const [open, setOpen] = useState<Open | null>(null);
  const [showsRevisions, setShowsRevisions] = useState(false);
  const mayChange = usePermission('workflows.write');
  const mayRun = usePermission('runs.write');
  const editing = useWorkflowEditing(workflow);
  const saving = useMutation({ mutationFn: editing.save });
  useBlocker({
    shouldBlockFn: () => !confirm('Your changes to this workflow are not saved. Leave the page and discard them?'),
    disabled: !editing.isChanged,
    enableBeforeUnload: editing.isChanged,
  });
  return (
    <Page
      title={workflow.name}
      actions={
        <>
          <Link to="/runs" search={{ workflowId: workflow.id }} className={getButtonClass()}>
            Runs
          </Link>
          <Button onClick={() => setShowsRevisions(!showsRevisions)} aria-expanded={showsRevisions}>
            Revisions
          </Button>
          {mayChange && <Button onClick={() => setOpen('edit')}>Edit details</Button>}
          {mayRun && (
            <>
              <Button onClick={() => setOpen('batch')}>Batch</Button>
              <Button look={editing.isChanged ? 'plain' : 'primary'} onClick={() => setOpen('run')}>
                Run
              </Button>
            </>
          )}
          {mayChange && (
            <Button
              look={editing.isChanged ? 'primary' : 'plain'}
              disabled={!editing.isChanged}
              busy={saving.isPending}
              onClick={() => saving.mutate()}
            >
              Save
            </Button>
          )}
        </>
      }
    >
      {workflow.description && (
        <p dir="auto" className="text-dim">
          {workflow.description}
        </p>
      )}
      {saving.isError && <ErrorNote error={saving.error} />}
      <div role="status" className="empty:-mt-4">
        {editing.isBehind && (
          <p className="flex flex-wrap items-center gap-2 rounded-control bg-warn-soft p-2.5">
            Another user has saved revision {workflow.revision}. If you choose “Save”, both versions are shown before
            anything is overwritten.
            <Button onClick={editing.discard}>Take theirs</Button>
          </p>
        )}
      </div>
      {workflow.warnings.map(({ stepId, message }) => (
        <p key={`${stepId} ${message}`} className="rounded-control bg-warn-soft p-2.5">
          {stepId && <code className="font-mono text-xs">{stepId}</code>} {message}
        </p>
      ))}
      <Suspense fallback={<Skeleton rows={4} />}>{showsRevisions && <Revisions workflow={workflow} />}</Suspense>
      <div className="grid gap-4 xl:grid-cols-[minmax(0,1fr)_minmax(0,26rem)]">
        <div className="flex min-w-0 flex-col gap-4">
          {workflow.source && <Steps workflow={workflow} editing={editing} mayEdit={mayChange} />}
          <Panel title="Script" unnamed>
            <Suspense fallback={<Skeleton rows={8} />}>
              <CodeEditor
                key={editing.turn}
                label="Script"
                initial={editing.scriptAtFirst}
                onChange={(script) => editing.edit({ script })}
                readOnly={!mayChange}
              />
            </Suspense>
          </Panel>
          <WorkflowDurations workflowId={workflow.id} />
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <WorkflowDetails workflow={workflow} />
          <Variables editing={editing} mayEdit={mayChange} />
          {!workflow.source && <Steps workflow={workflow} editing={editing} mayEdit={mayChange} />}
        </div>
      </div>
      <Suspense>
        {open === 'run' && <RunDialog workflow={workflow} open onOpenChange={() => setOpen(null)} />}
        {open === 'batch' && <BatchDialog workflow={workflow} open onOpenChange={() => setOpen(null)} />}
        {open === 'edit' && <EditWorkflowDialog workflow={workflow} close={() => setOpen(null)} />}
      </Suspense>
      {editing.conflict}
    </Page>
  );
}
