import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { type ScheduleDetail, schedulesPreview, schedulesRead } from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { usePermission } from '../../api/session';
import { readWithEtag } from '../../api/versioned';
import { describeCron } from '../../format/describe-cron';
import { formatMoney } from '../../format/format';
import { Time } from '../../format/time';
import { formatAccounts } from '../../parts/guards/accounts';
import { formatConcurrencyKeys } from '../../parts/guards/concurrency-keys';
import { AgentOfRun, ChangesLink, RunLink, WorkflowLink } from '../../parts/names';
import { NextTimes } from '../../parts/schedule/next-times';
import { describeSkipReason } from '../../parts/schedule/reasons';
import { PlannedRunsOfWeek } from '../../parts/schedule/week';
import { ScheduleMenu } from '../../parts/schedule-menu';
import { Button, getButtonClass } from '../../ui/button';
import { ErrorNote } from '../../ui/error-note';
import { EmptyNote, FactList, Page, Panel, Skeleton } from '../../ui/page';
import { PlainTable } from '../../ui/table/plain-table';
import { StatusMark } from '../../ui/status-mark';
import { EditScheduleDialog } from './edit-schedule';

const nextRuns = 10;

export function SchedulePage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const { data, error, refetch } = useQuery({
    queryKey: ['schedules', 'one', id],
    queryFn: ({ signal }) => readWithEtag((options) => schedulesRead({ ...options, path: { id }, signal })),
    refetchInterval: pollMs,
  });
  const [isEdited, setEdited] = useState(false);
  const mayChange = usePermission('schedules.write');
  if (!data) {
    return (
      <Page title="Schedule">
        {error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={8} />}
      </Page>
    );
  }
  return (
    <Page
      title={data.name}
      aside={<StatusMark status={data.enabled ? 'enabled' : 'disabled'} large />}
      actions={
        <>
          <Link to="/runs" search={{ scheduleId: id }} className={getButtonClass()}>
            Runs
          </Link>
          {mayChange && <Button onClick={() => setEdited(true)}>Edit schedule</Button>}
          <ScheduleMenu schedule={data} />
        </>
      }
    >
      {error && <ErrorNote error={error} retry={() => void refetch()} />}
      <p>{describeCron(data.cronExpression)}</p>
      <div className="grid gap-4 xl:grid-cols-[minmax(0,1fr)_minmax(0,24rem)]">
        <div className="flex min-w-0 flex-col gap-4">
          {data.enabled && (
            <Panel title="This week">
              <PlannedRunsOfWeek schedules={[data]} />
            </Panel>
          )}
          <ScheduleHistory schedule={data} />
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <NextRuns schedule={data} />
          <Panel title="About">
            <FactList
              facts={[
                ['Workflow', <WorkflowLink id={data.scriptId} />],
                ['Agent', <AgentOfRun run={data} />],
                ['Cron', <code className="font-mono text-xs">{data.cronExpression}</code>],
                ['Timezone', data.timezone],
                ['Missed times', data.misfirePolicy],
                ['Runs at once', data.concurrencyLimit ?? 'no limit'],
                ['Between runs', data.idempotencyWindowMinutes ? `${data.idempotencyWindowMinutes} min` : 'no minimum'],
                ['Maximum run time', `${data.maxRuntimeMinutes} min`],
                ['Concurrency keys', <bdi className="break-words">{formatConcurrencyKeys(data.concurrencyKeys)}</bdi>],
                ['Accounts', <bdi className="break-words">{formatAccounts(data.accounts)}</bdi>],
                ['Retries', `${data.maxRetries}, after ${data.retryDelaySeconds} s`],
                ['Cost limit', data.maxCostUsd === null ? 'no limit' : `${formatMoney(data.maxCostUsd)} per run`],
                ['Vault keys', data.vaultKeys.join(', ') || '–'],
                [
                  'Changed',
                  <ChangesLink id={data.id}>
                    <Time at={data.updatedAt} />
                  </ChangesLink>,
                ],
                ...Object.entries(data.variables).map(([name, value]): [string, ReactNode] => [
                  name,
                  <bdi className="break-words">{value}</bdi>,
                ]),
              ]}
            />
          </Panel>
        </div>
      </div>
      {isEdited && <EditScheduleDialog schedule={data} close={() => setEdited(false)} />}
    </Page>
  );
}

/** The outcome of each scheduled time, with its reason. */
function ScheduleHistory({ schedule }: { schedule: ScheduleDetail }) {
  return (
    <Panel title="History">
      {schedule.recentRuns.length === 0 && <EmptyNote title="No scheduled time has passed yet." />}
      {schedule.recentRuns.length > 0 && (
        <PlainTable label="History of this schedule" heads={['Planned for', 'Outcome', 'Run', 'Reason']}>
          {schedule.recentRuns.map(({ nominalAt, firedAt, outcome, reason, detail, forced, jobId }) => (
            <tr key={`${nominalAt} ${firedAt}`}>
              <td>
                <Time at={nominalAt} />
              </td>
              <td>
                <StatusMark status={outcome} />
              </td>
              <td>{jobId && <RunLink id={jobId} />}</td>
              <td className="text-dim">
                {reason && (
                  <>
                    <code className="font-mono text-xs">{reason}</code> {detail ?? describeSkipReason(reason)}
                  </>
                )}
                {forced && ' by hand'}
              </td>
            </tr>
          ))}
        </PlainTable>
      )}
    </Panel>
  );
}

function NextRuns({ schedule: { id, timezone, cronExpression } }: { schedule: ScheduleDetail }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['schedules', 'next', id, cronExpression, timezone],
    queryFn: ({ signal }) => schedulesPreview({ path: { id }, query: { count: nextRuns }, signal }),
  });
  return (
    <Panel title="Next times">
      {!data && (error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton />)}
      {data && <NextTimes runs={data.runs} timezone={timezone} />}
    </Panel>
  );
}
