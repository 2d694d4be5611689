import { AppError, type FieldError } from '@muster/contracts';
import { common, elementFault, stepTypes } from './step-types';

export type Step = Record<string, unknown>;

const shown = 20;

/** Each step has an id of its own, a type that we know, and what its type needs. Throws all that is wrong. */
export function requireSteps(steps: readonly Step[]): void {
  const errors = faultsOf(steps);
  if (errors.length) {
    throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors: errors.slice(0, shown) });
  }
}

function faultsOf(steps: readonly Step[]): FieldError[] {
  const seen = new Map<unknown, number>();
  return steps.flatMap((step, at) => {
    const own = (field: string, message: string) => ({
      field: `steps.${at}.${field}`,
      message: `step ${at + 1}${nameOf(step)}: ${message}`,
    });
    if (typeof step['id'] !== 'string' || step['id'] === '' || step['id'].length > 200) {
      return [own('id', 'id must be a text of 1 to 200 characters')];
    }
    const twin = seen.get(step['id']);
    seen.set(step['id'], at);
    if (twin !== undefined) return [own('id', `id ${step['id']} is that of step ${twin + 1} too`)];
    return typeFaults(step).map(([field, message]) => own(field, message));
  });
}

/** What is wrong with a step beside its id. */
export function typeFaults(step: Step): [field: string, message: string][] {
  const { type } = step;
  if (typeof type !== 'string') return [['type', 'type must be a text']];
  if (!Object.hasOwn(stepTypes, type)) return [['type', `there is no step type ${type.slice(0, 100)}`]];
  const { required, optional, element } = stepTypes[type]!;
  const faults: [string, string][] = [];
  for (const [name, fit] of Object.entries({ ...common, ...optional, ...required })) {
    if (step[name] === undefined) {
      if (Object.hasOwn(required, name)) faults.push([name, `${type} needs ${name}`]);
      continue;
    }
    const words = fit(step[name]);
    if (words) faults.push([name, `${name} must be ${words}`]);
  }
  const fault = element && elementFault(step, element);
  if (fault) faults.push([fault[0], `${fault[0]} ${fault[1]}`]);
  return faults;
}

function nameOf({ id }: Step): string {
  return typeof id === 'string' && id !== '' ? ` (${id.slice(0, 100)})` : '';
}
