import {
  type AttemptUsage,
  type AutopilotSession,
  type AutopilotSessionSummary,
  type SessionAttempt,
  type SessionMetrics,
  type SessionPause,
  type SessionStep,
  microsToUsd,
} from '@muster/contracts';
import type { AutopilotAttemptEntity, AutopilotSessionEntity, AutopilotStepEntity } from '@muster/database';
import type { ObjectStorage } from '@muster/storage';
import type { WholeSession } from './read-sessions';

/** Returns a presigned URL of a screenshot; null if there is no screenshot. */
export type PresignImage = (key: string | null) => Promise<string | null>;

const urlSeconds = 900;

export function createImagePresigner(storage: ObjectStorage): PresignImage {
  return async (key) => key && storage.presignGet(key, { expiresInSeconds: urlSeconds }).catch(() => null);
}

export async function presentSession(
  { session, steps, attempts }: WholeSession,
  presignImage: PresignImage,
  now: Date,
): Promise<AutopilotSession> {
  const { id, agentId, status, task, atStep, ending, workflowId, error, errorCode, createdAt, finishedAt } = session;
  return {
    sessionId: id,
    agentId,
    status,
    ...(ending?.to === 'cancelled' ? { cancelling: true as const } : {}),
    task,
    currentStep: atStep === null || finishedAt ? null : (steps[atStep]?.stepId ?? null),
    pausedFor: await presentSessionPause(session, presignImage),
    steps: await Promise.all(
      steps.map((step) => {
        const own = attempts.filter(({ position }) => position === step.position);
        return presentSessionStep(session, step, own, presignImage);
      }),
    ),
    metrics: presentSessionMetrics(session, steps.length, now),
    workflowId,
    error,
    code: errorCode,
    createdAt: createdAt.toISOString(),
    finishedAt: finishedAt?.toISOString() ?? null,
  };
}

export async function presentSessionSummary(
  session: AutopilotSessionEntity,
  presignImage: PresignImage,
  now: Date,
): Promise<AutopilotSessionSummary> {
  const { id, agentId, status, task, workflowId, error, errorCode, createdAt, finishedAt } = session;
  return {
    sessionId: id,
    agentId,
    status,
    title: task?.title ?? null,
    pausedFor: await presentSessionPause(session, presignImage),
    error,
    code: errorCode,
    metrics: presentSessionMetrics(session, task?.steps.length ?? 0, now),
    workflowId,
    createdAt: createdAt.toISOString(),
    finishedAt: finishedAt?.toISOString() ?? null,
  };
}

async function presentSessionPause(
  { pausedFor }: AutopilotSessionEntity,
  presignImage: PresignImage,
): Promise<SessionPause | null> {
  if (!pausedFor) return null;
  const { reason, questionId = null, question, screenshotKey } = pausedFor;
  return { reason, questionId, question, screenshotUrl: await presignImage(screenshotKey) };
}

async function presentSessionStep(
  { task }: AutopilotSessionEntity,
  { position, stepId, status, selectors, stableCode, byHand }: AutopilotStepEntity,
  attempts: AutopilotAttemptEntity[],
  presignImage: PresignImage,
): Promise<SessionStep> {
  return {
    id: stepId,
    title: task?.steps[position]?.title ?? stepId,
    status,
    attempts: await Promise.all(attempts.map((each) => presentStepAttempt(each, presignImage))),
    selectors: selectors.map(({ name, candidates }) => ({ name, candidates })),
    // Only the workflow of the session uses code that asks a person.
    stableCode: byHand ? null : stableCode,
  };
}

async function presentStepAttempt(row: AutopilotAttemptEntity, presignImage: PresignImage): Promise<SessionAttempt> {
  const { attempt, strategy, startedAt, finishedAt, outcome, error, errorCode, screenshotKey } = row;
  return {
    attempt,
    strategy,
    startedAt: startedAt.toISOString(),
    finishedAt: finishedAt?.toISOString() ?? null,
    outcome,
    error,
    code: errorCode,
    screenshotUrl: await presignImage(screenshotKey),
    usage: presentModelUsage(row),
  };
}

function presentSessionMetrics(session: AutopilotSessionEntity, steps: number, now: Date): SessionMetrics {
  const { passed, attempts, healed, startedAt, finishedAt } = session;
  const until = finishedAt ?? now;
  const durationMs = startedAt ? Math.max(0, until.getTime() - startedAt.getTime()) : 0;
  return { steps, passed, attempts, ...presentModelUsage(session), durationMs, healed };
}

type Used = Pick<AutopilotAttemptEntity, 'modelCalls' | 'inputTokens' | 'outputTokens' | 'costMicros'>;

function presentModelUsage({ modelCalls, inputTokens, outputTokens, costMicros }: Used): AttemptUsage {
  return { modelCalls, inputTokens, outputTokens, costUsd: microsToUsd(costMicros) };
}
