import { createSecretRedactor, loadValueCipher } from '@muster/access';
import { isSealedValue, sealedMark } from '@muster/contracts';
import type { JobEntity, Transaction } from '@muster/database';
import type { KeyRing } from '@muster/vault';

interface ReportedResult {
  organizationId: string;
  jobId: string;
  result?: unknown;
  keyRing?: KeyRing;
}

/**
 * Stores the sensitive part of the result of an ended job. The values whose names the workflow lists are sealed, and so
 * is every other value that contains the value of a sensitive variable: the job lists its name as sensitive, too.
 */
export async function saveSealedResults(
  tx: Transaction,
  { organizationId, jobId, result, keyRing }: ReportedResult,
  { variables, sensitiveResults }: Pick<JobEntity, 'variables' | 'sensitiveResults'>,
): Promise<void> {
  const sealedVariables = Object.values(variables).filter(isSealedValue);
  if (result === undefined || result === null || (!sensitiveResults && sealedVariables.length === 0)) return;
  if (!keyRing) throw new Error('a result with sensitive values was reported without a key ring');
  // The first use creates the key of the organization, for which other transactions would wait.
  tx.requireOwnConnection();
  const { seal, open } = await loadValueCipher(tx, keyRing, organizationId);
  const hidden = createSecretRedactor(sealedVariables.map(open), sealedMark);
  const key = [jobId, organizationId];
  // Only the values of an object have names.
  if (typeof result !== 'object' || Array.isArray(result)) {
    await tx.execute('UPDATE job SET result = $3 WHERE id = $1 AND organization_id = $2', [
      ...key,
      JSON.stringify(hidden.deep(result)),
    ]);
    return;
  }
  const names = new Set(sensitiveResults);
  const entries = Object.entries(result).map(([reportedName, value]: [string, unknown]) => {
    const name = hidden.text(reportedName);
    const text = JSON.stringify(value ?? null);
    if (JSON.stringify(hidden.deep(value) ?? null) !== text) names.add(name);
    return [name, names.has(name) ? seal(text) : value];
  });
  await tx.execute('UPDATE job SET result = $3, sensitive_results = $4 WHERE id = $1 AND organization_id = $2', [
    ...key,
    JSON.stringify(Object.fromEntries(entries)),
    names.size > 0 ? [...names] : null,
  ]);
}
