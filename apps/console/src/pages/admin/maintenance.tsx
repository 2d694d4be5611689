import { useQuery } from '@tanstack/react-query';
import { loopsLoops, type MaintenanceLoop } from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { formatCount, formatDuration } from '../../format/format';
import { Time } from '../../format/time';
import { ErrorNote } from '../../ui/error-note';
import { EmptyNote, Panel, Skeleton } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { PlainTable } from '../../ui/table/plain-table';

/** Maintenance loops of the service, with their last rounds and the rows that they fail to process. */
export function MaintenanceLoops() {
  const { data, error, refetch } = useQuery({
    queryKey: ['loops'],
    queryFn: ({ signal }) => loopsLoops({ signal }),
    refetchInterval: pollMs,
  });
  if (!data) return error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={8} />;
  return (
    <Panel title="Maintenance">
      {data.loops.length === 0 && (
        <EmptyNote title="No maintenance has run yet.">
          Each maintenance task of the service appears here after its first run.
        </EmptyNote>
      )}
      <PlainTable label="Maintenance" heads={['Loop', 'State', 'Last round', 'Duration', 'Interval', 'Result']}>
        {data.loops.map((loop) => (
          <LoopRow key={`${loop.app} ${loop.name}`} loop={loop} />
        ))}
      </PlainTable>
    </Panel>
  );
}

function LoopRow({
  loop: { name, app, host, lastRunAt, durationMs, intervalMs, counts, failed, error, stuck },
}: {
  loop: MaintenanceLoop;
}) {
  const did = Object.entries(counts).map(([what, count]) => `${what} ${String(count)}`);
  return (
    <tr className="align-top">
      <td title={`${app} on ${host}`}>{name}</td>
      <td>
        <StatusMark status={error || failed > 0 || stuck.length > 0 ? 'failed' : 'passed'} />
        {error && <bdi className="block text-xs text-bad">{error}</bdi>}
        {stuck.map((row) => (
          <bdi key={row.row} className="block text-xs text-bad">
            {row.row}: {row.error}, {formatCount(row.times)} times
          </bdi>
        ))}
      </td>
      <td>
        <Time at={lastRunAt} relative />
      </td>
      <td className="whitespace-nowrap tabular-nums">{formatDuration(durationMs)}</td>
      <td className="whitespace-nowrap tabular-nums">{formatDuration(intervalMs)}</td>
      <td className="text-dim">{did.join(', ') || '–'}</td>
    </tr>
  );
}
