export { exportSubmissions } from './export/export-submissions';
export { changeStatus } from './submissions/change-status';
export { createSubmission } from './submissions/create-submission';
export { findSubmission, loadSubmission, type StatusChangeRow } from './submissions/find-submission';
export { listAttachableAgents } from './submissions/list-attachable-agents';
export { listSubmissions } from './submissions/list-submissions';
export { readPayload } from './submissions/read-payload';
export { maxScreenshotBytes, redrawScreenshot, type Screenshot } from './submissions/screenshot';
export type { SubmissionRow } from './submissions/submission-row';
