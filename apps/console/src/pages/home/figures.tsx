import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { type Agent, roiRead } from '../../api/generated';
import { usePermission } from '../../api/session';
import { formatCountWithNoun, formatCount, formatMoney, formatShare } from '../../format/format';
import { Time } from '../../format/time';
import { Progress } from '../../ui/page';
import { dayMs, formatUtcDay, useActivity, useMachines, useMonthCosts, useUsage, useWaitingRuns } from './home-queries';

const Spark = lazy(async () => ({ default: (await import('../../ui/plots/spark')).SparkLine }));

/** Up to five figures of the day and the month, as the user's permissions allow. Each links to its source. */
export function HomeFigures() {
  const seesRuns = usePermission('runs.read');
  const seesAgents = usePermission('agents.read');
  const seesCosts = usePermission('costs.read');
  return (
    <ul aria-label="Figures" className="grid grid-cols-2 gap-3 md:grid-cols-5 max-md:*:last:col-span-2">
      {seesRuns && <RunsToday />}
      {seesAgents && <MachinesOn />}
      {seesRuns && <WaitingFigure />}
      {seesCosts && <SpendOfMonth />}
      {seesCosts && <RoiFigure />}
    </ul>
  );
}

interface FigureProps {
  name: string;
  /** The figure's value; undefined while it is loading. */
  value: string | undefined;
  to: string;
  search?: Record<string, string>;
  /** Text next to the figure that explains its value, such as a comparison with yesterday. */
  beside?: ReactNode;
  plot?: ReactNode;
}

function FigureTile({ name, value, to, search, beside, plot }: FigureProps) {
  return (
    <li className="min-w-0">
      <Link
        to={to}
        search={search ?? {}}
        className="flex h-full min-h-28 flex-col rounded-panel border border-line bg-surface px-3.5 py-2.5 hover:bg-sunken/60"
      >
        <span className="text-xs text-dim">{name}</span>
        <span className="text-xl font-semibold tabular-nums">{value ?? '…'}</span>
        <span className="text-xs text-dim">{beside}</span>
        <span className="mt-auto block h-7 content-end pt-1">
          <Suspense>{plot}</Suspense>
        </span>
      </Link>
    </li>
  );
}

function RunsToday() {
  const { data } = useActivity();
  const midnight = new Date().setHours(0, 0, 0, 0);
  const today = data?.hours.filter(({ at }) => Date.parse(at) >= midnight) ?? [];
  const before = data?.hours.filter(({ at }) => Date.parse(at) < midnight) ?? [];
  const sumOutcomes = (hours: typeof today) => ({
    completed: hours.reduce((total, { completed }) => total + completed, 0),
    failed: hours.reduce((total, { failed }) => total + failed, 0),
  });
  const [now, then] = [sumOutcomes(today), sumOutcomes(before)];
  const formatSuccessRate = ({ completed, failed }: typeof now) => formatShare(completed, completed + failed);
  const byHour = Array.from({ length: 24 }, (_, hour) => {
    const found = today.find(({ at }) => new Date(at).getHours() === hour);
    return found ? found.completed + found.failed : 0;
  });
  return (
    <FigureTile
      name="Runs finished today"
      value={data && formatCount(now.completed + now.failed)}
      to="/runs"
      search={{ sort: '-finishedAt' }}
      beside={
        data &&
        `${formatSuccessRate(now)} succeeded · yesterday ${formatCount(then.completed + then.failed)}, ${formatSuccessRate(then)}`
      }
      plot={data && <Spark values={byHour} />}
    />
  );
}

const on: readonly Agent['status'][] = ['online', 'starting', 'rebooting', 'draining', 'stopping'];

function MachinesOn() {
  const { data } = useMachines();
  const machines = data?.items.filter(({ status }) => status !== 'terminated') ?? [];
  const up = machines.filter(({ status }) => on.includes(status));
  const busy = up.filter(({ currentJobId }) => currentJobId !== null).length;
  const pinned = up.filter(
    ({ idleAutoStopExempt, currentJobId }) => idleAutoStopExempt && currentJobId === null,
  ).length;
  const why = [
    busy > 0 && `${formatCount(busy)} running`,
    pinned > 0 && `${formatCount(pinned)} pinned`,
    up.length > busy + pinned && `${formatCount(up.length - busy - pinned)} idle`,
  ].filter(Boolean);
  return (
    <FigureTile
      name="Machines on"
      value={data && `${formatCount(up.length)} of ${formatCount(machines.length)}${data.isMore ? '+' : ''}`}
      to="/agents"
      search={{ status: 'online' }}
      beside={data && (why.join(' · ') || 'none on')}
      plot={
        data &&
        machines.length > 0 && (
          <Progress percent={(100 * busy) / Math.max(1, up.length)} label="Share of machines with a run" />
        )
      }
    />
  );
}

function WaitingFigure() {
  const { data } = useWaitingRuns();
  const oldest = data?.items.map(({ queuedAt }) => queuedAt).sort()[0];
  return (
    <FigureTile
      name="Waiting"
      value={data && `${formatCountWithNoun(data.items.length, 'run')}${data.isMore ? ' or more' : ''}`}
      to="/runs"
      search={{ status: 'queued', sort: 'queuedAt' }}
      beside={
        oldest ? (
          <>
            oldest queued <Time at={oldest} relative />
          </>
        ) : (
          data && 'no queued runs'
        )
      }
    />
  );
}

function SpendOfMonth() {
  const { data: usage } = useUsage();
  const { data: costs } = useMonthCosts();
  const limit = usage?.limits.monthlySpendLimitUsd ?? null;
  const byDay = new Map(costs?.groups.map(({ key, totalUsd }) => [key, totalUsd]));
  const days = Array.from({ length: 30 }, (_, at) => byDay.get(formatUtcDay(Date.now() - (29 - at) * dayMs)) ?? 0);
  return (
    <FigureTile
      name="Spent this month"
      value={usage && formatMoney(usage.spendUsd)}
      to="/costs"
      beside={
        usage &&
        (limit === null
          ? `${formatCountWithNoun(usage.runs, 'run')}, no limit`
          : `${formatShare(usage.spendUsd, limit)} of ${formatMoney(limit)}`)
      }
      plot={
        limit === null ? (
          costs && <Spark values={days} color="good" />
        ) : (
          <Progress
            percent={limit === 0 ? 100 : (100 * (usage?.spendUsd ?? 0)) / limit}
            label="Share of the monthly spend limit"
          />
        )
      }
    />
  );
}

function RoiFigure() {
  const to = formatUtcDay(Date.now());
  const from = `${to.slice(0, 8)}01`;
  const { data } = useQuery({
    queryKey: ['roi', { from, to }],
    queryFn: ({ signal }) => roiRead({ query: { from, to }, signal }),
    staleTime: 60_000,
    refetchInterval: dayMs / 288,
  });
  return (
    <FigureTile
      name="Claims this month"
      value={data && formatCount(data.claims.attempted)}
      to="/costs"
      search={{ from, to }}
      beside={
        data &&
        `${formatCountWithNoun(Math.round(data.savings.hoursSaved * 10) / 10, 'hour')} saved, ${formatMoney(data.savings.netUsd)} net`
      }
      plot={data && data.daily.length > 1 && <Spark values={data.daily.map(({ claims }) => claims.attempted)} />}
    />
  );
}
