import { useQuery } from '@tanstack/react-query';
import { agentsSavings } from '../../api/generated';
import { formatCount, formatMoney } from '../../format/format';
import { ErrorNote } from '../../ui/error-note';
import { Facts, Skeleton } from '../../ui/page';

/** What the other way of stopping would have saved on this machine, or has. */
export function Savings({ agentId }: { agentId: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['agent', agentId, 'savings'],
    queryFn: ({ signal }) => agentsSavings({ path: { id: agentId }, signal }),
    staleTime: 60_000,
  });
  const hours = (value: number) => `${formatCount(Math.round(value * 100) / 100)} h`;
  return (
    <section aria-label="Savings of the last 30 days" className="mt-4 border-t border-line pt-3">
      <h3 className="mb-2 font-medium">The last 30 days</h3>
      {error && !data ? <ErrorNote error={error} retry={() => void refetch()} /> : !data && <Skeleton rows={2} />}
      {data && (
        <Facts
          facts={[
            ['Idle', `${hours(data.idleHours)}, of which it was on for ${hours(data.onHours)}`],
            [
              'Adaptive would save',
              `${hours(data.adaptiveWouldSave.hours)}, ${formatMoney(data.adaptiveWouldSave.usd)}`,
            ],
            ['Adaptive has saved', `${hours(data.adaptiveSaved.hours)}, ${formatMoney(data.adaptiveSaved.usd)}`],
          ]}
        />
      )}
    </section>
  );
}
