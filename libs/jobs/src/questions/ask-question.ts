import { appendTimeline } from '@muster/timeline';
import {
  AppError,
  type AskedQuestion,
  type AskQuestionBody,
  invalidFieldError,
  isTerminalStatus,
  notFoundError,
  type QuestionKind,
  roles,
} from '@muster/contracts';
import {
  type Database,
  type InboundCodeEntity,
  type JobEntity,
  PlacedJob,
  type QuestionEntity,
  type Transaction,
} from '@muster/database';
import { newId } from '@muster/platform';
import { emitEvent } from '@muster/webhooks';
import { buildJobEntry } from '../launch/insert-job';
import { checkQuestionShape } from './check-answer';
import { type Reporter, requireOwnUploadKey } from '../reports/reporter';
import { emitQuestionEvent } from './emit-question-event';

/**
 * Milliseconds between the expiry of a question and the time limit of its run, so that the script can continue with its
 * default answer.
 */
const marginMs = 5000;
const maxOpen = 50;

interface Asking extends Pick<
  PlacedJob,
  'id' | 'status' | 'agentId' | 'workflowId' | 'startedAt' | 'maxRuntimeMs' | 'cancelRequestedAt'
> {
  dispatched: boolean;
  openQuestions: number;
}

type StoredQuestion = Pick<QuestionEntity, 'id' | 'status' | 'expiresAt' | 'cut'>;

/**
 * Creates a question. The run waits for a person until the question ends. Repeated requests with the same key create
 * one question; `isNew` is false for the repetitions.
 */
export function askQuestion(
  database: Database,
  { organizationId, agentId }: Reporter,
  jobId: string,
  body: AskQuestionBody,
): Promise<{ question: AskedQuestion; isNew: boolean }> {
  requireOwnUploadKey(organizationId, body.screenshotKey);
  const offer = checkQuestionShape(body);
  const audience = requireValidAudience(body.to ?? []);
  return database.transaction({ organizationId }, async (tx) => {
    const job = await lockAskingJob(tx, { organizationId, agentId, jobId });
    if (!job) throw notFoundError('job');
    const [existing] = await tx.query<StoredQuestion>(
      'SELECT id, status, expires_at, cut FROM question WHERE job_id = $1 AND question_key = $2',
      [jobId, body.questionKey],
      'known_question',
    );
    if (existing) return { question: presentAskedQuestion(existing), isNew: false };
    requireJobThatMayAsk(job);
    const { expiresAt, cut } = computeQuestionExpiry(job, { timeoutMs: body.timeoutSeconds * 1000, now: tx.now });
    const inboundId = body.inbound
      ? await findInboundCode(tx, { organizationId, name: body.inbound, kind: body.kind })
      : null;
    const id = newId();
    insertQuestion(tx, {
      ...{ id, organizationId, jobId, sessionId: null, agentId: job.agentId, workflowId: job.workflowId },
      ...{ questionKey: body.questionKey, question: body.question, kind: body.kind, ...offer, audience },
      ...{ defaultAnswer: 'default' in body ? { value: body.default ?? null } : null, context: body.context ?? null },
      ...{ screenshotKey: body.screenshotKey ?? null, inboundId, expiresAt, cut },
      takeover: body.takeover ?? false,
    });
    const prefix = cut
      ? `asks until ${expiresAt.toISOString()}, because the run reaches its time limit soon after that`
      : 'asks';
    appendTimeline(tx, { organizationId, agentId: job.agentId }, [
      buildJobEntry({
        jobId,
        status: job.status,
        previousStatus: job.status,
        source: 'worker',
        message: `${prefix}: ${body.question}`,
        data: { questionId: id },
      }),
    ]);
    return { question: presentAskedQuestion({ id, status: 'open', expiresAt, cut }), isNew: true };
  });
}

export type NewQuestion = Pick<
  QuestionEntity,
  | 'id'
  | 'organizationId'
  | 'jobId'
  | 'sessionId'
  | 'agentId'
  | 'workflowId'
  | 'questionKey'
  | 'question'
  | 'kind'
  | 'choices'
  | 'audience'
  | 'defaultAnswer'
  | 'context'
  | 'screenshotKey'
  | 'inboundId'
  | 'expiresAt'
  | 'cut'
  | 'takeover'
> & { fields: object[] | null };

