import { AppError, type FieldError } from '@muster/contracts';
import { common, checkStepElement, recorderTypes, type StepType, getStepType } from './step-types';

export type Step = Record<string, unknown>;

const maxErrors = 20;

/** Throws invalid_payload unless each step has a unique id, a type, and the fields that a known type requires. */
export function requireValidSteps(steps: readonly Step[]): void {
  const errors = listStepErrors(steps);
  if (errors.length) {
    throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors: errors.slice(0, maxErrors) });
  }
}

function listStepErrors(steps: readonly Step[]): FieldError[] {
  const positions = new Map<unknown, number>();
  return steps.flatMap((step, at) => {
    const addFieldError = (field: string, message: string) => ({
      field: `steps.${at}.${field}`,
      message: `step ${at + 1}${formatStepId(step)}: ${message}`,
    });
    if (typeof step['id'] !== 'string' || step['id'] === '' || step['id'].length > 200) {
      return [addFieldError('id', 'id must be a text of 1 to 200 characters')];
    }
    const twin = positions.get(step['id']);
    positions.set(step['id'], at);
    if (twin !== undefined) return [addFieldError('id', `id ${step['id']} is also the id of step ${twin + 1}`)];
    return checkStepType(step).map(([field, message]) => addFieldError(field, message));
  });
}

/** Whether a run of a recording can do the step. The step's id is not checked. */
export function isValidStep(step: Step): boolean {
  const { type } = step;
  return (
    typeof type === 'string' && Object.hasOwn(recorderTypes, type) && checkStepType(step, recorderTypes).length === 0
  );
}

export interface StepWarning {
  stepId: string;
  message: string;
}

/** Returns the problems that make a run fail, but do not prevent a save. */
export function listStepWarnings(steps: readonly Step[]): StepWarning[] {
  return steps.flatMap((step) => {
    const [stepId, type] = [step['id'], step['type']] as [string, string];
    const stepType = getStepType(type);
    if (!stepType) {
      return [{ stepId, message: `a run cannot do a step of the type ${type.slice(0, 100)}, and fails at that step` }];
    }
    const lacking = (stepType.expected ?? []).filter((name) => step[name] === undefined);
    return lacking.map((name) => ({ stepId, message: `${type} has no ${name}` }));
  });
}

/** Returns the errors of a step, except those of its id. */
export function checkStepType(step: Step, types?: Record<string, StepType>): [field: string, message: string][] {
  const { type } = step;
  if (typeof type !== 'string') return [['type', 'type must be a text']];
  if (type === '' || type.length > 100) return [['type', 'type must be a text of 1 to 100 characters']];
  const stepType = types ? types[type] : getStepType(type);
  if (!stepType) return [];
  const { required, optional, element } = stepType;
  const faults: [string, string][] = [];
  for (const [name, fit] of Object.entries({ ...common, ...optional, ...required })) {
    if (step[name] === undefined) {
      if (Object.hasOwn(required, name)) faults.push([name, `${type} needs ${name}`]);
      continue;
    }
    const problem = fit(step[name]);
    if (problem) faults.push([name, `${name} must be ${problem}`]);
  }
  const fault = element && checkStepElement(step, element);
  if (fault) faults.push([fault[0], `${fault[0]} ${fault[1]}`]);
  return faults;
}

function formatStepId({ id }: Step): string {
  return typeof id === 'string' && id !== '' ? ` (${id.slice(0, 100)})` : '';
}
