import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { isApiError } from '../../api/api-error';
import { type SchedulePreview, schedulesPreviewAny } from '../../api/generated';
import { describeCron } from '../../format/describe-cron';
import { Skeleton } from '../../ui/page';
import { NextTimes } from './next-times';

const pauseMs = 300;
const shownTimes = 5;

export interface CronFacts {
  words: string | null;
  /** Next times of this expression in this time zone; undefined while they are loaded. */
  times: SchedulePreview | undefined;
  /** Error in the expression or the time zone. */
  fault: { field: string | undefined; message: string } | undefined;
}

/** Describes an expression and reads its next times from the service once typing pauses. */
export function useCronPreview(cron: string, timezone: string): CronFacts {
  const [previewed, setPreviewed] = useState({ cron, timezone });
  useEffect(() => {
    const timer = setTimeout(() => setPreviewed({ cron, timezone }), pauseMs);
    return () => clearTimeout(timer);
  }, [cron, timezone]);
  const { data, error } = useQuery({
    queryKey: ['cron', previewed],
    queryFn: ({ signal }) =>
      schedulesPreviewAny({
        body: { cronExpression: previewed.cron, timezone: previewed.timezone, count: shownTimes },
        signal,
      }),
    staleTime: 60_000,
  });
  const isOfThese = previewed.cron === cron && previewed.timezone === timezone;
  return {
    words: describeCron(cron),
    times: isOfThese ? data : undefined,
    fault: isOfThese && error ? toCronFault(error) : undefined,
  };
}

function toCronFault(error: Error): CronFacts['fault'] {
  if (!isApiError(error)) return { field: undefined, message: 'The next times could not be loaded.' };
  const [first] = error.fields;
  return { field: first?.field, message: first?.message ?? error.message };
}

/** An expression in words and its next times, with the effects of clock changes. */
export function CronPreview({ id, facts: { words, times, fault } }: { id: string; facts: CronFacts }) {
  return (
    <div id={id} data-testid="cron-preview" role="status" className="min-h-40 rounded-control bg-sunken p-3">
      {words && <p className="mb-1.5 font-medium">{words}</p>}
      {fault ? (
        <p className="text-bad">{fault.message}</p>
      ) : times ? (
        <NextTimes runs={times.runs} timezone={times.timezone} />
      ) : (
        <Skeleton />
      )}
    </div>
  );
}
