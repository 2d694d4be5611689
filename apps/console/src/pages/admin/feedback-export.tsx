import { feedbackStatuses, feedbackTypes } from '@muster/contracts/words';
import { getButtonClass } from '../../ui/button';
import { Panel } from '../../ui/page';
import { FilterField } from '../../ui/table/filter-field';
import { ListSearchAndFilters } from '../../ui/table/list-tools';
import { useUrlState } from '../../ui/table/use-url-state';

const names = ['type', 'status', 'organization', 'vm', 'from', 'to'];

/** Exports reports of all organizations as a CSV file, which the server streams. */
export function FeedbackExport() {
  const [state] = useUrlState();
  const filled = names.flatMap((name): [string, string][] => (state[name] ? [[name, state[name]]] : []));
  const query = new URLSearchParams(filled).toString();
  return (
    <Panel title="Feedback export">
      <div className="flex flex-col items-start gap-3.5">
        <p className="text-dim">
          Exports all reports, or those that match the filters. “From” and “To” are days in each organization’s time
          zone; both days are included.
        </p>
        <ListSearchAndFilters
          filters={[
            { name: 'type', label: 'Type', options: feedbackTypes },
            { name: 'status', label: 'Status', options: feedbackStatuses },
          ]}
        />
        <div className="flex flex-wrap gap-3">
          <FilterField name="organization" label="Organization" />
          <FilterField name="vm" label="Agent" />
          <FilterField name="from" label="From" type="date" />
          <FilterField name="to" label="To" type="date" />
        </div>
        <a href={`/api/admin/feedback/export${query && `?${query}`}`} download className={getButtonClass('primary')}>
          Export CSV
        </a>
      </div>
    </Panel>
  );
}
