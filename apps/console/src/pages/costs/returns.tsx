import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { type Roi, roiRead } from '../../api/generated';
import { formatCountWithNoun, formatCount, formatDuration, formatMoney, formatOneDecimal } from '../../format/format';
import { ErrorNote } from '../../ui/error-note';
import { Panel, Skeleton } from '../../ui/page';
import { PlotSkeleton } from '../../ui/plots/plot-skeleton';
import { PlainTable } from '../../ui/table/plain-table';
import { ClaimFunnel } from './claim-funnel';
import type { Range } from './range';

const ClaimDays = lazy(async () => ({ default: (await import('./claim-days')).ClaimDays }));

type Figure = [name: string, value: string, definition: ReactNode];

/** Savings of runs: the main figures and the claims first, then every figure with its definition on request. */
export function RoiFigures({ range, workflowId }: { range: Range; workflowId: string | undefined }) {
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
        <div className="flex flex-col gap-4">
          <MainFigures roi={data} />
          <div className="grid gap-4 lg:grid-cols-2">
            <ClaimFunnel claims={data.claims} />
            {data.daily.length > 1 && (
              <Suspense fallback={<PlotSkeleton />}>
                <ClaimDays daily={data.daily} />
              </Suspense>
            )}
          </div>
          <details>
            <summary className="w-fit">All figures and their definitions</summary>
            <PlainTable label="Return on investment" heads={['Figure', 'Value', 'What it means']}>
              {buildFigures(data).map(([name, value, definition]) => (
                <tr key={name} className="align-top">
                  <th scope="row" className="border-t border-line py-1.5 text-left font-medium">
                    {name}
                  </th>
                  <td className="whitespace-nowrap tabular-nums">{value}</td>
                  <td className="text-dim">{definition}</td>
                </tr>
              ))}
            </PlainTable>
          </details>
        </div>
      )}
    </Panel>
  );
}

function MainFigures({ roi: { claims, cost, processing, savings } }: { roi: Roi }) {
  const figures: [name: string, value: string, context: string][] = [
    ['Net savings', formatMoney(savings.netUsd), `${formatMoney(savings.laborUsd)} of labor, minus the cost of runs`],
    [
      'Hours saved',
      formatOneDecimal(savings.hoursSaved),
      `${formatCountWithNoun(savings.minutesPerClaim, 'minute')} for each claim with a result`,
    ],
    [
      'Claims',
      formatCount(claims.attempted),
      claims.perHour === null ? 'attempted' : `attempted, ${formatOneDecimal(claims.perHour)} per hour`,
    ],
    [
      'Cost per claim',
      cost.perClaimUsd === null ? '–' : formatMoney(cost.perClaimUsd),
      processing.p50Seconds === null ? 'no claims' : `half take up to ${formatDuration(processing.p50Seconds * 1000)}`,
    ],
  ];
  return (
    <dl className="grid grid-cols-2 gap-x-6 gap-y-3 lg:grid-cols-4">
      {figures.map(([name, value, context]) => (
        <div key={name} className="flex flex-col">
          <dt className="text-xs text-dim">{name}</dt>
          <dd>
            <span className="block text-xl font-semibold tabular-nums">{value}</span>
            <span className="text-xs text-dim">{context}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function buildFigures({ batches, jobs, claims, processing, cost, savings }: Roi): Figure[] {
  const formatOrDash = (value: number | null, format: (value: number) => string) =>
    value === null ? '–' : format(value);
  const formatSeconds = (value: number) => formatDuration(value * 1000);
  const rates = (
    <Link to="/settings" search={{ part: 'Organization' }} className="text-accent underline">
      the organization’s settings
    </Link>
  );
  return [
    [
      'Batches',
      formatCount(batches),
      'Run summaries that practices reported, by the day on which the reported work started. The summaries are ' +
        'listed below.',
    ],
    ['Runs', formatCount(jobs), 'Number of different runs that these batches refer to.'],
    ['Claims attempted', formatCount(claims.attempted), 'All claims of these batches, with any outcome.'],
    [
      'EOB uploaded',
      formatCount(claims.eobUploaded),
      'Claims whose explanation of benefits (EOB) was found and uploaded.',
    ],
    [
      'No EOB found',
      formatCount(claims.noEobFound),
      'Claims that were looked up and had no explanation of benefits (EOB) yet.',
    ],
    ['Failed', formatCount(claims.failed), 'Claims that could not be processed.'],
    [
      'Claims per hour',
      formatOrDash(claims.perHour, formatOneDecimal),
      'Attempted claims divided by the hours of processing.',
    ],
    [
      'Processing time',
      formatSeconds(processing.totalSeconds),
      'Total processing time of all claims that report one, without the time for which runs waited for people.',
    ],
    [
      'Average per claim',
      formatOrDash(processing.averageSeconds, formatSeconds),
      'Processing time divided by the number of claims that report one.',
    ],
    [
      'Half of the claims within',
      formatOrDash(processing.p50Seconds, formatSeconds),
      'Median processing time of a claim.',
    ],
    [
      '95% of the claims within',
      formatOrDash(processing.p95Seconds, formatSeconds),
      '95th percentile of the processing time of a claim.',
    ],
    [
      'Cost of runs',
      formatMoney(cost.computeUsd),
      'Cost of the runs that these batches refer to. Each run is counted once.',
    ],
    ['Cost per claim', formatOrDash(cost.perClaimUsd, formatMoney), 'Cost of runs divided by the attempted claims.'],
    [
      'Hours saved',
      formatOneDecimal(savings.hoursSaved),
      <>
        Each claim that was looked up saves {formatCount(savings.minutesPerClaim)} minutes, whether its explanation of
        benefits was uploaded or none was found. The minutes are set in {rates}.
      </>,
    ],
    ['Labor saved', formatMoney(savings.laborUsd), <>Hours saved, multiplied by the hourly rate in {rates}.</>],
    ['Net', formatMoney(savings.netUsd), 'Labor saved minus the cost of runs.'],
    [
      'Return',
      savings.roiPercent === null ? '–' : `${formatOneDecimal(savings.roiPercent)}%`,
      'Net savings divided by the cost of runs. Empty if the runs cost nothing.',
    ],
  ];
}
