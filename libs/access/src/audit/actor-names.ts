import type { Actor } from './audit';

type Caller = Pick<Actor, 'kind' | 'id' | 'email'>;

/** Whether a request came from the console, which people use, or from the API. */
export function getCallerChannel({ kind }: Pick<Actor, 'kind'>): 'console' | 'api' {
  return kind === 'user' ? 'console' : 'api';
}

/** Returns a readable name of the caller. */
export function describeCaller({ kind, id, email }: Caller): string {
  return email ?? `${kind} ${id}`;
}

/** Returns the caller's name for use in a sentence, such as “started by key abc”. */
export function describeCallerInSentence({ kind, id, email }: Caller): string {
  return email ?? (kind === 'api_key' ? `key ${id}` : `${kind} ${id}`);
}
