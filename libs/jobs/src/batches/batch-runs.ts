import { loadValueSealer, sealNamedVariables } from '@muster/access';
import type { Transaction } from '@muster/database';
import type { KeyRing } from '@muster/vault';

export interface CheckedRun {
  id: string;
  /** Agent of the run; null if the batch has a target. */
  agentId: string | null;
  row: number;
  variables: Record<string, string>;
  /** The concurrency keys of the run as JSON, in the form of the column `concurrency_keys`; null if there are none. */
  keys: string | null;
}

/** A run whose variables are the JSON text that is stored. */
export type Run = Omit<CheckedRun, 'variables'> & { variables: string };

export const rowsPerChunk = 500;
const charactersPerChunk = 1024 * 1024;

/** Returns the runs with their variables as JSON, in which sensitive values are sealed. */
export async function encodeVariablesOfRuns(
  tx: Transaction,
  organizationId: string,
  { runs, names, keyRing }: { runs: readonly CheckedRun[]; names: readonly string[]; keyRing: KeyRing | undefined },
): Promise<Run[]> {
  if (names.length > 0 && !keyRing)
    throw new Error('a batch of a workflow with sensitive variables was launched without a key ring');
  const seal = names.length > 0 ? await loadValueSealer(tx, keyRing!, organizationId) : null;
  return runs.map((run) => ({
    ...run,
    variables: JSON.stringify(seal ? sealNamedVariables(run.variables, names, seal) : run.variables),
  }));
}

export function* splitIntoChunks(runs: Run[]): Generator<Run[]> {
  let chunk: Run[] = [];
  let characters = 0;
  for (const run of runs) {
    if (chunk.length === rowsPerChunk || (chunk.length && characters + run.variables.length > charactersPerChunk)) {
      yield chunk;
      [chunk, characters] = [[], 0];
    }
    chunk.push(run);
    characters += run.variables.length;
  }
  if (chunk.length) yield chunk;
}
