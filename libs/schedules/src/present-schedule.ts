import {
  type Schedule,
  type SchedulePreview,
  type ScheduleRun,
  maskVariables,
  microsToUsdOrNull,
} from '@muster/contracts';
import { presentTarget } from '@muster/jobs';
import { parseCron } from './cron/cron-rule';
import { previewRuns } from './cron/preview-runs';
import type { ScheduleRow, ScheduleRunRow } from './schedule-row';

export function presentSchedule(row: ScheduleRow): Schedule {
  const { organizationId: _organization, version: _version, maxCostMicros, targetLabels, targetPrefer, ...shown } = row;
  return {
    ...shown,
    variables: maskVariables(row.variables),
    target: presentTarget({ targetLabels, targetPrefer }),
    maxCostUsd: microsToUsdOrNull(maxCostMicros),
    nextRunAt: row.nextRunAt?.toISOString() ?? null,
    lastRunAt: row.lastRunAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

export function presentRun({ kind, nominalAt, firedAt, ...run }: ScheduleRunRow): ScheduleRun {
  return { ...run, forced: kind === 'forced', nominalAt: nominalAt.toISOString(), firedAt: firedAt.toISOString() };
}

export function presentPreview(
  { cronExpression, timezone }: { cronExpression: string; timezone: string },
  span: { after: Date; count: number },
): SchedulePreview {
  const runs = previewRuns(parseCron(cronExpression), timezone, span);
  return { cronExpression, timezone, runs: runs.map((run) => ({ ...run, at: run.at.toISOString() })) };
}
