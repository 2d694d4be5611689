import type { ReactNode } from 'react';
import { SearchBox } from '../search-box';
import { FilterSelect } from './filter-select';
import { useUrlState } from './use-url-state';

interface Filter {
  /** Query parameter of the API that the filter sets. */
  name: string;
  label: string;
  options: readonly (string | { value: string; label: string })[];
}

interface ListToolsProps {
  /** Label of the search field, such as "Search agents"; absent if the API cannot search the list. */
  search?: string;
  filters?: Filter[];
  children?: ReactNode;
}

/** Search field and filters of a list; their values are in the address. */
export function ListSearchAndFilters({ search, filters = [], children }: ListToolsProps) {
  const [state, change] = useUrlState();
  return (
    <div role="search" className="flex flex-wrap items-end gap-2">
      {search && <SearchBox label={search} value={state['q'] ?? ''} change={(q) => change({ q }, { isTyped: true })} />}
      {filters.map(({ name, label, options }) => (
        <FilterSelect
          key={name}
          label={label}
          value={state[name] ?? ''}
          options={options}
          all="All"
          change={(value) => change({ [name]: value })}
        />
      ))}
      {children && <div className="ml-auto flex flex-wrap gap-2">{children}</div>}
    </div>
  );
}
