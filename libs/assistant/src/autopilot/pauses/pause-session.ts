import { type PauseReason, shortenText } from '@muster/contracts';
import { insertQuestionOfSession } from '@muster/jobs';
import { newId } from '@muster/platform';
import { changeSessionStatus } from '../session/change-session-status';
import { maxPauseMs } from '../steps/session-commands';
import { getCurrentStep, requireTaskOfSession, type Work } from '../steps/work';
import { pauseForms } from './pause-forms';

const maxQuestionLength = 4000;

/**
 * Pauses a session with a question to a person. Its browser stays open and its machine on for up to `maxPauseMs`. Each
 * answer to the question, and its expiry, advances the session.
 */
export async function pauseSession(
  work: Work,
  { reason, question: text }: { reason: PauseReason; question: string },
): Promise<void> {
  const { tx, session } = work;
  const { id: sessionId, organizationId, agentId } = session;
  const question = shortenText(text, maxQuestionLength);
  const screenshotKey = session.look?.screenshotKey ?? null;
  const expiresAt = new Date(session.now.getTime() + maxPauseMs);
  const questionId = newId();
  const hasPaused = await changeSessionStatus(tx, session, {
    change: 'pause',
    source: 'dispatcher',
    reason: question,
    pausedFor: { reason, question, screenshotKey, questionId },
  });
  if (hasPaused) {
    insertQuestionOfSession(tx, {
      ...{ id: questionId, organizationId, agentId, sessionId, question, screenshotKey, expiresAt },
      ...pauseForms[reason],
      context: { task: requireTaskOfSession(session).title, step: getCurrentStep(work).taskStep.title },
    });
  }
  session.phase = 'begin';
  session.commandId = null;
  session.asking = null;
  session.dueAt = expiresAt;
}
