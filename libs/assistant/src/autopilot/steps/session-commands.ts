import { encryptSecrets, issueCommand } from '@muster/commands';
import type {
  AttemptStep,
  CloseSession,
  CommandKind,
  LookAtPage,
  OpenSession,
  TaskExpectation,
} from '@muster/contracts';
import type { HeldAttempt, Transaction } from '@muster/database';
import { buildSessionProgram } from '@muster/workflows';
import { readCodesOfAttempt } from '../codes/attempt-codes';
import { parseOriginOrNull } from '../task/task-key';
import type { SessionRow } from '../session/session-row';
import type { Work } from './work';

/**
 * Opens the session's browser again after the browser was lost or may have been lost. The held attempt is dropped; if
 * its step may have submitted something, the page is checked before the step is tried again.
 */
export async function reopenLostBrowser({ tx, session }: Work): Promise<void> {
  session.held = null;
  await issueOpenCommand(tx, session);
}

/** Timeouts of the commands in milliseconds, without the time to wake the agent. */
const timeouts = { open: 120_000, look: 60_000, act: 180_000, close: 45_000 };
/** Time in milliseconds within which a machine that is woken for a session must be online. */
export const maxWakeMs = 180_000;
/** Delay after a command's deadline until the sweep checks its session, in case the message of its timeout was lost. */
const recheckDelayMs = 5000;
/** Maximum duration of a pause; then the session fails. Its browser stays open for one more hour. */
export const maxPauseMs = 24 * 3_600_000;

/** Opens the session's browser, or reuses it if it is open. Only this command's delivery contains the secrets. */
export async function issueOpenCommand(
  tx: Transaction,
  session: SessionRow,
  { waitsMs = 0 }: { waitsMs?: number } = {},
): Promise<void> {
  const { id: sessionId, task, inputs } = session;
  const origin = parseOriginOrNull(task?.startUrl);
  const payload: OpenSession = {
    sessionId,
    program: buildSessionProgram(),
    ...(task?.startUrl ? { startUrl: task.startUrl } : {}),
    allowedOrigins: origin ? [origin] : [],
    inputs,
    idleMinutes: maxPauseMs / 60_000 + 60,
  };
  session.phase = 'open';
  await issueSessionCommand(tx, session, {
    kind: 'autopilot_open',
    payload,
    timeoutMs: timeouts.open + waitsMs,
    withSecrets: true,
  });
}

export async function issueSnapshotCommand(
  tx: Transaction,
  session: SessionRow,
  { phase, expect }: { phase: 'look' | 'recheck' | 'check'; expect?: TaskExpectation | null },
): Promise<void> {
  const payload: LookAtPage = { sessionId: session.id, ...(expect ? { expect: omitNullFields(expect) } : {}) };
  session.phase = phase;
  await issueSessionCommand(tx, session, { kind: 'autopilot_look', payload, timeoutMs: timeouts.look });
}

/** Issues the command that executes the held attempt, starting at the action with the index `from`. */
export async function issueAttemptCommand(
  work: Work,
  { actions, code, from, submitting }: HeldAttempt,
  expect?: TaskExpectation | null,
): Promise<void> {
  const { tx, keyRing, session } = work;
  const { codes, codesAfterMs } = await readCodesOfAttempt(work, code ?? JSON.stringify(actions ?? []));
  const payload: AttemptStep = {
    sessionId: session.id,
    ...(code === undefined ? { actions: actions ?? [] } : { code }),
    ...(from ? { from } : {}),
    maySubmit: submitting,
    ...(expect ? { expect: omitNullFields(expect) } : {}),
    ...(codesAfterMs > 0 ? { codesAfterMs } : {}),
  };
  session.phase = 'act';
  // The codes are decrypted when the command is delivered, and deleted from the command when it ends.
  const sealed = Object.keys(codes).length ? encryptSecrets(keyRing, session.agentId, { codes }) : {};
  await issueSessionCommand(tx, session, {
    kind: 'autopilot_attempt',
    payload: { ...payload, ...sealed },
    timeoutMs: timeouts.act + codesAfterMs,
  });
}

export async function issueCloseCommand(tx: Transaction, session: SessionRow): Promise<void> {
  const payload: CloseSession = { sessionId: session.id };
  session.phase = 'close';
  session.closeStep += 1;
  await issueSessionCommand(tx, session, { kind: 'autopilot_close', payload, timeoutMs: timeouts.close });
}

interface Issue {
  kind: CommandKind;
  payload: object;
  timeoutMs: number;
  withSecrets?: boolean;
}

async function issueSessionCommand(
  tx: Transaction,
  session: SessionRow,
  { kind, payload, timeoutMs, withSecrets }: Issue,
) {
  const { organizationId, agentId, vaultKeys, now } = session;
  const deadline = new Date(now.getTime() + timeoutMs);
  session.commandId = await issueCommand(tx, {
    organizationId,
    agentId,
    kind,
    payload: payload as Record<string, unknown>,
    ...(withSecrets ? { vaultKeys } : {}),
    deadline,
  });
  session.asking = null;
  session.dueAt = new Date(deadline.getTime() + recheckDelayMs);
}

function omitNullFields({ url, text, notText, selector }: TaskExpectation) {
  const fields = { url, text, notText, selector };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}
