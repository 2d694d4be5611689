import { AppError, type ConcurrencyKey, type FieldError, keyVariables } from '@muster/contracts';

const maxKeyLength = 200;
const maxKeys = 5;

/** Returns the concurrency keys with their variables filled in. If a key has several limits, the smallest applies. */
export function fillVariablesIntoConcurrencyKeys(
  { requested, workflowKeys }: { requested: readonly ConcurrencyKey[]; workflowKeys: readonly ConcurrencyKey[] },
  variables: Record<string, string>,
): Required<ConcurrencyKey>[] {
  const errors: FieldError[] = [];
  const limits = new Map<string, number>();
  for (const [at, { key: template, limit = 1 }] of [...requested, ...workflowKeys].entries()) {
    const field = at < requested.length ? `concurrencyKeys.${at}.key` : 'workflowId';
    const key = template.replace(keyVariables, (_, name: string) => {
      if (Object.hasOwn(variables, name.trim())) return variables[name.trim()]!;
      errors.push({ field, message: `the workflow has no variable ${name.trim()}` });
      return '';
    });
    if (key.trim() === '') errors.push({ field, message: 'the key is empty after its variables are replaced' });
    if (key.length > maxKeyLength) {
      errors.push({
        field,
        message: `the key is longer than ${maxKeyLength} characters after its variables are replaced`,
      });
    }
    limits.set(key, Math.min(limit, limits.get(key) ?? limit));
  }
  if (limits.size > maxKeys) {
    const message = `a run can have at most ${maxKeys} keys, including those of its workflow`;
    errors.push({ field: 'concurrencyKeys', message });
  }
  if (errors.length) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
  return [...limits].map(([key, limit]) => ({ key, limit }));
}
