import type { ReactNode } from 'react';
import { SearchBox } from '../search-box';
import { FilterSelect } from './filter-select';
import { useUrlState } from './use-url-state';

interface Filter {
  /** The API's parameter. */
  name: string;
  label: string;
  options: readonly (string | { value: string; label: string })[];
}

interface ListToolsProps {
  /** What is searched, such as "Search agents"; lists that the API cannot search have none. */
  search?: string;
  filters?: Filter[];
  children?: ReactNode;
}

/** The searchbox and the filters of a list; what they say is in the address. */
export function ListTools({ search, filters = [], children }: ListToolsProps) {
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
