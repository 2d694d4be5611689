import type { Database } from '@muster/database';
import type { ReceivedMessage } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import { startEndingSession, finishEndingSession } from './session/end-session';
import { saveSession } from './session/save-session';
import { lockSession, readSessionSteps } from './session/session-row';
import type { Work } from './steps/work';

/** Number of consecutive failed attempts to advance a session after which the session fails. */
const maxFaults = 8;
const firstDelayMs = 1000;
const maxDelayMs = 60_000;

/**
 * Retries a failed advance of a session with increasing delays. After `maxFaults` consecutive failures the session
 * fails with internal_error.
 */
export async function retryOrFailSession(
  { database, keyRing }: { database: Database; keyRing: KeyRing },
  sessionId: string,
  message?: ReceivedMessage,
): Promise<void> {
  await database.transaction('system', async (tx) => {
    if (message) tx.markMessageHandled(message);
    const session = await lockSession(tx, sessionId);
    if (!session || session.phase === 'over') return;
    session.faults += 1;
    const delayMs = Math.min(maxDelayMs, firstDelayMs * 2 ** (session.faults - 1));
    session.ringAt = new Date(session.now.getTime() + delayMs);
    if (session.faults >= maxFaults) {
      await failSession({ tx, keyRing, session, steps: await readSessionSteps(tx, sessionId) });
    }
    saveSession(tx, session);
  });
}

async function failSession(work: Work): Promise<void> {
  const { session } = work;
  const ending = { to: 'failed', error: internalError, code: 'internal_error' } as const;
  if (!session.ending) {
    session.faults = 0;
    session.ringAt = null;
    return startEndingSession(work, ending);
  }
  // Ending the session failed as well, so it is finished although its browser may be open. The next session closes it.
  session.ending = ending;
  session.ringAt = null;
  await finishEndingSession(work);
}

const internalError =
  'The session failed repeatedly because of a defect of the service, which has logged it. Start a new session: the ' +
  'code of the completed steps is stored.';