/** Inserts a question, and records its organization event and its webhook event. */
export function insertQuestion(tx: Transaction, row: NewQuestion): void {
  const { id, organizationId } = row;
  const toJsonOrNull = (value: object | null) => (value === null ? null : JSON.stringify(value));
  tx.deferStatement(
    `INSERT INTO question (id, organization_id, job_id, session_id, agent_id, workflow_id, question_key, question, kind,
       choices, fields, audience, default_answer, context, screenshot_key, expires_at, cut,
       inbound_id, takeover)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`,
    [
      ...[id, organizationId, row.jobId, row.sessionId, row.agentId, row.workflowId, row.questionKey, row.question],
      ...[
        row.kind,
        row.choices,
        toJsonOrNull(row.fields),
        row.audience,
        toJsonOrNull(row.defaultAnswer),
        toJsonOrNull(row.context),
      ],
      ...[row.screenshotKey, row.expiresAt, row.cut, row.inboundId, row.takeover],
    ],
    'insert_question',
  );
  emitQuestionEvent(tx, { ...row, status: 'open' });
  emitEvent(tx, { organizationId, type: 'question.asked', subjects: [{ id, details: { status: 'open' } }] });
}

async function lockAskingJob(
  tx: Transaction,
  { organizationId, agentId, jobId }: Reporter & { jobId: string },
): Promise<Asking | undefined> {
  const [job] = await tx.query<Asking>(
    `SELECT id, status, agent_id, workflow_id, started_at, max_runtime_ms, cancel_requested_at,
            command_id IS NOT NULL AS dispatched,
            (SELECT count(*)::int FROM question q WHERE q.job_id = job.id AND q.status = 'open') AS open_questions
     FROM job WHERE id = $1 AND organization_id = $2 AND ($3::uuid IS NULL OR agent_id = $3) FOR UPDATE`,
    [jobId, organizationId, agentId],
    'lock_asking_job',
  );
  return job;
}

async function findInboundCode(
  tx: Transaction,
  { organizationId, name, kind }: { organizationId: string; name: string; kind: QuestionKind },
): Promise<string> {
  const [row] = await tx.query<Pick<InboundCodeEntity, 'id'>>(
    'SELECT id FROM inbound_code WHERE organization_id = $1 AND name = $2',
    [organizationId, name],
    'inbound_of_question',
  );
  const wrong = row ? 'it can only be used for questions of the kind code' : `there is no inbound address ${name}`;
  if (!row || kind !== 'code') throw invalidFieldError('inbound', wrong, `inbound is not valid: ${wrong}.`);
  return row.id;
}

function requireJobThatMayAsk({ status, dispatched, cancelRequestedAt, openQuestions }: Asking): void {
  if (isTerminalStatus(status))
    throw new AppError('conflict', {
      detail: `The run has already ended with the status ${status}, so it cannot ask a question.`,
    });
  if (!dispatched)
    throw new AppError('conflict', {
      detail: 'The job is not running yet, so it cannot ask a question. Report first that it runs.',
    });
  if (cancelRequestedAt)
    throw new AppError('conflict', {
      detail: 'The run is being cancelled, so it cannot ask a question. Stop the script.',
    });
  if (openQuestions >= maxOpen) {
    throw new AppError('conflict', {
      detail: `The run already has ${maxOpen} open questions. Wait for an answer before it asks another one.`,
    });
  }
}

/**
 * Returns when the question expires. The time limit of the run keeps counting while the run waits, so the question
 * expires before the limit is reached.
 */
function computeQuestionExpiry(
  { startedAt, maxRuntimeMs }: Pick<JobEntity, 'startedAt' | 'maxRuntimeMs'>,
  { timeoutMs, now }: { timeoutMs: number; now: Date },
): { expiresAt: Date; cut: boolean } {
  const leftMs = (startedAt ?? now).getTime() + maxRuntimeMs - now.getTime();
  const maxMs = Math.max(0, leftMs - Math.min(marginMs, leftMs / 10));
  const cut = timeoutMs > maxMs;
  return { expiresAt: new Date(now.getTime() + Math.floor(cut ? maxMs : timeoutMs)), cut };
}

function requireValidAudience(to: string[]): string[] {
  return to.map((input, at) => {
    const entry = input.toLowerCase();
    if (roles.some((role) => entry === `role:${role}`) || /^[^\s@:]+@[^\s@]+$/.test(entry)) return entry;
    const message = 'must be role:viewer, role:member, role:admin, or an e-mail address';
    throw invalidFieldError(
      `to.${at}`,
      message,
      `Each entry of to must be role:viewer, role:member, role:admin, or an e-mail address.`,
    );
  });
}

function presentAskedQuestion({ id, status, expiresAt, cut }: StoredQuestion): AskedQuestion {
  return { questionId: id, status, expiresAt: expiresAt.toISOString(), shortened: cut };
}
