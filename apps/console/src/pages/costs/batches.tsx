import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type PilotBatch, type PilotBatchList, pilotBatchesList, pilotBatchesRead } from '../../api/generated';
import { useList } from '../../api/use-list';
import { formatCount, formatDuration, formatMoney } from '../../format/format';
import { Time } from '../../format/time';
import { RunLink } from '../../parts/names';
import { Dialog } from '../../ui/dialog';
import { ErrorNote } from '../../ui/error-note';
import { FactList, Skeleton } from '../../ui/page';
import { PlainTable } from '../../ui/table/plain-table';
import { SimpleList } from '../../ui/table/simple-list';
import type { Range } from './range';

const getBatches = (page: PilotBatchList) => page.batches;
const mostClaims = 200;

/** Batches that the savings are computed from, each with its run and its claims. */
export function Batches({ range, workflowId }: { range: Range; workflowId: string | undefined }) {
  const [shown, setShown] = useState<string | null>(null);
  const query = { ...range, ...(workflowId ? { workflowId } : {}) };
  const list = useList({
    queryKey: ['pilot-batches', query],
    fetchPage: (page, signal) => pilotBatchesList({ query: { ...page, ...query }, signal }),
    itemsOf: getBatches,
  });
  return (
    <>
      <SimpleList
        title="Batches"
        list={list}
        empty="No batches in these days. A batch appears here when a run reports a run summary."
        heads={['Batch', 'Run', 'Started', 'Attempted', 'EOB uploaded', 'No EOB', 'Failed', 'Processing', 'Cost']}
        row={(batch) => (
          <tr key={batch.batchId} className="tabular-nums">
            <td>
              <button
                type="button"
                className="max-w-60 truncate text-accent hover:underline"
                onClick={() => setShown(batch.batchId)}
              >
                <bdi>{batch.batchId}</bdi>
              </button>
            </td>
            <td>{batch.jobId ? <RunLink id={batch.jobId} /> : <span className="text-dim">none</span>}</td>
            <td>
              <Time at={batch.startedAt ?? batch.finishedAt ?? batch.ingestedAt} />
            </td>
            <td>{formatCount(batch.claims.attempted)}</td>
            <td>{formatCount(batch.claims.eobUploaded)}</td>
            <td>{formatCount(batch.claims.noEobFound)}</td>
            <td>{formatCount(batch.claims.failed)}</td>
            <td>{formatSeconds(batch.processingSeconds)}</td>
            <td>{batch.totalCostUsd === null ? '–' : formatMoney(batch.totalCostUsd)}</td>
          </tr>
        )}
      />
      {shown !== null && (
        <Dialog open onOpenChange={() => setShown(null)} title={`Batch ${shown}`} wide>
          <BatchDetails id={shown} />
        </Dialog>
      )}
    </>
  );
}

function BatchDetails({ id }: { id: PilotBatch['batchId'] }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['pilot-batches', 'one', id],
    queryFn: ({ signal }) => pilotBatchesRead({ path: { batchId: id }, signal }),
  });
  if (!data) return error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={6} />;
  const { claimResults, stopEvents } = data;
  return (
    <>
      <FactList
        facts={[
          ['Run', data.jobId ? <RunLink id={data.jobId} /> : 'none'],
          ['Process', <bdi>{data.workerKey ?? '–'}</bdi>],
          ['Started', <Time at={data.startedAt} />],
          ['Ended', <Time at={data.finishedAt} />],
          ['Reported', <Time at={data.ingestedAt} />],
          ...stopEvents.map(({ reason, detail }, at): [string, string] => [
            at === 0 ? 'Stopped' : '',
            detail ? `${reason}: ${detail}` : reason,
          ]),
        ]}
      />
      <PlainTable label="Claims" heads={['Claim', 'NPI', 'Outcome', 'Processing', 'Message']}>
        {claimResults.slice(0, mostClaims).map((claim) => (
          <tr key={claim.id}>
            <td>
              <bdi>{claim.claimId}</bdi>
            </td>
            <td>
              <bdi>{claim.npi ?? '–'}</bdi>
            </td>
            <td>{claim.outcome.replaceAll('_', ' ')}</td>
            <td className="tabular-nums">{formatSeconds(claim.processingSeconds)}</td>
            <td>
              <bdi>{claim.message ?? '–'}</bdi>
            </td>
          </tr>
        ))}
      </PlainTable>
      {claimResults.length > mostClaims && (
        <p className="text-dim">
          The first {formatCount(mostClaims)} of {formatCount(claimResults.length)} claims.
        </p>
      )}
    </>
  );
}

function formatSeconds(seconds: number | null): string {
  return seconds === null ? '–' : formatDuration(seconds * 1000);
}
