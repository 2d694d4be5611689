import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ColumnDef } from '@tanstack/react-table';
import { lazy, Suspense, useCallback, useMemo, useState } from 'react';
import { encodeAsForm } from '../../api/encode-as-form';
import {
  workflowsArchive,
  workflowsCreate,
  type WorkflowList,
  workflowsList,
  type WorkflowsListData,
  type WorkflowSummary,
  workflowsUpload,
} from '../../api/generated';
import { usePermission } from '../../api/session';
import { useList } from '../../api/use-list';
import { Time } from '../../format/time';
import { Button } from '../../ui/button';
import { ConfirmDialog, Dialog } from '../../ui/dialog';
import { Field, Form, inputClass, TextField } from '../../ui/form';
import { ActionMenu } from '../../ui/menu';
import { EmptyNote, Page } from '../../ui/page';
import { TableCard } from '../../ui/table/card';
import { DataTable } from '../../ui/table/data-table';
import { ListSearchAndFilters } from '../../ui/table/list-tools';
import { useUrlState } from '../../ui/table/use-url-state';
import { showToast } from '../../ui/toast';
import { VideoAnalysisProgress } from './film-analysis';

// These dialogs are loaded when they are opened, because most visits to the list do not need them.
const RunDialog = lazy(async () => ({ default: (await import('../../parts/run/run-dialog')).RunDialog }));
const WorkflowFromVideoDialog = lazy(async () => ({
  default: (await import('./from-film')).WorkflowFromVideoDialog,
}));
const BatchDialog = lazy(async () => ({ default: (await import('../workflow/batch/batch-dialog')).BatchDialog }));
const NewScheduleDialog = lazy(async () => ({
  default: (await import('../schedules/new-schedule')).NewScheduleDialog,
}));

type Launch = 'Run' | 'Batch' | 'Schedule';
const launches: readonly Launch[] = ['Run', 'Batch', 'Schedule'];

const getWorkflows = (page: WorkflowList) => page.workflows;

export function WorkflowsPage() {
  const [{ q, sort }] = useUrlState();
  const filters = { ...(q ? { q } : {}), ...(sort ? { sort } : {}) } as WorkflowsListData['query'];
  const [making, setMaking] = useState<'new' | 'upload' | 'film' | null>(null);
  const [launching, setLaunching] = useState<{ workflow: WorkflowSummary; as: Launch } | null>(null);
  const [leaving, setLeaving] = useState<WorkflowSummary | null>(null);
  const mayChange = usePermission('workflows.write');
  const mayRun = usePermission('runs.write');
  const mayUpload = usePermission('runs.screens');
  const client = useQueryClient();
  const list = useList({
    queryKey: ['workflows', filters],
    fetchPage: (page, signal) => workflowsList({ query: { ...page, ...filters }, signal }),
    itemsOf: getWorkflows,
  });
  const columns = useMemo<ColumnDef<WorkflowSummary>[]>(
    () => [
      {
        id: 'name',
        header: 'Name',
        meta: { className: 'lg:w-64', sort: 'name' },
        cell: ({ row: { original } }) => <WorkflowName workflow={original} />,
      },
      {
        id: 'description',
        header: 'Description',
        meta: { className: 'max-lg:hidden' },
        cell: ({ row: { original } }) => (
          <bdi className="text-dim" title={original.description ?? undefined}>
            {original.description}
          </bdi>
        ),
      },
      {
        id: 'revision',
        header: 'Revision',
        meta: { className: 'w-24 max-lg:hidden' },
        cell: ({ row: { original } }) => original.revision,
      },
      {
        id: 'updatedAt',
        header: 'Changed',
        meta: { className: 'w-28 max-sm:hidden', sort: 'updatedAt' },
        cell: ({ row: { original } }) => <Time at={original.updatedAt} relative />,
      },
      {
        id: 'launch',
        header: () => <span className="sr-only">Launch</span>,
        meta: { className: 'w-66' },
        cell: ({ row: { original } }) =>
          mayRun && (
            <span className="flex gap-1.5">
              <LaunchButtons launch={(as) => setLaunching({ workflow: original, as })} />
            </span>
          ),
      },
      {
        id: 'actions',
        header: () => <span className="sr-only">Actions</span>,
        meta: { className: 'w-14 text-right' },
        cell: ({ row: { original } }) => (
          <ActionMenu
            name={original.name}
            actions={[mayChange && { label: 'Archive', danger: true, run: () => setLeaving(original) }]}
          />
        ),
      },
    ],
    [mayChange, mayRun],
  );
  const card = useCallback(
    (workflow: WorkflowSummary) => (
      <TableCard
        title={<WorkflowName workflow={workflow} />}
        aside={<Time at={workflow.updatedAt} relative />}
        buttons={mayRun && <LaunchButtons launch={(as) => setLaunching({ workflow, as })} />}
      />
    ),
    [mayRun],
  );
  return (
    <Page
      title="Workflows"
      full
      actions={
        mayChange && (
          <>
            <Button onClick={() => setMaking('upload')}>Upload recording</Button>
            {mayUpload && <Button onClick={() => setMaking('film')}>New from video</Button>}
            <Button look="primary" onClick={() => setMaking('new')}>
              New workflow
            </Button>
          </>
        )
      }
    >
      <ListSearchAndFilters search="Search workflows" />
      <DataTable
        label="Workflows"
        list={list}
        columns={columns}
        card={card}
        rowId={({ id }) => id}
        empty={
          q ? (
            <EmptyNote title="No matching workflows." />
          ) : (
            <EmptyNote title="No workflows yet.">
              Use “Upload recording” to create one from a recording of Chrome’s recorder, or “New workflow” to start
              with an empty script.
            </EmptyNote>
          )
        }
      />
      <VideoAnalysisProgress />
      <CreateWorkflowDialog making={making} close={() => setMaking(null)} />
      {launching && <LaunchDialog {...launching} close={() => setLaunching(null)} />}
      {leaving && (
        <ConfirmDialog
          open
          onOpenChange={() => setLeaving(null)}
          title={`Archive ${leaving.name}?`}
          verb="Archive"
          act={async () => {
            await workflowsArchive({ path: { id: leaving.id } });
            await client.invalidateQueries({ queryKey: ['workflows'] });
            showToast(`${leaving.name} was archived.`);
          }}
        >
          The workflow can no longer be launched. Existing runs are not deleted.
        </ConfirmDialog>
      )}
    </Page>
  );
}

