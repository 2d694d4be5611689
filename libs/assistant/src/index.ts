export {
  Autopilot,
  findStreamStart,
  cancelSession,
  findSession,
  followSession,
  createImagePresigner,
  listSessions,
  generatePlanFromScript,
  presentSession,
  presentSessionSummary,
  resumeSession,
  startSession,
  sweepSessions,
  generateTask,
} from './autopilot';
export { answerChatTurn } from './chat/answer-turn';
export { startTurn } from './chat/start-turn';
export { approveOrRejectCall, type Decision } from './chat/approve-or-reject-call';
export { listChatSessions, readChatHistory } from './chat/read-chat-history';
export type { Following, Turn } from './chat/turn';
export { advanceAnalysis, type AnalysisParts } from './films/advance-analysis';
export { type AnalysisState, readAnalysis } from './films/read-analysis';
export { requestVideoUpload } from './films/request-film-upload';
export { startAnalysis } from './films/start-analysis';
export { enqueueDueAnalyses } from './films/sweep-analyses';
export { purgeAssistantData } from './retention/purge-assistant';
export { callToolForCaller } from './tools/call-tool-for-caller';
export type { ToolParts } from './tools/tool';
