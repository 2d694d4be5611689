export { parseCron, readCron } from './cron/cron-rule';
export { nextRun } from './cron/next-run';
export { executeSchedules } from './ticks/execute-schedules';
export { forceSchedule, previewForcedRun } from './ticks/force-schedule';
export { expectedRuns, nextExpectedRun } from './prewake/expected-runs';
export { prewakeMachines } from './prewake/prewake-machines';
export { type PreviewedRun, previewRuns } from './cron/preview-runs';
export { purgeScheduleHistory } from './ticks/purge-history';
export { runDueSchedules } from './ticks/run-due-schedules';
export { createSchedule, deleteSchedule, requireCron, timezoneOfOrganization, updateSchedule } from './save-schedule';
export { nextDueInMs, scanDue } from './ticks/scan-due';
export { presentAgents, presentChangedAgent } from './prewake/present-agents';
export { presentPreview, presentRun, presentSchedule } from './present-schedule';
export {
  findSchedule,
  listSchedules,
  scheduleOrderOf,
  recentRuns,
  type ScheduleRow,
  type ScheduleRunRow,
} from './schedule-row';
export { presentTicks, type TickReport } from './ticks/tick-report';
