import type { ColumnDef } from '@tanstack/react-table';
import { type ReactNode, useMemo, useState } from 'react';
import { type AuditEntry, type AuditList, auditList } from '../../api/generated';
import { useList } from '../../api/use-list';
import { Time } from '../../format/time';
import { escapeDirectionMarks } from '../../format/one-direction';
import { Dialog } from '../../ui/dialog';
import { EmptyNote, FactList } from '../../ui/page';
import { SearchBox } from '../../ui/search-box';
import { TableCard } from '../../ui/table/card';
import { DataTable } from '../../ui/table/data-table';
import { FilterField } from '../../ui/table/filter-field';
import { useUrlState } from '../../ui/table/use-url-state';

const getAuditEntries = (page: AuditList) => page.entries;

/** The audit log: every change, with its actor and time. */
export function AuditLog() {
  const [{ q, action, actorId, targetId, from, to }, change] = useUrlState();
  const [shown, setShown] = useState<AuditEntry | null>(null);
  const columns = useMemo(() => createColumns(setShown), []);
  const card = useMemo(() => createCard(setShown), []);
  const filter = {
    q,
    action,
    actorId,
    targetId,
    from: getDayBoundary(from, '00:00:00'),
    to: getDayBoundary(to, '23:59:59.999'),
  };
  const list = useList({
    queryKey: ['audit', filter],
    fetchPage: (page, signal) => auditList({ query: { ...page, ...filter }, signal }),
    itemsOf: getAuditEntries,
  });
  return (
    <div className="flex h-[calc(100dvh-7rem)] min-h-96 flex-col gap-4">
      <div role="search" className="flex flex-wrap gap-3">
        <SearchBox label="Search the audit log" value={q ?? ''} change={(text) => change({ q: text })} />
        <FilterField name="action" label="Action" />
        <FilterField name="actorId" label="Who (id)" />
        <FilterField name="targetId" label="Target (id)" />
        <FilterField name="from" label="From" type="date" />
        <FilterField name="to" label="To" type="date" />
      </div>
      <DataTable
        label="Audit"
        list={list}
        columns={columns}
        card={card}
        rowId={({ id }) => id}
        empty={
          <EmptyNote
            title={q || action || actorId || targetId || from || to ? 'No matching changes.' : 'No changes yet.'}
          />
        }
      />
      {shown && <AuditEntryDialog entry={shown} close={() => setShown(null)} />}
    </div>
  );
}

function createColumns(show: (entry: AuditEntry) => void): ColumnDef<AuditEntry>[] {
  return [
    {
      id: 'at',
      header: 'When',
      meta: { className: 'w-28' },
      cell: ({ row: { original } }) => <Time at={original.at} relative />,
    },
    {
      id: 'action',
      header: 'What',
      meta: { className: 'w-60 max-sm:w-auto' },
      cell: ({ row: { original } }) => <EntryButton entry={original} show={show} />,
    },
    {
      id: 'who',
      header: 'Who',
      meta: { className: 'w-52 max-md:hidden' },
      cell: ({ row: { original } }) => <bdi>{formatActor(original)}</bdi>,
    },
    {
      id: 'target',
      header: 'Target',
      meta: { className: 'w-52 max-lg:hidden' },
      cell: ({ row: { original } }) => <EntryTarget entry={original} />,
    },
    {
      id: 'changes',
      header: 'Changes',
      meta: { className: 'max-xl:hidden' },
      cell: ({ row: { original } }) => (
        <bdi className="font-mono text-xs text-dim">
          {Object.keys(original.changes).length > 0
            ? escapeDirectionMarks(JSON.stringify(original.changes).slice(0, 300))
            : '–'}
        </bdi>
      ),
    },
  ];
}

function createCard(show: (entry: AuditEntry) => void): (entry: AuditEntry) => ReactNode {
  return (entry) => (
    <TableCard
      title={<EntryButton entry={entry} show={show} />}
      aside={<Time at={entry.at} relative />}
      facts={[<bdi key="who">{formatActor(entry)}</bdi>, <EntryTarget key="target" entry={entry} />]}
    />
  );
}

function EntryButton({ entry, show }: { entry: AuditEntry; show: (entry: AuditEntry) => void }) {
  return (
    <button type="button" className="text-accent hover:underline" onClick={() => show(entry)}>
      {entry.action}
    </button>
  );
}

function EntryTarget({ entry: { target } }: { entry: AuditEntry }) {
  return (
    <span title={target.id}>
      {target.type} <code className="font-mono text-xs">{target.id.slice(-8)}</code>
    </span>
  );
}

function AuditEntryDialog({ entry, close }: { entry: AuditEntry; close: () => void }) {
  const { at, action, actor, target, changes, requestId } = entry;
  return (
    <Dialog open onOpenChange={close} title={action} wide>
      <FactList
        facts={[
          ['When', <Time at={at} />],
          ['Who', <bdi>{formatActor(entry)}</bdi>],
          ['Who (id)', <code className="font-mono text-xs break-all">{actor.id}</code>],
          ['Target', target.type],
          ['Target (id)', <code className="font-mono text-xs break-all">{target.id}</code>],
          ['Request', <code className="font-mono text-xs break-all">{requestId ?? '–'}</code>],
        ]}
      />
      <pre
        tabIndex={0}
        aria-label="Changes"
        className="max-h-80 overflow-auto rounded-control bg-sunken p-2 font-mono text-xs break-words whitespace-pre-wrap"
      >
        {escapeDirectionMarks(JSON.stringify(changes, null, 2))}
      </pre>
    </Dialog>
  );
}

function formatActor({ actor: { email, kind, id } }: AuditEntry): string {
  return email ?? `${kind.replace('_', ' ')} ${id}`;
}

/** Converts a day in the viewer's time zone to the time at which it starts or ends. */
function getDayBoundary(day: string | undefined, clock: string): string | undefined {
  const moment = new Date(`${day}T${clock}`);
  return day && !Number.isNaN(moment.getTime()) ? moment.toISOString() : undefined;
}
