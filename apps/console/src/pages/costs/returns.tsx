import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Roi, roiRead } from '../../api/generated';
import { formatCount, formatDuration, formatMoney } from '../../format/format';
import { ErrorNote } from '../../ui/error-note';
import { Panel, Skeleton } from '../../ui/page';
import { PlainTable } from '../../ui/table/plain-table';
import type { Range } from './range';

type Figure = [name: string, value: string, definition: ReactNode];

/** What runs saved, each figure with what it means, for whoever has to stand by it. */
export function Returns({ range, workflowId }: { range: Range; workflowId: string | undefined }) {
  const query = { ...range, ...(workflowId ? { workflowId } : {}) };
  const { data, error, refetch } = useQuery({
    queryKey: ['roi', query],
    queryFn: ({ signal }) => roiRead({ query, signal }),
    placeholderData: (previous) => previous,
  });
  return (
    <Panel title="Return on investment">
      {error && <ErrorNote error={error} retry={() => void refetch()} />}
      {!data && !error && <Skeleton rows={8} />}
      {data && (
        <PlainTable label="Return on investment" heads={['Figure', 'Value', 'What it means']}>
          {figuresOf(data).map(([name, value, definition]) => (
            <tr key={name} className="align-top">
              <th scope="row" className="border-t border-line py-1.5 text-left font-medium">
                {name}
              </th>
              <td className="whitespace-nowrap tabular-nums">{value}</td>
              <td className="text-dim">{definition}</td>
            </tr>
          ))}
        </PlainTable>
      )}
    </Panel>
  );
}

function figuresOf({ batches, jobs, claims, processing, cost, savings }: Roi): Figure[] {
  const orDash = (value: number | null, format: (value: number) => string) => (value === null ? '–' : format(value));
  const seconds = (value: number) => formatDuration(value * 1000);
  const rates = (
    <Link to="/settings" search={{ part: 'Organization' }} className="text-accent underline">
      the organization’s settings
    </Link>
  );
  return [
    [
      'Batches',
      formatCount(batches),
      'Summaries that practices reported, by the day on which they began; listed below.',
    ],
    ['Runs', formatCount(jobs), 'The different runs that those batches name.'],
    ['Claims attempted', formatCount(claims.attempted), 'All claims of those batches, whatever came of them.'],
    ['EOB uploaded', formatCount(claims.eobUploaded), 'Claims whose explanation of benefits was found and uploaded.'],
    ['No EOB found', formatCount(claims.noEobFound), 'Claims that were looked up, and had none yet.'],
    ['Failed', formatCount(claims.failed), 'Claims that came to nothing.'],
    ['Claims an hour', orDash(claims.perHour, formatCount), 'Attempted claims by the hours of processing.'],
    ['Processing', seconds(processing.totalSeconds), 'The time of all claims that have one.'],
    ['Average of a claim', orDash(processing.averageSeconds, seconds), 'That time by the number of those claims.'],
    ['Half of the claims within', orDash(processing.p50Seconds, seconds), 'The median of their times.'],
    ['95 of 100 claims within', orDash(processing.p95Seconds, seconds), 'The 95th percentile of their times.'],
    ['Cost of runs', formatMoney(cost.computeUsd), 'What those runs cost, each of them once.'],
    ['Cost of a claim', orDash(cost.perClaimUsd, formatMoney), 'The cost of runs by the attempted claims.'],
    [
      'Hours saved',
      formatCount(savings.hoursSaved),
      <>
        {formatCount(savings.minutesPerClaim)} minutes for each claim with an EOB or without one found, as {rates} say.
      </>,
    ],
    ['Labour saved', formatMoney(savings.laborUsd), <>Those hours at the hourly rate of {rates}.</>],
    ['Net', formatMoney(savings.netUsd), 'Labour saved, less the cost of runs.'],
    [
      'Return',
      savings.roiPercent === null ? '–' : `${formatCount(savings.roiPercent)} %`,
      'Net by the cost of runs; there is none where they cost nothing.',
    ],
  ];
}
