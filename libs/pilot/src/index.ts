export { type FoundBatch, findPilotBatch } from './batches/find-batch';
export { type BatchRow, listPilotBatches } from './batches/list-batches';
export { findSession, listSessions, type SessionEntryRow, type SessionRow } from './sessions/read-sessions';
export { tellSession } from './sessions/tell-session';
export { type IngestedBatch, ingestRunSummary } from './summaries/ingest-run-summary';
export { readRunSummary } from './summaries/read-run-summary';
export { shapeOf } from './summaries/summary-envelope';
