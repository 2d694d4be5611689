import {
  type ColumnDef,
  flexRender,
  getCoreRowModel,
  type Row,
  type RowData,
  useReactTable,
} from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { memo, type ReactNode, useEffect, useMemo, useRef } from 'react';
import type { List } from '../../api/use-list';
import { ErrorNote } from '../error-note';
import { Skeleton } from '../page';
import { HoldRows, useRowsInHeldOrder } from './held-rows';
import { useIsNarrow } from './use-narrow';
import { useUrlState } from './use-url-state';

declare module '@tanstack/react-table' {
  // The declaration must have the same type parameters as the library's.
  // eslint-disable-next-line @typescript-eslint/no-unused-vars
  interface ColumnMeta<TData extends RowData, TValue> {
    /** Classes that set the column's width and the window widths at which it is shown. */
    className?: string;
    /** Field of the API's sort parameter; without it the column cannot be sorted. */
    sort?: string;
  }
}

interface DataTableProps<T> {
  /** Accessible name of the table. */
  label: string;
  list: List<T>;
  columns: ColumnDef<T>[];
  /** Renders a row in narrow windows, instead of all columns except the actions. */
  card?: (item: T) => ReactNode;
  rowId: (item: T) => string;
  empty: ReactNode;
  /** Default order of the API. */
  defaultSort?: string;
  selection?: { selected: Record<string, boolean>; change: (selected: Record<string, boolean>) => void };
}

const rowHeight = 44;
const cardHeight = 72;

