import { FilterSelect } from '../../ui/table/filter-select';
import type { Range } from './range';

interface MonthFilterProps {
  range: Range;
  /** Whether these are the default days. */
  isDefault: boolean;
  /** Called with undefined for the default days. */
  change: (range: Partial<Range>) => void;
}

const monthsBack = 12;
const formatMonth = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' });

/** Chooses the days of a whole month: the current one up to today, or one of the 12 months before. */
export function MonthFilter({ range, isDefault, change }: MonthFilterProps) {
  const months = listMonths(new Date());
  const chosen = months.find(({ from, to }) => from === range.from && to === range.to);
  return (
    <FilterSelect
      label="Month"
      value={chosen?.from ?? ''}
      options={months.map(({ from, name }) => ({ value: from, label: name }))}
      all={isDefault || chosen ? 'last 30 days' : 'other days'}
      change={(first) => {
        const { from, to } = months.find((month) => month.from === first) ?? {};
        change({ from, to });
      }}
    />
  );
}

function listMonths(now: Date): (Range & { name: string })[] {
  return Array.from({ length: monthsBack + 1 }, (_, ago) => {
    const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago, 1));
    const last = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago + 1, 0));
    const end = last > now ? now : last;
    return { name: formatMonth.format(first), from: formatDay(first), to: formatDay(end) };
  });
}

function formatDay(date: Date): string {
  return date.toISOString().slice(0, 10);
}
