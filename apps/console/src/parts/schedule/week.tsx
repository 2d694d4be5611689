import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type PreviewRun, type Schedule, schedulesPreview } from '../../api/generated';
import { settingsQuery } from '../../api/session';
import { describeCron } from '../../format/describe-cron';
import { chooseKnownZone } from '../../format/format';
import { ErrorNote } from '../../ui/error-note';
import { EmptyNote, Skeleton } from '../../ui/page';
import { listNextSevenDays, type WeekDay } from './list-next-seven-days';

const dayMs = 24 * 60 * 60 * 1000;
/** Maximum number of times per request. A schedule with more times in the week is listed above the days, in words. */
const most = 100;
const mostSchedules = 60;
const mostOfDay = 40;

interface Planned {
  schedule: Schedule;
  run: PreviewRun;
}

/** Planned runs of the next seven days in the organization's time zone, with its clock changes. */
export function PlannedRunsOfWeek({ schedules }: { schedules: Schedule[] }) {
  const { data: settings } = useQuery(settingsQuery);
  const planned = schedules.filter(({ enabled }) => enabled).slice(0, mostSchedules);
  const { runs, often, isPending, error } = useQueries({
    queries: planned.map((schedule) => ({
      queryKey: ['schedules', 'week', schedule.id, schedule.updatedAt],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        schedulesPreview({ path: { id: schedule.id }, query: { count: most }, signal }),
      staleTime: 5 * 60_000,
    })),
    combine: (answers) => {
      const until = Date.now() + 7 * dayMs;
      const all = answers.map(({ data }) => data?.runs ?? []);
      const isOften = all.map((each) => each.length === most && Date.parse(each.at(-1)!.at) < until);
      return {
        runs: all.flatMap((each, at) => (isOften[at] ? [] : each.map((run) => ({ schedule: planned[at]!, run })))),
        often: planned.filter((_, at) => isOften[at]),
        isPending: answers.some((answer) => answer.isPending),
        error: answers.find((answer) => answer.error)?.error,
      };
    },
  });
  if (!settings || isPending) return <Skeleton rows={6} />;
  if (error && runs.length === 0) return <ErrorNote error={error} />;
  if (planned.length === 0)
    return (
      <EmptyNote title="Nothing is planned, because every schedule is paused. Resume a schedule to see its times." />
    );
  const zone = chooseKnownZone(settings.timezone);
  const days = listNextSevenDays(new Date(), zone);
  return (
    <section aria-label="Week" className="flex flex-col gap-3">
      <p className="text-dim">
        The next seven days in the time zone {zone}.
        {schedules.length > mostSchedules && ` Only the first ${mostSchedules} schedules are shown.`}
      </p>
      {often.length > 0 && (
        <ul aria-label="Schedules with many runs" className="rounded-panel border border-line bg-surface p-3">
          {often.map((schedule) => (
            <li key={schedule.id}>
              <ScheduleLink schedule={schedule} />{' '}
              <span className="text-dim">
                {describeCron(schedule.cronExpression) ?? schedule.cronExpression}
                {schedule.timezone !== zone && ` (${schedule.timezone})`}
              </span>
            </li>
          ))}
        </ul>
      )}
      <ol className="grid gap-px overflow-hidden rounded-panel border border-line bg-line lg:grid-cols-7">
        {days.map((day) => (
          <WeekDayColumn
            key={day.label}
            day={day}
            runs={runs.filter(({ run }) => isOnDay(day, run))}
            nothing={often.length > 0 ? 'nothing else' : 'nothing'}
            zone={zone}
          />
        ))}
      </ol>
    </section>
  );
}

interface DayProps {
  day: WeekDay;
  runs: Planned[];
  /** Text that is shown for a day without runs. */
  nothing: string;
  zone: string;
}

function WeekDayColumn({ day, runs, nothing, zone }: DayProps) {
  const shown = runs.sort((one, other) => (one.run.at < other.run.at ? -1 : 1)).slice(0, mostOfDay);
  return (
    <li data-testid="week-day" className="min-w-0 bg-surface p-2">
      <h3 className="font-medium">{day.label}</h3>
      {day.clockChange && <p className="text-xs text-warn">{day.clockChange}</p>}
      <ul className="mt-1 flex flex-col gap-1">
        {shown.map(({ schedule, run }) => (
          <li key={`${schedule.id} ${run.at}`} className="min-w-0 text-xs">
            <time dateTime={run.at} className="tabular-nums" title={`${run.local} in ${schedule.timezone}`}>
              {formatTimeInZone(run.at, zone)}
            </time>{' '}
            <ScheduleLink schedule={schedule} />
            {run.shift && <span className="text-warn"> clocks change ({run.shift})</span>}
          </li>
        ))}
      </ul>
      {runs.length > shown.length && <p className="text-xs text-dim">and {runs.length - shown.length} more</p>}
      {runs.length === 0 && <p className="text-xs text-dim">{nothing}</p>}
    </li>
  );
}

function ScheduleLink({ schedule: { id, name } }: { schedule: Schedule }) {
  return (
    <Link to="/schedules/$id" params={{ id }} className="break-words text-accent hover:underline">
      <bdi>{name}</bdi>
    </Link>
  );
}

function isOnDay({ from, to }: WeekDay, { at }: PreviewRun): boolean {
  const time = Date.parse(at);
  return time >= from && time < to;
}

function formatTimeInZone(at: string, timeZone: string): string {
  const options = { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  return new Intl.DateTimeFormat(undefined, options).format(new Date(at));
}
