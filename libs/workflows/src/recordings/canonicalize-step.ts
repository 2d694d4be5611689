import type { Step } from '../check-steps';
import { findCanonicalType } from '../step-types';

/**
 * Converts a step that a person wrote to the recorder's form: one name for each type, and the element as selectors. A
 * step of a type that no run can do becomes `unsupported`.
 */
export function canonicalizeStep(step: Step): Step {
  const type = findCanonicalType(step['type'] as string);
  if (!type) return { ...step, type: 'unsupported', unsupportedType: String(step['type']).slice(0, 100) };
  return { ...step, type, selectors: collectStepSelectors(step) };
}

function collectStepSelectors({ selector, selectors, field, text, type }: Step): unknown[] | undefined {
  if (Array.isArray(selectors)) return selectors;
  if (typeof selector === 'string') return [convertSelector(selector)];
  if (typeof field === 'string') return [`field/${field}`];
  // In a press step, `text` is typed; in other steps it is the visible text of the element.
  if (typeof text === 'string' && type !== 'press') return [`says/${text}`];
  return undefined;
}

/** Converts a CSS selector, or one with the prefix of another tool, to a selector of the runtime. */
function convertSelector(selector: string): string {
  const text = selector.trim();
  if (/^\(*\/\//.test(text)) return `xpath/${text}`;
  return text.replace(/^(xpath|text|css|aria|pierce)=/, '$1/').replace(/^css\//, '');
}
