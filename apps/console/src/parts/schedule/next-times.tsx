import type { PreviewRun } from '../../api/generated';
import { formatInZone } from '../../format/format';

const shifts: Record<NonNullable<PreviewRun['shift']>, string> = {
  gap: 'its time is skipped that day by the clocks, so it runs right after',
  overlap: 'its time comes twice that day; it runs the first time',
};

/** Times as the clocks of the schedule's zone show them. */
export function NextTimes({ runs, timezone }: { runs: PreviewRun[]; timezone: string }) {
  return (
    <ol>
      {runs.map(({ at, shift }) => (
        <li key={at} className="tabular-nums">
          {formatInZone(at, timezone)}
          {shift && (
            <span className="text-warn">
              {' '}
              · clocks change ({shift}): {shifts[shift]}
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}