/** Table with infinite scroll over the pages of a list; only the visible rows are in the document. */
export function DataTable<T>({
  label,
  list,
  columns: all,
  card,
  rowId,
  empty,
  defaultSort,
  selection,
}: DataTableProps<T>) {
  const isNarrow = useIsNarrow();
  const isCards = isNarrow && card !== undefined;
  const columns = useMemo(() => (isCards ? createCardColumns(label, all, card) : all), [isCards, label, all, card]);
  const height = isCards ? cardHeight : rowHeight;
  const [state] = useUrlState();
  const sorted = state['sort'] ?? defaultSort;
  const { isPending, error, hasMore, isLoadingMore, loadMore, retry } = list;
  const { rows: items, hold } = useRowsInHeldOrder(list.items, rowId, JSON.stringify(state));
  const frame = useRef<HTMLDivElement>(null);
  const table = useReactTable({
    data: items,
    columns,
    getCoreRowModel: getCoreRowModel(),
    getRowId: rowId,
    enableRowSelection: Boolean(selection),
    state: { rowSelection: selection?.selected ?? {} },
    onRowSelectionChange: (next) => selection?.change(typeof next === 'function' ? next(selection.selected) : next),
  });
  const { rows } = table.getRowModel();
  const rowsInSight = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => height,
    overscan: 12,
  });
  const shown = rowsInSight.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    // After an error, no further page is requested until the user clicks the button.
    if (hasMore && !error && rows.length > 0 && last >= rows.length - 20) loadMore();
  }, [hasMore, error, last, rows.length, loadMore]);

  if (isPending) return <Skeleton rows={8} />;
  if (error && items.length === 0) return <ErrorNote error={error} retry={retry} />;
  if (items.length === 0) return <div className="rounded-panel border border-line bg-surface">{empty}</div>;
  const before = shown[0]?.start ?? 0;
  const after = rowsInSight.getTotalSize() - (shown.at(-1)?.end ?? 0);
  return (
    <HoldRows value={hold}>
      {error && <ErrorNote error={error} retry={retry} />}
      <div
        ref={frame}
        tabIndex={0}
        role="region"
        aria-label={label}
        className="min-h-24 overflow-auto rounded-panel border border-line bg-surface"
      >
        <table
          aria-label={label}
          aria-rowcount={hasMore ? -1 : rows.length + 1}
          className="w-full table-fixed border-collapse"
        >
          <thead className="sticky top-0 z-10 bg-surface shadow-[inset_0_-1px_0_var(--color-line)]">
            <tr aria-rowindex={1}>
              {selection && (
                <th scope="col" className="w-10 pl-3.5 text-left max-sm:hidden">
                  <input
                    type="checkbox"
                    aria-label="Select all loaded rows"
                    className="size-4 align-middle"
                    checked={table.getIsAllRowsSelected()}
                    onChange={table.getToggleAllRowsSelectedHandler()}
                  />
                </th>
              )}
              {table.getFlatHeaders().map(({ id, column, getContext }) => {
                const { className = '', sort } = column.columnDef.meta ?? {};
                return (
                  <th
                    key={id}
                    scope="col"
                    aria-sort={sort ? getAriaSort(sort, sorted) : undefined}
                    className={`px-3 py-2 text-left text-xs font-medium text-dim first:pl-3.5 max-sm:px-2 ${className}`}
                  >
                    {sort ? (
                      <SortButton field={sort} sorted={sorted}>
                        {flexRender(column.columnDef.header, getContext())}
                      </SortButton>
                    ) : (
                      flexRender(column.columnDef.header, getContext())
                    )}
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {before > 0 && <tr aria-hidden style={{ height: before }} />}
            {shown.map(({ index }) => (
              <BodyRow
                key={rows[index]!.id}
                row={rows[index]! as Row<unknown>}
                index={index}
                columns={columns}
                height={height}
                selected={selection && rows[index]!.getIsSelected()}
              />
            ))}
            {after > 0 && <tr aria-hidden style={{ height: after }} />}
          </tbody>
        </table>
      </div>
      <p className="-mt-2 text-xs text-dim">
        {hasMore
          ? `${rows.length} loaded${isLoadingMore ? ', loading more…' : ', scroll for more'}`
          : `${rows.length} in all`}
      </p>
    </HoldRows>
  );
}

function createCardColumns<T>(label: string, columns: ColumnDef<T>[], card: (item: T) => ReactNode): ColumnDef<T>[] {
  return [
    { id: 'card', header: label, cell: ({ row: { original } }) => card(original) },
    ...columns.filter(({ id }) => id === 'actions'),
  ];
}

interface BodyRowProps {
  row: Row<unknown>;
  index: number;
  height: number;
  /** Column definitions; a change renders the row again. */
  columns: unknown;
  /** Undefined if rows cannot be selected. */
  selected: boolean | undefined;
}

/** A row is memoized, so that scrolling does not render unchanged rows again. */
const BodyRow = memo(function BodyRow({ row, index, height, selected }: BodyRowProps) {
  return (
    <tr
      aria-rowindex={index + 2}
      style={{ height }}
      className={`border-b border-line last:border-0 ${selected ? 'bg-picked' : 'hover:bg-sunken/60'}`}
    >
      {selected !== undefined && (
        <td className="w-10 pl-3.5 max-sm:hidden">
          <input
            type="checkbox"
            aria-label={`Select row ${index + 1}`}
            className="size-4 align-middle"
            checked={selected}
            onChange={row.getToggleSelectedHandler()}
          />
        </td>
      )}
      {row.getVisibleCells().map(({ id, column, getContext }) => (
        <td
          key={id}
          className={`overflow-hidden px-3 text-ellipsis whitespace-nowrap first:pl-3.5 max-sm:px-2 ${column.columnDef.meta?.className ?? ''}`}
        >
          {flexRender(column.columnDef.cell, getContext())}
        </td>
      ))}
    </tr>
  );
});

function getAriaSort(field: string, sorted: string | undefined): 'ascending' | 'descending' | 'none' {
  if (sorted === field) return 'ascending';
  return sorted === `-${field}` ? 'descending' : 'none';
}

/** Sorts in descending order on the first click, and in ascending order on the next one. */
function SortButton({ field, sorted, children }: { field: string; sorted: string | undefined; children: ReactNode }) {
  const [, change] = useUrlState();
  const isDown = sorted === `-${field}`;
  const isUp = sorted === field;
  const Arrow = isUp ? ArrowUp : ArrowDown;
  return (
    <button
      type="button"
      className="inline-flex items-center gap-1 font-medium"
      onClick={() => change({ sort: isDown ? field : `-${field}` })}
    >
      {children}
      {(isDown || isUp) && <Arrow aria-hidden className="size-3" />}
    </button>
  );
}
