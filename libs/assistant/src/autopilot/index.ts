export { cancelSession } from './session/cancel-session';
export { imagePresigner, presentSession, presentSummary } from './session/present-session';
export { findSession, listSessions } from './session/read-sessions';
export { resumeSession } from './session/resume-session';
export { beginOfStream, followSession } from './session/session-stream';
export { startSession } from './session/start-session';
export { Autopilot } from './steps/advance-session';
export { sweepSessions } from './steps/sweep-sessions';
export { planFromScript, writeTask } from './task/write-task';
