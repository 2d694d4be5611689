import { useQuery } from '@tanstack/react-query';
import { costsCosts } from '../../api/generated';
import { formatDuration, formatMoney } from '../../format/format';

const hourMs = 60 * 60 * 1000;

/** Machine time and cost that the adaptive idle stop policy saved, or would have saved, in the last 30 days. */
export function Savings() {
  const { data } = useQuery({
    queryKey: ['costs', 'idle'],
    queryFn: ({ signal }) => costsCosts({ query: { groupBy: 'day' }, signal }),
    staleTime: 60_000,
  });
  if (!data) return 'Loading the savings…';
  const { policy, onHours, adaptiveWouldSave, adaptiveSaved } = data.idle;
  const { hours, usd } = policy === 'adaptive' ? adaptiveSaved : adaptiveWouldSave;
  return (
    <>
      From {data.from} to {data.to} machines were on for {formatDuration(onHours * hourMs)} without a run; the adaptive
      policy {policy === 'adaptive' ? 'has saved' : 'would have saved'} {formatDuration(hours * hourMs)} (
      {formatMoney(usd)}).
    </>
  );
}
