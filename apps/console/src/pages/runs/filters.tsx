import { useQuery } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { jobStatuses } from '@muster/contracts/words';
import { readAllItems } from '../../api/read-all-items';
import { schedulesList } from '../../api/generated';
import { Time } from '../../format/time';
import { useAgentChoices, useWorkflowChoices } from '../../parts/pickers';
import { Button } from '../../ui/button';
import { DayFilter } from '../../ui/table/day-filter';
import { FilterField } from '../../ui/table/filter-field';
import { FilterSelect } from '../../ui/table/filter-select';
import { ListSearchAndFilters } from '../../ui/table/list-tools';
import { useIsNarrow } from '../../ui/table/use-narrow';
import { useUrlState } from '../../ui/table/use-url-state';

const further = ['scheduleId', 'from', 'to', 'error', 'variable', 'target'] as const;
/** Filters without a field, which are set only by links. */
const linked = { batchId: 'One batch', cause: 'One cause of failure' } as const;

/** Filters of the run list. The less common ones are shown on request or while they are set. */
export function RunFilters({ children }: { children: ReactNode }) {
  const [state, change] = useUrlState();
  const [isOpen, setIsOpen] = useState(further.some((name) => state[name]));
  const { data: workflows = [] } = useWorkflowChoices();
  const { data: agents = [] } = useAgentChoices();
  const isNarrow = useIsNarrow();
  const usual = [
    { name: 'workflowId', label: 'Workflow', options: toChoices(workflows) },
    { name: 'agentId', label: 'Agent', options: toChoices(agents) },
  ];
  const set = Object.entries(linked).filter(([name]) => state[name]);
  return (
    <div className="flex flex-col gap-2">
      <ListSearchAndFilters
        search="Search runs"
        filters={[{ name: 'status', label: 'Status', options: jobStatuses }, ...(isNarrow ? [] : usual)]}
      >
        {set.map(([name, label]) => (
          <Button key={name} onClick={() => change({ [name]: undefined })} title="Remove this filter">
            {label}
            <X aria-hidden className="size-3.5" />
          </Button>
        ))}
        {(state['endedFrom'] || state['endedTo']) && (
          <Button onClick={() => change({ endedFrom: undefined, endedTo: undefined })} title="Remove this filter">
            <span>
              Ended{' '}
              {state['endedFrom'] && (
                <>
                  from <Time at={state['endedFrom']} short />{' '}
                </>
              )}
              {state['endedTo'] && (
                <>
                  to <Time at={state['endedTo']} short />
                </>
              )}
            </span>
            <X aria-hidden className="size-3.5" />
          </Button>
        )}
        <Button aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          More filters
        </Button>
        {children}
      </ListSearchAndFilters>
      {isOpen && (
        <div role="search" aria-label="More filters" className="flex flex-wrap items-center gap-x-4 gap-y-2">
          {isNarrow &&
            usual.map(({ name, label, options }) => (
              <FilterSelect
                key={name}
                label={label}
                value={state[name] ?? ''}
                options={options}
                all="All"
                change={(value) => change({ [name]: value })}
              />
            ))}
          <ScheduleFilter />
          <DayFilter name="from" label="Queued from" />
          <DayFilter name="to" label="to" ends />
          <FilterField name="error" label="Error" />
          <FilterField name="variable" label="Variable" placeholder="CLAIM_ID=C-1066" />
          <FilterField name="target" label="Target label" placeholder="front-desk" />
          {further.some((name) => state[name]) && (
            <Button look="quiet" onClick={() => change(Object.fromEntries(further.map((name) => [name, undefined])))}>
              Clear these
            </Button>
          )}
        </div>
      )}
    </div>
  );
}

function ScheduleFilter() {
  const [state, change] = useUrlState();
  const { data } = useQuery({
    queryKey: ['schedules', 'choices'],
    queryFn: ({ signal }) =>
      readAllItems(async (page) => {
        const { schedules: items, nextCursor } = await schedulesList({ query: page, signal });
        return { items, nextCursor };
      }),
  });
  return (
    <FilterSelect
      label="Schedule"
      value={state['scheduleId'] ?? ''}
      options={toChoices(data?.items ?? [])}
      all="All"
      change={(scheduleId) => change({ scheduleId })}
    />
  );
}

function toChoices(things: readonly { id: string; name: string }[]) {
  return things.map(({ id, name }) => ({ value: id, label: name }));
}
