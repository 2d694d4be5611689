export {
  Autopilot,
  beginOfStream,
  cancelSession,
  findSession,
  followSession,
  imagePresigner,
  listSessions,
  planFromScript,
  presentSession,
  presentSummary,
  resumeSession,
  startSession,
  sweepSessions,
  writeTask,
} from './autopilot';
export { answerTurn } from './chat/answer-turn';
export { beginTurn } from './chat/begin-turn';
export { decideCall, type Decision } from './chat/decide-call';
export { listChatSessions, readHistory } from './chat/read-history';
export type { Following, Turn } from './chat/turn';
export { advanceAnalysis, type AnalysisParts } from './films/advance-analysis';
export { type AnalysisState, readAnalysis } from './films/read-analysis';
export { requestFilmUpload } from './films/request-film-upload';
export { startAnalysis } from './films/start-analysis';
export { enqueueDueAnalyses } from './films/sweep-analyses';
export { purgeAssistant } from './retention/purge-assistant';
export { manage } from './tools/manage';
export type { ToolParts } from './tools/tool';
