import { AppError, refusedVariableName } from '@muster/contracts';

export interface Definition {
  variables: readonly string[];
  script: string;
  steps: readonly Record<string, unknown>[];
}

/** A name that the worker's environment already has could not be given to the script. */
export function requireVariableNames(names: readonly string[]): void {
  const errors = names.flatMap((name, at) => {
    const fault = names.indexOf(name) < at ? `${name} is named twice` : refusedVariableName(name);
    return fault ? [{ field: `variables.${at}`, message: fault }] : [];
  });
  if (errors.length) throw new AppError('invalid_payload', { detail: errors[0]!.message, errors });
}

/**
 * What is likely not meant: nothing that would keep it from running. A workflow that has nothing to run yet is not
 * warned of. A script may build a name, and secrets come as variables do, so neither can be a fault.
 */
export function warningsOf({ variables, script, steps }: Definition): string[] {
  if (!script && steps.length === 0) return [];
  const stepText = steps.length ? JSON.stringify(steps) : '';
  const words = new Set(`${script}\n${stepText}`.match(/[A-Za-z_][A-Za-z0-9_]*/g));
  const unused = variables.filter((name) => !words.has(name)).map((name) => `nothing uses the variable ${name}`);
  const unnamed = placeholdersIn(stepText)
    .filter((name) => !variables.includes(name))
    .map((name) => `the steps use {{${name}}}, which is no variable: each run must bring it as a vault key`);
  return [...unused, ...unnamed];
}

/** The names in {{…}}, each once, in the order that they come. */
export function placeholdersIn(text: string): string[] {
  return [...new Set([...text.matchAll(/\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g)].map(([, name]) => name!))];
}