function WorkflowName({ workflow: { id, name } }: { workflow: WorkflowSummary }) {
  return (
    <Link to="/workflows/$id" params={{ id }} className="font-medium hover:underline" title={name}>
      <bdi>{name}</bdi>
    </Link>
  );
}

function LaunchButtons({ launch }: { launch: (as: Launch) => void }) {
  return launches.map((as) => (
    <Button key={as} onClick={() => launch(as)}>
      {as}
    </Button>
  ));
}

function LaunchDialog({ workflow, as, close }: { workflow: WorkflowSummary; as: Launch; close: () => void }) {
  const client = useQueryClient();
  return (
    <Suspense>
      {as === 'Run' ? (
        <RunDialog workflow={workflow} open onOpenChange={close} />
      ) : as === 'Batch' ? (
        <BatchDialog workflow={workflow} open onOpenChange={close} />
      ) : (
        <NewScheduleDialog
          workflow={workflow}
          open
          onOpenChange={close}
          made={() => void client.invalidateQueries({ queryKey: ['schedules'] })}
        />
      )}
    </Suspense>
  );
}

function CreateWorkflowDialog({ making, close }: { making: 'new' | 'upload' | 'film' | null; close: () => void }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const openCreatedWorkflow = (workflow: { id: string }) => {
    close();
    void client.invalidateQueries({ queryKey: ['workflows'] });
    void navigate({ to: '/workflows/$id', params: { id: workflow.id } });
  };
  return (
    <>
      <Dialog open={making === 'new'} onOpenChange={close} title="New workflow">
        <Form
          submit="Create workflow"
          onSubmit={(values) =>
            workflowsCreate({
              body: {
                name: values.readText('name'),
                description: values.readText('description'),
                variables: values
                  .readText('variables')
                  .split(/[\s,]+/)
                  .filter(Boolean),
              },
            })
          }
          onDone={openCreatedWorkflow}
        >
          <TextField label="Name" name="name" required maxLength={200} autoComplete="off" />
          <TextField label="Description" name="description" autoComplete="off" />
          <TextField label="Variables" name="variables" hint="Their names, separated by commas." autoComplete="off" />
        </Form>
      </Dialog>
      <Suspense>{making === 'film' && <WorkflowFromVideoDialog close={close} />}</Suspense>
      <Dialog open={making === 'upload'} onOpenChange={close} title="Upload recording">
        <Form
          submit="Upload"
          onSubmit={(values) => {
            const name = values.readText('name');
            const recording = values.readFile('recording') ?? undefined;
            return workflowsUpload(encodeAsForm({ recording, ...(name ? { name } : {}) }));
          }}
          onDone={openCreatedWorkflow}
        >
          <Field
            label="Recording"
            name="recording"
            hint="A JSON file from Chrome’s recorder, or a zip of the file with its screenshots."
          >
            {(control) => <input {...control} type="file" accept=".json,.zip" required className={inputClass} />}
          </Field>
          <TextField label="Name" name="name" hint="If empty, the name of the recording is used." autoComplete="off" />
        </Form>
      </Dialog>
    </>
  );
}
