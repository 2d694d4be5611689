import type { RoiDay } from '../../api/generated';
import { formatCount, formatDay } from '../../format/format';
import { PlotFigure } from '../../ui/plots/plot-figure';
import { StackedDays, StackLegend } from '../../ui/plots/stacked-days';
import { useUrlState } from '../../ui/table/use-url-state';

/** Claims by day, stacked by outcome. A click on a day narrows the page to it, with its batches. */
export function ClaimDays({ daily }: { daily: RoiDay[] }) {
  const [, change] = useUrlState();
  const showDay = (day: string) => change({ from: day, to: day });
  const parts = [
    { name: 'EOB uploaded', values: daily.map(({ claims }) => claims.eobUploaded) },
    { name: 'No EOB found', values: daily.map(({ claims }) => claims.noEobFound) },
    { name: 'Failed', values: daily.map(({ claims }) => claims.failed) },
  ];
  return (
    <PlotFigure
      label="Claims by day"
      caption={
        <>
          <StackLegend names={parts.map(({ name }) => name)} /> Click a bar to see only its day.
        </>
      }
      heads={['Day', 'Attempted', ...parts.map(({ name }) => name)]}
      rows={daily.map(({ date, claims }) => (
        <tr key={date} className="tabular-nums">
          <td>
            <button type="button" className="text-accent hover:underline" onClick={() => showDay(date)}>
              {formatDay(date)}
            </button>
          </td>
          <td>{formatCount(claims.attempted)}</td>
          <td>{formatCount(claims.eobUploaded)}</td>
          <td>{formatCount(claims.noEobFound)}</td>
          <td>{formatCount(claims.failed)}</td>
        </tr>
      ))}
    >
      <StackedDays days={daily.map(({ date }) => date)} parts={parts} format={formatCount} pick={showDay} />
    </PlotFigure>
  );
}
