import type { ReactNode } from 'react';
import type { List } from '../../api/use-list';
import { Button } from '../button';
import { ErrorNote } from '../error-note';
import { EmptyNote, Panel, Skeleton } from '../page';
import { SearchBox } from '../search-box';
import { PlainTable } from './plain-table';
import { useIsNarrow } from './use-narrow';
import { useUrlState } from './use-url-state';

interface SimpleListProps<T> {
  title: string;
  actions?: ReactNode;
  list: List<T>;
  empty: string;
  /** Label of the search field, such as "Search users". Its text is `q` in the address, which the list must send. */
  search?: string;
  heads: string[];
  row: (item: T) => ReactNode;
  /** Renders a row in windows that are too narrow for the columns, as a `CardRow`. */
  cardRow?: (item: T) => ReactNode;
}

/** A short list, such as of settings: a table of all loaded items and a button for more. */
export function SimpleList<T>({ title, actions, list, empty, search, heads, row, cardRow }: SimpleListProps<T>) {
  const [{ q }, change] = useUrlState();
  const isCards = useIsNarrow() && cardRow !== undefined;
  return (
    <Panel title={title} actions={actions}>
      {search && (
        <div role="search" className="mb-3">
          <SearchBox label={search} value={q ?? ''} change={(text) => change({ q: text }, { isTyped: true })} />
        </div>
      )}
      {list.isPending && <Skeleton />}
      {list.error && <ErrorNote error={list.error} retry={list.retry} />}
      {!list.isPending && !list.error && list.items.length === 0 && (
        <EmptyNote title={search && q ? 'No results for this search.' : empty} />
      )}
      {list.items.length > 0 && (
        <PlainTable label={title} heads={isCards ? [title, ...heads.filter((head) => head === 'Actions')] : heads}>
          {list.items.map(isCards ? cardRow : row)}
        </PlainTable>
      )}
      {list.hasMore && (
        <Button className="mt-3" busy={list.isLoadingMore} onClick={list.loadMore}>
          Show more
        </Button>
      )}
    </Panel>
  );
}
