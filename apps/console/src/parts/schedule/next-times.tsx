import type { PreviewRun } from '../../api/generated';
import { formatInZone } from '../../format/format';

const shifts: Record<NonNullable<PreviewRun['shift']>, string> = {
  gap: 'this local time does not exist on that day, so the run starts right after the gap',
  overlap: 'this local time occurs twice on that day; the run starts the first time',
};

/** Times in the schedule's time zone. */
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
