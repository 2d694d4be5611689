import { useWorkflowChoices } from '../../parts/pickers';
import { UsageBars } from '../../parts/usage-bars';
import { getButtonClass } from '../../ui/button';
import { inputClass } from '../../ui/form';
import { Page } from '../../ui/page';
import { FilterSelect } from '../../ui/table/filter-select';
import { useUrlState } from '../../ui/table/use-url-state';
import { useDelayedText } from '../../ui/table/use-typed';
import { Batches } from './batches';
import { IdleSavings } from './idle';
import { MonthFilter } from './month-filter';
import type { Range } from './range';
import { RoiFigures } from './returns';
import { type GroupBy, groupings, SpendTable } from './spend';

const dayMs = 24 * 60 * 60 * 1000;

/** Cost of runs in a range of days, compared with the limits, and the savings of the runs. */
export function CostsPage() {
  const [state, change] = useUrlState();
  const getDayBefore = (ago: number) => new Date(Date.now() - ago * dayMs).toISOString().slice(0, 10);
  const range: Range = { from: state['from'] ?? getDayBefore(29), to: state['to'] ?? getDayBefore(0) };
  const groupBy: GroupBy = groupings.find((each) => each === state['groupBy']) ?? 'day';
  const workflowId = state['workflowId'];
  return (
    <Page
      title="Costs"
      actions={
        <a
          href={`/api/costs/export?${new URLSearchParams({ ...range, groupBy }).toString()}`}
          download
          className={getButtonClass()}
        >
          Export CSV
        </a>
      }
    >
      <div role="search" className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <MonthFilter
          range={range}
          isDefault={!state['from'] && !state['to']}
          change={({ from, to }) => change({ from, to })}
        />
        <DayField label="From" day={range.from} change={(from) => change({ from })} />
        <DayField label="To" day={range.to} change={(to) => change({ to })} />
        <FilterSelect label="Group by" value={groupBy} options={groupings} change={(by) => change({ groupBy: by })} />
        <WorkflowFilter value={workflowId ?? ''} change={(id) => change({ workflowId: id })} />
      </div>
      <SpendTable range={range} groupBy={groupBy} />
      <RoiFigures range={range} workflowId={workflowId} />
      <div className="grid gap-4 xl:grid-cols-2">
        <UsageBars />
        <IdleSavings range={range} />
      </div>
      <Batches range={range} workflowId={workflowId} />
    </Page>
  );
}

const pauseMs = 500;

/** Date field that waits for a complete year, because browsers report the year 0002 while 2026 is being typed. */
function DayField({ label, day, change }: { label: string; day: string; change: (day: string) => void }) {
  const [text, type] = useDelayedText(day, (typed) => /^[12]\d{3}-/.test(typed) && change(typed), pauseMs);
  return (
    <label className="flex items-center gap-1.5">
      <span className="text-dim max-sm:min-w-18">{label}</span>
      <input
        type="date"
        className={`${inputClass} w-auto`}
        value={text}
        onChange={({ target }) => type(target.value)}
      />
    </label>
  );
}

function WorkflowFilter({ value, change }: { value: string; change: (id: string) => void }) {
  const { data: workflows = [] } = useWorkflowChoices();
  const options = workflows.map(({ id, name }) => ({ value: id, label: name }));
  return <FilterSelect label="Returns of" value={value} options={options} all="all workflows" change={change} />;
}
