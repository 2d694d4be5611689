export { parseCron, parseCronOrFault } from './cron/cron-rule';
export { findNextRun } from './cron/find-next-run';
export { executeSchedules } from './ticks/execute-schedules';
export { runScheduleNow, previewForcedRun } from './ticks/run-schedule-now';
export { findExpectedRuns, findNextExpectedRun } from './prewake/find-expected-runs';
export { prewakeMachines } from './prewake/prewake-machines';
export { type PreviewedRun, previewRuns } from './cron/preview-runs';
export { purgeScheduleHistory } from './ticks/purge-history';
export { runDueSchedules } from './ticks/run-due-schedules';
export {
  createSchedule,
  deleteSchedule,
  requireValidCron,
  readOrganizationTimezone,
  updateSchedule,
} from './save-schedule';
export { readNextDueDelayMs, scanDueSchedules } from './ticks/scan-due-schedules';
export { presentAgents, presentChangedAgent } from './prewake/present-agents';
export { presentPreview, presentRun, presentSchedule } from './present-schedule';
export { revealSchedule } from './reveal-schedule';
export {
  findSchedule,
  listSchedules,
  parseScheduleOrder,
  listRecentRunsOfSchedule,
  type ScheduleRow,
  type ScheduleRunRow,
} from './schedule-row';
export { presentTicks, type TickReport } from './ticks/tick-report';
