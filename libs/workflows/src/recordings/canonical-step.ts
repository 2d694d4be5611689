import type { Step } from '../check-steps';
import { canonicalType } from '../step-types';

/**
 * A step as people write it in the words of the recorder: one name for each type, and its element as selectors. What
 * nobody can run is `unsupported`, of the type that it was.
 */
export function canonicalStep(step: Step): Step {
  const type = canonicalType(step['type'] as string);
  if (!type) return { ...step, type: 'unsupported', of: String(step['type']).slice(0, 100) };
  return { ...step, type, selectors: selectorsOf(step) };
}

function selectorsOf({ selector, selectors, field, text, type }: Step): unknown[] | undefined {
  if (Array.isArray(selectors)) return selectors;
  if (typeof selector === 'string') return [selectorAs(selector)];
  if (typeof field === 'string') return [`field/${field}`];
  // Of a key, a text is what is pressed; elsewhere it is what the element reads.
  if (typeof text === 'string' && type !== 'press') return [`says/${text}`];
  return undefined;
}

/** CSS, or what other tools write before other kinds. */
function selectorAs(selector: string): string {
  const text = selector.trim();
  if (/^\(*\/\//.test(text)) return `xpath/${text}`;
  return text.replace(/^(xpath|text|css|aria|pierce)=/, '$1/').replace(/^css\//, '');
}
