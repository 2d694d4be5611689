import { AppError, type ConcurrencyKey, keyVariables, checkVariableName } from '@muster/contracts';
import { listStepWarnings } from './check-steps';

export interface Definition {
  variables: readonly string[];
  script: string;
  steps: readonly Record<string, unknown>[];
}

/**
 * Throws if a name occurs twice, or is reserved by the worker's environment and so could not be passed to the script.
 */
export function requireVariableNames(names: readonly string[]): void {
  const errors = names.flatMap((name, at) => {
    const fault = names.indexOf(name) < at ? `${name} is named twice` : checkVariableName(name);
    return fault ? [{ field: `variables.${at}`, message: fault }] : [];
  });
  if (errors.length) throw new AppError('invalid_payload', { detail: errors[0]!.message, errors });
}

/**
 * Throws if a concurrency key refers to anything but the workflow's variables. For example, the value of a secret would
 * be visible in the key.
 */
export function requireVariablesOfKeys(keys: readonly ConcurrencyKey[], names: readonly string[]): void {
  const errors = keys.flatMap(({ key }, at) =>
    [...key.matchAll(keyVariables)]
      .map(([, name]) => name!.trim())
      .filter((name) => !names.includes(name))
      .map((name) => ({ field: `concurrencyKeys.${at}.key`, message: `the workflow has no variable ${name}` })),
  );
  if (errors.length) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
}

/** Throws if a sensitive name is not a variable, or if a concurrency key, which everybody sees, contains its value. */
export function requireSensitiveVariables(
  sensitive: readonly string[],
  { variables, concurrencyKeys }: { variables: readonly string[]; concurrencyKeys: readonly ConcurrencyKey[] },
): void {
  const errors = [
    ...sensitive.flatMap((name, at) =>
      variables.includes(name)
        ? []
        : [{ field: `sensitiveVariables.${at}`, message: `the workflow has no variable ${name}` }],
    ),
    ...listSensitiveKeyErrors(concurrencyKeys, sensitive),
  ];
  if (errors.length) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
}

/** Throws if a concurrency key contains a sensitive variable. */
export function requireKeysWithoutSensitive(keys: readonly ConcurrencyKey[], sensitive: readonly string[]): void {
  const errors = listSensitiveKeyErrors(keys, sensitive);
  if (errors.length) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
}

function listSensitiveKeyErrors(keys: readonly ConcurrencyKey[], sensitive: readonly string[]) {
  return keys.flatMap(({ key }, at) =>
    [...key.matchAll(keyVariables)]
      .map(([, name]) => name!.trim())
      .filter((name) => sensitive.includes(name))
      .map((name) => ({
        field: `concurrencyKeys.${at}.key`,
        message: `the variable ${name} is sensitive, so a concurrency key cannot contain it`,
      })),
  );
}

export interface WorkflowWarning {
  /** Step that the warning is about; null if the warning is about the whole workflow. */
  stepId: string | null;
  message: string;
}

/**
 * Returns warnings about likely mistakes and about steps that no run can do. An empty workflow has no warnings. An
 * unused or unknown name is not an error: a script may compute names, and vault keys reach it in the same way as
 * variables.
 */
export function listVariableWarnings({ variables, script, steps }: Definition): WorkflowWarning[] {
  if (!script && steps.length === 0) return [];
  const identifiers = new Set(`${script}\n${JSON.stringify(steps)}`.match(/[A-Za-z_][A-Za-z0-9_]*/g));
  const unused = variables
    .filter((name) => !identifiers.has(name))
    .map((name) => ({ stepId: null, message: `nothing uses the variable ${name}` }));
  return [...unused, ...listUnknownNameWarnings(steps, variables), ...listStepWarnings(steps)];
}

/** Ignores Python code, in which two braces mean something else. A value that a step reads is known to later steps. */
function listUnknownNameWarnings(steps: Definition['steps'], variables: readonly string[]): WorkflowWarning[] {
  const knownNames = new Set(variables);
  return steps.flatMap(({ code: _code, ...step }) => {
    const names = findPlaceholders(JSON.stringify(step)).filter((name) => !knownNames.has(name));
    for (const name of [...names, step['as'] ?? step['id']]) knownNames.add(String(name));
    const describeUnknownName = (name: string) =>
      `the steps use {{${name}}}, which is not a variable: each run must provide it as a vault key`;
    return names.map((name) => ({ stepId: String(step['id']), message: describeUnknownName(name) }));
  });
}

/** Returns the names in {{…}} without duplicates, in the order of their first use. */
export function findPlaceholders(text: string): string[] {
  return [...new Set([...text.matchAll(/\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g)].map(([, name]) => name!))];
}
