import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { isApiError } from '../../api/api-error';
import { schedulesPreviewAny } from '../../api/generated';
import { cronInWords } from '../../format/cron-words';
import { NextTimes } from './next-times';

const pauseMs = 300;
const shownTimes = 5;

/** What an expression means, in words and as the next times, with what a change of the clocks does to them. */
export function CronPreview({ cron, timezone }: { cron: string; timezone: string }) {
  const [asked, setAsked] = useState({ cron, timezone });
  useEffect(() => {
    const timer = setTimeout(() => setAsked({ cron, timezone }), pauseMs);
    return () => clearTimeout(timer);
  }, [cron, timezone]);
  const { data, error } = useQuery({
    queryKey: ['cron', asked],
    queryFn: ({ signal }) =>
      schedulesPreviewAny({
        body: { cronExpression: asked.cron, timezone: asked.timezone, count: shownTimes },
        signal,
      }),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
  const words = cronInWords(cron);
  return (
    <div data-testid="cron-preview" role="status" className="rounded-control bg-sunken p-3">
      {words && <p className="mb-1.5 font-medium">{words}</p>}
      {error ? (
        <p className="text-bad">
          {isApiError(error) ? (error.fields[0]?.message ?? error.message) : 'It could not be looked at.'}
        </p>
      ) : (
        data && <NextTimes runs={data.runs} timezone={data.timezone} />
      )}
    </div>
  );
}
