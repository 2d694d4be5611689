import { type PauseReason, shortenText } from '@muster/contracts';
import { maxPauseMs } from '../steps/session-commands';
import type { Work } from '../steps/work';
import { changeSessionStatus } from './change-session-status';

const maxQuestionLength = 4000;

/**
 * Pauses a session with a question to a person. Its browser stays open and its machine on for up to `maxPauseMs`.
 */
export async function pauseSession(
  { tx, session }: Work,
  { reason, question: text }: { reason: PauseReason; question: string },
): Promise<void> {
  const question = shortenText(text, maxQuestionLength);
  const screenshotKey = session.look?.screenshotKey ?? null;
  await changeSessionStatus(tx, session, {
    change: 'pause',
    source: 'dispatcher',
    reason: question,
    pausedFor: { reason, question, screenshotKey },
  });
  session.phase = 'begin';
  session.commandId = null;
  session.asking = null;
  session.dueAt = new Date(session.now.getTime() + maxPauseMs);
}
