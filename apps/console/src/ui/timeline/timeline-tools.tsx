import { logLevels } from '@muster/contracts/words';
import { SearchBox } from '../search-box';
import { FilterSelect } from '../table/filter-select';

export interface TimelineFilters {
  q: string;
  level: string;
  kind: string;
}

export const noFilters: TimelineFilters = { q: '', level: '', kind: '' };

interface TimelineToolsProps {
  search: string;
  filters: TimelineFilters;
  change: (filters: TimelineFilters) => void;
  kinds?: readonly string[];
}

/** Search and filters of a timeline. The service applies them, so they also cover entries that are not loaded. */
export function TimelineSearchAndFilters({ search, filters, change, kinds }: TimelineToolsProps) {
  return (
    <div role="search" className="mb-3 flex flex-wrap items-center gap-2">
      <SearchBox label={search} value={filters.q} change={(q) => change({ ...filters, q })} />
      <FilterSelect
        all="All"
        label="Level"
        value={filters.level}
        options={logLevels}
        change={(level) => change({ ...filters, level })}
      />
      {kinds && (
        <FilterSelect
          all="All"
          label="Kind"
          value={filters.kind}
          options={kinds}
          change={(kind) => change({ ...filters, kind })}
        />
      )}
    </div>
  );
}
