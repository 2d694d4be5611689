export { cancelSession } from './session/cancel-session';
export { createImagePresigner, presentSession, presentSessionSummary } from './session/present-session';
export { findSession, listSessions } from './session/read-sessions';
export { resumeSession } from './pauses/resume-session';
export { findStreamStart, followSession } from './session/session-stream';
export { startSession } from './session/start-session';
export { Autopilot } from './steps/advance-session';
export { sweepSessions } from './steps/sweep-sessions';
export { generatePlanFromScript, generateTask } from './task/generate-task';
