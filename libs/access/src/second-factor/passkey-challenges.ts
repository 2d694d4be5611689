import { randomBytes } from 'node:crypto';
import { invalidField } from '@muster/contracts';
import type { Database } from '@muster/database';

export const challengeLifetimeMs = 5 * 60_000;

/** What a browser answered, in the form that WebAuthn gives it, and nothing more is known of it. */
interface PasskeyResponse {
  id: string;
  rawId: string;
  type: 'public-key';
  clientExtensionResults: Record<string, never>;
  response: Record<string, string>;
}

export interface PasskeyAnswer {
  response: PasskeyResponse;
  /** What it had to sign; null where we did not ask for it, where it took too long, or where it was answered before. */
  challenge: string | null;
}

/** Of the user who adds a passkey; of nobody where somebody signs in or proves that it is still him. */
export async function issueChallenge(
  database: Database,
  { userId, now }: { userId: string | null; now: Date },
): Promise<string> {
  const challenge = randomBytes(32).toString('base64url');
  await database.query(
    'system',
    'INSERT INTO passkey_challenge (challenge, user_id, expires_at) VALUES ($1, $2, $3)',
    [challenge, userId, new Date(now.getTime() + challengeLifetimeMs)],
    'issue_challenge',
  );
  return challenge;
}

/** Reads an answer and uses its challenge up, right or wrong: nothing is answered twice. */
export async function readPasskey(
  database: Database,
  sent: Record<string, unknown>,
  { field, userId, now }: { field: string; userId: string | null; now: Date },
): Promise<PasskeyAnswer> {
  const response = responseOf(sent);
  if (!response) throw invalidField(field, `${field} must be the JSON of a passkey's answer`, 'This is no passkey.');
  const signed = challengeOf(response);
  const rows = signed
    ? await database.query(
        'system',
        `DELETE FROM passkey_challenge
         WHERE challenge = $1 AND user_id IS NOT DISTINCT FROM $2::uuid AND expires_at > $3 RETURNING challenge`,
        [signed, userId, now],
        'use_challenge',
      )
    : [];
  return { response, challenge: rows.length > 0 ? signed : null };
}

const longest = { id: 1400, part: 65_536 };

/** Only what is verified is read, so that nothing else of what was sent goes any further. */
function responseOf({ id, rawId, type, response }: Record<string, unknown>): PasskeyResponse | null {
  if (!isText(id, longest.id) || rawId !== id || type !== 'public-key') return null;
  if (typeof response !== 'object' || response === null) return null;
  const parts = ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle'].flatMap(
    (name) => {
      const part = (response as Record<string, unknown>)[name];
      return isText(part, longest.part) ? [[name, part] as const] : [];
    },
  );
  return { id, rawId: id, type, clientExtensionResults: {}, response: Object.fromEntries(parts) };
}

function isText(value: unknown, max: number): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= max && /^[A-Za-z0-9_-]+$/.test(value);
}

function challengeOf({ response: { clientDataJSON = '' } }: PasskeyResponse): string | null {
  try {
    const { challenge } = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString()) as { challenge?: unknown };
    return isText(challenge, 64) ? challenge : null;
  } catch {
    return null;
  }
}
