import type { AutopilotSessionsQuery } from '@muster/contracts';
import {
  type AutopilotAttemptEntity,
  type AutopilotSessionEntity,
  type AutopilotStepEntity,
  type Database,
  containsIgnoringCaseSql,
  scanRowsSql,
} from '@muster/database';
import type { Page } from '@muster/platform';
import { sessionNotFoundError } from './session-row';

export interface WholeSession {
  session: AutopilotSessionEntity;
  steps: AutopilotStepEntity[];
  attempts: AutopilotAttemptEntity[];
}

interface SessionRef {
  organizationId: string;
  /** Only the sessions of this agent; the sessions of all agents if absent. */
  agentId?: string;
  sessionId: string;
}

export async function findSession(
  database: Database,
  { organizationId, agentId, sessionId }: SessionRef,
): Promise<WholeSession> {
  return database.transaction({ organizationId }, async (tx) => {
    const values = [sessionId, organizationId];
    const [sessions, steps, attempts] = await tx.queryStatements([
      {
        name: 'find_autopilot_session',
        text: 'SELECT * FROM autopilot_session WHERE id = $1 AND organization_id = $2',
        values,
      },
      {
        name: 'find_autopilot_steps',
        text: 'SELECT * FROM autopilot_step WHERE session_id = $1 AND organization_id = $2 ORDER BY position',
        values,
      },
      {
        name: 'find_autopilot_attempts',
        text: `SELECT * FROM autopilot_attempt WHERE session_id = $1 AND organization_id = $2
               ORDER BY position, attempt`,
        values,
      },
    ]);
    const session = sessions![0] as AutopilotSessionEntity | undefined;
    if (!session || (agentId !== undefined && session.agentId !== agentId)) throw sessionNotFoundError();
    return { session, steps: steps as AutopilotStepEntity[], attempts: attempts as AutopilotAttemptEntity[] };
  });
}

/** Lists an organization's sessions, newest first: ids increase with time. */
export function listSessions(
  database: Database,
  organizationId: string,
  { page, filter: { agentId, status, q } }: { page: Page; filter: AutopilotSessionsQuery },
): Promise<AutopilotSessionEntity[]> {
  const values: unknown[] = [organizationId];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const within = ['organization_id = $1'];
  if (agentId) within.push(`agent_id = ${addParameter(agentId)}`);
  if (page.after) within.push(`id < ${addParameter(page.after[0])}`);
  const filters = status ? [`status = ${addParameter(status)}`] : [];
  if (q) {
    const text = addParameter(q);
    filters.push(
      `(id::text = lower(${text}) OR ${containsIgnoringCaseSql("COALESCE(task->>'title', intent)", text)} OR ${containsIgnoringCaseSql('error', text)})`,
    );
  }
  const limit = addParameter(page.limit + 1);
  const listed = scanRowsSql({
    from: 'autopilot_session',
    columns: 'id',
    within,
    filter: filters,
    order: 'id DESC',
    limit,
  });
  return database.query<AutopilotSessionEntity & object>(
    { organizationId },
    `SELECT s.*, p.matches, p.scan_end FROM (${listed}) p JOIN autopilot_session s ON s.id = p.id ORDER BY s.id DESC`,
    values,
  );
}
