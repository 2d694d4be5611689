import { useQuery } from '@tanstack/react-query';
import { agentsSavings } from '../../api/generated';
import { formatCount, formatMoney } from '../../format/format';
import { ErrorNote } from '../../ui/error-note';
import { FactList, Skeleton } from '../../ui/page';

/** Idle time of this machine, and the savings that adaptive stop achieved or would have achieved. */
export function Savings({ agentId }: { agentId: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['agent', agentId, 'savings'],
    queryFn: ({ signal }) => agentsSavings({ path: { id: agentId }, signal }),
    staleTime: 60_000,
  });
  const formatHours = (value: number) => `${formatCount(Math.round(value * 100) / 100)} h`;
  return (
    <section aria-label="Savings of the last 30 days" className="mt-4 border-t border-line pt-3">
      <h3 className="mb-2 font-medium">Last 30 days</h3>
      {error && !data ? <ErrorNote error={error} retry={() => void refetch()} /> : !data && <Skeleton rows={2} />}
      {data && (
        <FactList
          facts={[
            ['Idle', `${formatHours(data.idleHours)}, of which the machine was on for ${formatHours(data.onHours)}`],
            [
              'Adaptive idle stop would have saved',
              `${formatHours(data.adaptiveWouldSave.hours)}, ${formatMoney(data.adaptiveWouldSave.usd)}`,
            ],
            [
              'Saved by adaptive idle stop',
              `${formatHours(data.adaptiveSaved.hours)}, ${formatMoney(data.adaptiveSaved.usd)}`,
            ],
          ]}
        />
      )}
    </section>
  );
}
