import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { costsCosts } from '../../api/generated';
import { formatDuration, formatMoney } from '../../format/format';
import { ErrorNote } from '../../ui/error-note';
import { FactList, Panel, Skeleton } from '../../ui/page';
import type { Range } from './range';

const hourMs = 60 * 60 * 1000;

/** Time that machines were on without a run, and the savings of adaptive stop. */
export function IdleSavings({ range }: { range: Range }) {
  const query = { ...range, groupBy: 'day' as const };
  const { data, error, refetch } = useQuery({
    queryKey: ['costs', query],
    queryFn: ({ signal }) => costsCosts({ query, signal }),
    placeholderData: (previous) => previous,
  });
  return (
    <Panel title="Idle machines">
      {error && <ErrorNote error={error} retry={() => void refetch()} />}
      {!data && !error && <Skeleton rows={3} />}
      {data && (
        <>
          <FactList
            facts={[
              ['On without a run', formatDuration(data.idle.onHours * hourMs)],
              ['Saved by adaptive idle stop', describeSavings(data.idle.adaptiveSaved)],
              ['Adaptive idle stop would have saved', describeSavings(data.idle.adaptiveWouldSave)],
              [
                'Current policy',
                <Link to="/settings" search={{ part: 'Organization' }} className="text-accent hover:underline">
                  {data.idle.policy}
                </Link>,
              ],
            ]}
          />
          <p className="mt-2 text-xs text-dim">
            Time for which machines were on between two runs on these days. The spend above does not include the cost of
            this time.
          </p>
        </>
      )}
    </Panel>
  );
}

function describeSavings({ hours, usd }: { hours: number; usd: number }): string {
  return `${formatDuration(hours * hourMs)}, ${formatMoney(usd)}`;
}
