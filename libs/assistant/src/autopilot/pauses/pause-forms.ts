import type { PauseReason, QuestionKind, StepOverride } from '@muster/contracts';
import type { SessionQuestion } from '@muster/jobs';
import { cleanNameForSentence } from '@muster/platform';
import { personCodeName, usesPersonCode } from '../codes/attempt-codes';

/** Choices of a question about a step that may have sent something. */
const doAgain = 'Do it again';
const skipStep = 'Skip the step';

/** The form in which a person answers the question of a pause. */
export const pauseForms: Record<PauseReason, { kind: QuestionKind; choices: string[] | null }> = {
  one_time_code: { kind: 'code', choices: null },
  captcha: { kind: 'confirm', choices: null },
  before_submit: { kind: 'confirm', choices: null },
  outcome_unknown: { kind: 'choice', choices: [doAgain, skipStep] },
  unsure: { kind: 'text', choices: null },
  attempts_exhausted: { kind: 'text', choices: null },
};

/** Returns the question to a person for the one-time code that a page asks for in a step. */
export function writeCodeQuestion(stepTitle: string): string {
  return `The page asks for a one-time code in “${cleanNameForSentence(stepTitle)}”.`;
}

export const codePlaceholder = `{{${personCodeName}}}`;

/** Returns the instruction for a step with the placeholder of the code that a person has provided. */
export function addCodeToInstruction(instruction: string): string {
  if (usesPersonCode(instruction)) return instruction;
  return `${instruction}\nA person has provided the one-time code: write ${codePlaceholder} where the page asks for it.`;
}

/**
 * Returns the change of the step that an answer requests: none if the step may simply continue. Returns null if the
 * person does not let the session continue.
 */
export function toStepOverride({ kind, answer }: Pick<SessionQuestion, 'kind' | 'answer'>): StepOverride | null {
  const value = answer?.value;
  if (kind === 'confirm') return value === true ? {} : null;
  if (kind === 'choice') return value === skipStep ? { skip: true } : {};
  return kind === 'text' ? { instruction: String(value) } : {};
}

/**
 * Converts a change of the step, with which a person resumes the session, to the answer of the session's question; null
 * if it answers the question in no valid way.
 */
export function toPauseAnswer(reason: PauseReason, { instruction, code, skip }: StepOverride): unknown {
  const isUnchanged = instruction === undefined && code === undefined && !skip;
  switch (pauseForms[reason].kind) {
    case 'confirm':
      return isUnchanged ? true : null;
    case 'choice':
      return isUnchanged ? doAgain : skip ? skipStep : null;
    case 'text':
      return instruction ?? null;
    default:
      return null;
  }
}
