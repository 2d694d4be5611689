export { parseCron } from './cron-rule';
export { executeSchedules } from './execute-schedules';
export { foreseeForced, forceSchedule } from './force-schedule';
export { type PreviewedRun, previewRuns } from './preview-runs';
export { purgeScheduleHistory } from './purge-history';
export { runDueSchedules } from './run-due-schedules';
export { createSchedule, deleteSchedule, requireCron, timezoneOfOrganization, updateSchedule } from './save-schedule';
export { findSchedule, listSchedules, recentRuns, type ScheduleRow, type ScheduleRunRow } from './schedule-row';
export { presentTicks, type TickReport } from './tick-report';
