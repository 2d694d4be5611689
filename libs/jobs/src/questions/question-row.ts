import type { Principal } from '@muster/access';
import {
  hasPermission,
  hasPermissionsOf,
  notFoundError,
  type Question,
  type QuestionAnswerer,
  type QuestionsQuery,
  type RoleHolder,
  roles,
} from '@muster/contracts';
import { type Database, type QuestionEntity, scanRowsSql } from '@muster/database';
import type { Page } from '@muster/platform';
import type { ObjectStorage } from '@muster/storage';

/** A question with the columns that the API returns. */
export type QuestionRow = Omit<QuestionEntity, 'sealed' | 'defaultAnswer' | 'questionKey' | 'inboundId'>;

export const questionColumns = `q.id, q.organization_id, q.job_id, q.session_id, q.agent_id, q.workflow_id, q.question,
  q.kind, q.choices, q.fields, q.audience, q.context, q.screenshot_key, q.status, q.answer, q.answered_by, q.answerer,
  q.answered_via, q.reason, q.asked_at, q.ended_at, q.expires_at, q.cut,
  q.takeover`;

const screenshotSeconds = 3600;

export async function findQuestion(database: Database, organizationId: string, id: string): Promise<QuestionRow> {
  const [row] = await database.query<QuestionRow>(
    { organizationId },
    `SELECT ${questionColumns} FROM question q WHERE q.id = $1 AND q.organization_id = $2`,
    [id, organizationId],
    'find_question',
  );
  if (!row) throw notFoundError('question');
  return row;
}

export function listQuestions(
  database: Database,
  caller: Principal,
  { page, filter: { status, jobId, mine, order = 'desc' } }: { page: Page; filter: QuestionsQuery },
): Promise<QuestionRow[]> {
  const { organizationId } = caller;
  const values: unknown[] = [organizationId];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const within = ['organization_id = $1'];
  const conditions: string[] = [];
  if (page.after) within.push(`id ${order === 'asc' ? '>' : '<'} ${addParameter(page.after[0])}`);
  if (status === 'open') within.push("status = 'open'");
  else if (status) conditions.push(`status = ${addParameter(status)}`);
  // The list is limited to one run, which has few questions; an index finds them.
  if (jobId) within.push(`job_id = ${addParameter(jobId)}`);
  if (mine === 'true') conditions.push(callerMayAnswerSql(caller, addParameter));
  const limit = addParameter(page.limit + 1);
  const found = scanRowsSql({
    ...{ from: 'question', columns: 'id', within, filter: conditions, order: `id ${order}`, limit },
  });
  return database.query<QuestionRow>(
    { organizationId },
    `SELECT ${questionColumns}, f.matches, f.scan_end FROM (${found}) f JOIN question q ON q.id = f.id ORDER BY q.id ${order}`,
    values,
  );
}

/** SQL condition: the caller may answer the question. Viewers may not answer, even if the audience includes them. */
function callerMayAnswerSql(caller: Principal, addParameter: (value: unknown) => string): string {
  if (!hasPermission(caller, 'runs.write')) return 'false';
  return `(cardinality(audience) = 0 OR audience && ${addParameter(listAudiencesOfCaller(caller))}::text[])`;
}

/**
 * Returns the audience entries that include the caller: the roles whose permissions the caller has, and the caller's
 * e-mail address.
 */
export function listAudiencesOfCaller(caller: RoleHolder & { email?: string }): string[] {
  const own = roles.filter((role) => hasPermissionsOf(caller, { role })).map((role) => `role:${role}`);
  return caller.email ? [...own, caller.email.toLowerCase()] : own;
}

export async function presentQuestion(row: QuestionRow, storage: ObjectStorage): Promise<Question> {
  return {
    id: row.id,
    jobId: row.jobId,
    sessionId: row.sessionId,
    agentId: row.agentId,
    workflowId: row.workflowId,
    question: row.question,
    kind: row.kind,
    choices: row.choices,
    fields: row.fields,
    to: row.audience,
    status: row.status,
    answer: row.answer?.value ?? null,
    answeredBy: row.answerer ?? parseAnsweredBy(row.answeredBy),
    answeredVia: row.answeredVia,
    reason: row.reason,
    askedAt: row.askedAt.toISOString(),
    answeredAt: row.status === 'answered' ? row.endedAt!.toISOString() : null,
    expiresAt: row.expiresAt.toISOString(),
    shortened: row.cut,
    takeover: row.takeover,
    screenshotUrl: row.screenshotKey
      ? await storage.presignGet(row.screenshotKey, { expiresInSeconds: screenshotSeconds }).catch(() => null)
      : null,
    context: row.context,
  };
}

/** Returns the answerer of a question that a process of the previous version ended. It stored only a text. */
function parseAnsweredBy(text: string | null): QuestionAnswerer | null {
  if (text === null) return null;
  const [, kind, id] = /^(api_key|system) (.+)$/s.exec(text) ?? [];
  if (kind === undefined) return { id: null, email: text };
  return kind === 'api_key' ? { id: id!, name: id! } : { id: null, name: id! };
}
