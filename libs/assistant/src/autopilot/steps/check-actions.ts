import type { SessionAction } from '@muster/contracts';
import { parseOriginOrNull } from '../task/task-key';
import type { SessionRow } from '../session/session-row';
import { requireTaskOfSession } from './work';

const maxActions = 50;
const limits = { name: 500, value: 20_000, selector: 2000, selectors: 50 };

/**
 * Returns why a browser must not execute these actions; null if they are allowed. The worker checks this again.
 * `secretNames` are the names of the secrets that the actions may contain.
 */
export function checkActions(
  session: SessionRow,
  actions: SessionAction[],
  secretNames: readonly string[],
): string | null {
  if (actions.length > maxActions) return `${actions.length} actions are more than the ${maxActions} of one attempt`;
  const names = [...Object.keys(session.inputs), ...secretNames];
  for (const { action, name: called, value, selectors } of actions) {
    if (selectors.length > limits.selectors) {
      return `${selectors.length} selectors are more than the ${limits.selectors} of one action`;
    }
    if (called.length > limits.name || value.length > limits.value)
      return 'the name or the value of an action is too long';
    if (selectors.some(({ selector }) => selector.length > limits.selector)) {
      return `a selector is longer than ${limits.selector} characters`;
    }
    const texts = [value, ...selectors.map(({ selector }) => selector)];
    const unknown = texts.flatMap(findPlaceholders).find((name) => !names.includes(name));
    if (unknown !== undefined) return `{{${unknown}}} is neither an input nor a vault key of the session`;
    if (action === 'navigate') {
      const fault = checkNavigationAddress(session, value, secretNames);
      if (fault) return fault;
    }
  }
  return null;
}

/** Checks the address of a navigation after its inputs are filled in. */
function checkNavigationAddress(session: SessionRow, value: string, secretNames: readonly string[]): string | null {
  const { inputs } = session;
  const secret = findPlaceholders(value).find((name) => secretNames.includes(name));
  if (secret !== undefined) return `an address must not contain the secret {{${secret}}}`;
  const address = value.replaceAll(placeholder, (_, name: string) => inputs[name.trim()] ?? '');
  const { startUrl } = requireTaskOfSession(session);
  const site = parseOriginOrNull(startUrl);
  const resolved = URL.canParse(address, startUrl ?? undefined) ? new URL(address, startUrl ?? undefined) : null;
  if (resolved && site && resolved.origin === site && /^https?:$/.test(resolved.protocol)) return null;
  return `${address.slice(0, 200)} is not on the site that the session may visit (${site ?? 'none'})`;
}

/** White space around a name is trimmed afterwards: matching it here would take quadratic time on unclosed braces. */
const placeholder = /\{\{([^{}]+)\}\}/g;

export function findPlaceholders(text: string): string[] {
  return [...text.matchAll(placeholder)].map(([, name]) => name!.trim());
}
