import { useQuery } from '@tanstack/react-query';
import { usageRead } from '../api/generated';
import { formatCount, formatMoney, formatMonth } from '../format/format';
import { ErrorNote } from '../ui/error-note';
import { Panel, Progress, Skeleton } from '../ui/page';

/** Runs and spend of a month, by default the current one, compared with their limits. */
export function UsageBars({ month }: { month?: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['usage', month],
    queryFn: ({ signal }) => usageRead({ query: month ? { month } : {}, signal }),
  });
  if (!data) {
    return (
      <Panel title="Usage">
        {error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={2} />}
      </Panel>
    );
  }
  const { limits } = data;
  return (
    <Panel title={`Used in ${formatMonth(data.month)}`}>
      <div className="flex flex-col gap-2">
        <UsageBar label="Runs" used={data.runs} limit={limits.monthlyRunLimit} format={formatCount} />
        <UsageBar label="Spend" used={data.spendUsd} limit={limits.monthlySpendLimitUsd} format={formatMoney} />
        <p className="text-dim">
          {formatCount(data.completed)} completed, {formatCount(data.failed)} failed, {formatCount(data.cancelled)}{' '}
          cancelled; {formatCount(Math.round(data.runMinutes))} minutes of runs.
        </p>
        {!data.canLaunchRuns && (
          <p className="font-medium text-warn">Runs cannot be launched now{data.reason ? `: ${data.reason}` : '.'}</p>
        )}
      </div>
    </Panel>
  );
}

interface UsedProps {
  label: string;
  used: number;
  limit: number | null;
  format: (value: number) => string;
}

function UsageBar({ label, used, limit, format }: UsedProps) {
  return (
    <div>
      <p className="mb-1">
        {label}: <span className="font-medium tabular-nums">{format(used)}</span>
        {limit === null ? <span className="text-dim"> (no limit)</span> : ` of ${format(limit)}`}
      </p>
      {limit !== null && <Progress percent={limit === 0 ? 100 : (used / limit) * 100} label={`${label} used`} />}
    </div>
  );
}
