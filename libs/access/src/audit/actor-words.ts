import type { Actor } from './audit';

type Caller = Pick<Actor, 'kind' | 'id' | 'email'>;

/** Where it was asked for: people use the console, everything else the API. */
export function sourceOf({ kind }: Pick<Actor, 'kind'>): 'console' | 'api' {
  return kind === 'user' ? 'console' : 'api';
}

/** Who asked for it, for people to read. */
export function nameOf({ kind, id, email }: Caller): string {
  return email ?? `${kind} ${id}`;
}

/** The same in a sentence: started by key abc. */
export function spokenNameOf({ kind, id, email }: Caller): string {
  return email ?? (kind === 'api_key' ? `key ${id}` : `${kind} ${id}`);
}
