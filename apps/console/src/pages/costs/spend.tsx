import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { type CostGroup, costsCosts, type CostsCostsData } from '../../api/generated';
import { formatCount, formatDay, formatMoney } from '../../format/format';
import { useRunsOfDayFilter } from '../../parts/runs-of-day';
import { ErrorNote } from '../../ui/error-note';
import { EmptyNote, Panel, Skeleton } from '../../ui/page';
import { PlotSkeleton } from '../../ui/plots/plot-skeleton';
import { PlainTable } from '../../ui/table/plain-table';
import type { Range } from './range';

const CostStack = lazy(async () => ({ default: (await import('./cost-stack')).CostStack }));

export type GroupBy = NonNullable<NonNullable<CostsCostsData['query']>['groupBy']>;
export const groupings: readonly GroupBy[] = ['day', 'workflow', 'agent', 'model', 'schedule'];
const mostDays = 366;

/** Spend by the selected grouping. A group links to its runs if the list of runs can be filtered by it. */
export function SpendTable({ range, groupBy }: { range: Range; groupBy: GroupBy }) {
  const query = { ...range, groupBy };
  const { data, error, refetch } = useQuery({
    queryKey: ['costs', query],
    queryFn: ({ signal }) => costsCosts({ query, signal }),
    placeholderData: (previous) => previous,
  });
  const renderRow = (group: CostGroup) => (
    <tr key={group.key} className="tabular-nums">
      <td>
        <GroupLink groupBy={data?.groupBy ?? groupBy} group={group} range={range} />
      </td>
      <td>{formatCount(group.runs)}</td>
      <td>{formatMoney(group.aiUsd)}</td>
      <td>{formatMoney(group.computeUsd)}</td>
      <td>{formatMoney(group.reportedUsd)}</td>
      <td className="font-medium">{formatMoney(group.totalUsd)}</td>
    </tr>
  );
  const count = Math.round((Date.parse(range.to) - Date.parse(range.from)) / 86_400_000) + 1;
  return (
    <Panel title={data ? `Spend: ${formatMoney(data.totalUsd)}` : 'Spend'}>
      {error && <ErrorNote error={error} retry={() => void refetch()} />}
      {!data && !error && <Skeleton />}
      {data?.groups.length === 0 && <EmptyNote title="No spend in this period." />}
      {data && data.groups.length > 0 && (
        <>
          {data.groupBy === 'day' && count > 1 && count <= mostDays ? (
            <Suspense fallback={<PlotSkeleton />}>
              <CostStack from={range.from} count={count} groups={data.groups} heads={listColumnHeads(data.groupBy)}>
                {data.groups.map(renderRow)}
              </CostStack>
            </Suspense>
          ) : (
            <PlainTable label="Spend" heads={listColumnHeads(data.groupBy)}>
              {data.groups.map(renderRow)}
            </PlainTable>
          )}
        </>
      )}
    </Panel>
  );
}

const parameters: Partial<Record<GroupBy, string>> = {
  workflow: 'workflowId',
  agent: 'agentId',
  schedule: 'scheduleId',
};

function listColumnHeads(groupBy: GroupBy): string[] {
  return [groupBy, 'Runs', 'AI', 'Compute', 'Reported', 'Total'];
}

function GroupLink({ groupBy, group: { key, label }, range }: { groupBy: GroupBy; group: CostGroup; range: Range }) {
  const runsOf = useRunsOfDayFilter();
  const parameter = parameters[groupBy];
  const isThing = parameter && /^[0-9a-f-]{36}$/.test(key);
  if (!isThing && groupBy !== 'day') return <bdi>{label}</bdi>;
  const search = isThing ? { [parameter]: key, ...runsOf(range.from, range.to) } : runsOf(key);
  return (
    <Link to="/runs" search={search} className="text-accent hover:underline">
      <bdi>{isThing ? label : formatDay(label)}</bdi>
    </Link>
  );
}
