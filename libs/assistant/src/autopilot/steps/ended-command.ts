import type { AgentCommandEntity, Transaction } from '@muster/database';

export interface EndedCommand {
  status: AgentCommandEntity['status'];
  output: Record<string, unknown> | null;
  error: string | null;
  code: string | null;
}

/** Returns the state of the command that a session waits for; null if retention has deleted it. */
export async function readEndedCommand(tx: Transaction, id: string): Promise<EndedCommand | null> {
  const [row] = await tx.query<Pick<AgentCommandEntity, 'status' | 'output' | 'error' | 'errorCode'>>(
    'SELECT status, output, error, error_code FROM agent_command WHERE id = $1',
    [id],
    'autopilot_command',
  );
  return row
    ? { status: row.status, output: parseJsonObject(row.output), error: row.error, code: row.errorCode }
    : null;
}

function parseJsonObject(output: string | null): Record<string, unknown> | null {
  if (!output) return null;
  try {
    const value = JSON.parse(output) as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
