import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { CostGroup } from '../../api/generated';
import { formatMoney } from '../../format/format';
import { useRunsOfDayFilter } from '../../parts/runs-of-day';
import { PlotFigure } from '../../ui/plots/plot-figure';
import { StackedDays, StackLegend } from '../../ui/plots/stacked-days';
import { listDaysFrom } from './range';

interface CostStackProps {
  from: string;
  count: number;
  groups: CostGroup[];
  heads: string[];
  /** Rows of the table below the plot. */
  children: ReactNode;
}

/** Spend by day, stacked by kind of cost. A click on a day opens the runs that ended on it. */
export function CostStack({ from, count, groups, heads, children }: CostStackProps) {
  const navigate = useNavigate();
  const runsOf = useRunsOfDayFilter();
  const days = listDaysFrom(from, count);
  const byDay = new Map(groups.map((group) => [group.key, group]));
  const listDailyCosts = (kind: 'computeUsd' | 'aiUsd' | 'reportedUsd') =>
    days.map((day) => byDay.get(day)?.[kind] ?? 0);
  const parts = [
    { name: 'Compute', values: listDailyCosts('computeUsd') },
    { name: 'AI', values: listDailyCosts('aiUsd') },
    { name: 'Reported by runs', values: listDailyCosts('reportedUsd') },
  ];
  return (
    <PlotFigure
      label="Spend"
      caption={
        <>
          <StackLegend names={parts.map(({ name }) => name)} /> Click a bar to see the runs that ended on its day.
        </>
      }
      heads={heads}
      rows={children}
    >
      <StackedDays
        days={days}
        parts={parts}
        format={formatMoney}
        pick={(day) => void navigate({ to: '/runs', search: runsOf(day) })}
      />
    </PlotFigure>
  );
}
