import { Link } from '@tanstack/react-router';
import type { ColumnDef } from '@tanstack/react-table';
import { lazy, Suspense, useMemo, useState } from 'react';
import { packsList, type WorkflowPackList, type WorkflowPackSummary } from '../../api/generated';
import { usePermission } from '../../api/session';
import { useList } from '../../api/use-list';
import { formatCount } from '../../format/format';
import { Time } from '../../format/time';
import { Button } from '../../ui/button';
import { EmptyNote, Page } from '../../ui/page';
import { DataTable } from '../../ui/table/data-table';
import { ListSearchAndFilters } from '../../ui/table/list-tools';
import { useUrlState } from '../../ui/table/use-url-state';

// The module of this dialog is loaded when the dialog is opened, because most visits to the list do not need it.
const NewPackDialog = lazy(async () => ({ default: (await import('./new-pack')).NewPackDialog }));

const getPacks = (page: WorkflowPackList) => page.packs;

export function PacksPage() {
  const [{ q }] = useUrlState();
  const [isNew, setIsNew] = useState(false);
  const mayChange = usePermission('packs.write');
  const list = useList({
    queryKey: ['packs', 'list', q],
    fetchPage: (page, signal) => packsList({ query: { ...page, q }, signal }),
    itemsOf: getPacks,
  });
  return (
    <Page
      title="Packs"
      full
      actions={
        mayChange && (
          <Button look="primary" onClick={() => setIsNew(true)}>
            New pack
          </Button>
        )
      }
    >
      <ListSearchAndFilters search="Search packs" />
      <DataTable
        label="Packs"
        list={list}
        columns={usePackColumns()}
        rowId={({ id }) => id}
        empty={
          q ? (
            <EmptyNote title="No matching packs." />
          ) : (
            <EmptyNote title="No packs yet.">
              A pack contains the code of a process: a draft, tested versions and installations. Use “New pack” to
              create one.
            </EmptyNote>
          )
        }
      />
      <Suspense>{isNew && <NewPackDialog open onOpenChange={setIsNew} />}</Suspense>
    </Page>
  );
}

function usePackColumns(): ColumnDef<WorkflowPackSummary>[] {
  return useMemo(
    () => [
      {
        id: 'name',
        header: 'Name',
        cell: ({ row: { original } }) => (
          <Link
            to="/packs/$id"
            params={{ id: original.id }}
            className="font-medium hover:underline"
            title={original.name}
          >
            <bdi>{original.name}</bdi>
          </Link>
        ),
      },
      {
        id: 'workerKey',
        header: 'Worker key',
        meta: { className: 'max-md:hidden' },
        cell: ({ row: { original } }) => <code className="font-mono text-xs">{original.workerKey}</code>,
      },
      {
        id: 'stageTags',
        header: 'Tags',
        meta: { className: 'max-lg:hidden' },
        cell: ({ row: { original } }) => <bdi className="text-dim">{original.stageTags.join(', ')}</bdi>,
      },
      {
        id: 'draft',
        header: 'Draft',
        meta: { className: 'w-28 max-sm:hidden' },
        cell: ({ row: { original } }) => <Time at={original.draftHead?.createdAt} relative />,
      },
      {
        id: 'versions',
        header: 'Versions',
        meta: { className: 'w-24' },
        cell: ({ row: { original } }) => formatCount(original.versionCount),
      },
      {
        id: 'installations',
        header: 'Installed',
        meta: { className: 'w-24' },
        cell: ({ row: { original } }) => formatCount(original.installationCount),
      },
    ],
    [],
  );
}
