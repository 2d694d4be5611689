import { AppError, type ConcurrencyKey, keyVariables, refusedVariableName } from '@muster/contracts';
import { stepWarnings } from './check-steps';

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

/** A key may name the workflow's variables alone: a secret's value would be seen in it. */
export function requireKeyVariables(keys: readonly ConcurrencyKey[], names: readonly string[]): void {
  const errors = keys.flatMap(({ key }, at) =>
    [...key.matchAll(keyVariables)]
      .map(([, name]) => name!.trim())
      .filter((name) => !names.includes(name))
      .map((name) => ({ field: `concurrencyKeys.${at}.key`, message: `the workflow has no variable ${name}` })),
  );
  if (errors.length) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
}

export interface WorkflowWarning {
  /** Null: it is about the workflow. */
  stepId: string | null;
  message: string;
}

/**
 * What is likely not meant, or no run can do. A workflow that has nothing to run yet is not warned of. A script may
 * build a name, and secrets come as variables do, so neither can be a fault; steps beside a script are not run.
 */
export function warningsOf({ variables, script, steps }: Definition): WorkflowWarning[] {
  if (!script && steps.length === 0) return [];
  const words = new Set(`${script}\n${JSON.stringify(steps)}`.match(/[A-Za-z_][A-Za-z0-9_]*/g));
  const unused = variables
    .filter((name) => !words.has(name))
    .map((name) => ({ stepId: null, message: `nothing uses the variable ${name}` }));
  return [...unused, ...unnamedIn(steps, variables), ...stepWarnings(steps)];
}

/** In Python two braces mean something else; and what a step reads is there for those behind it. */
function unnamedIn(steps: Definition['steps'], variables: readonly string[]): WorkflowWarning[] {
  const known = new Set(variables);
  return steps.flatMap(({ code: _code, ...step }) => {
    const names = placeholdersIn(JSON.stringify(step)).filter((name) => !known.has(name));
    for (const name of [...names, step['as'] ?? step['id']]) known.add(String(name));
    const message = (name: string) =>
      `the steps use {{${name}}}, which is no variable: each run must bring it as a vault key`;
    return names.map((name) => ({ stepId: String(step['id']), message: message(name) }));
  });
}

/** The names in {{…}}, each once, in the order that they come. */
export function placeholdersIn(text: string): string[] {
  return [...new Set([...text.matchAll(/\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g)].map(([, name]) => name!))];
}
