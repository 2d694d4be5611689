import { randomBytes } from 'node:crypto';
import { invalidFieldError } from '@muster/contracts';
import type { Database } from '@muster/database';

export const challengeLifetimeMs = 5 * 60_000;

/** A browser's response in the form that WebAuthn defines. It is not verified yet. */
interface PasskeyResponse {
  id: string;
  rawId: string;
  type: 'public-key';
  clientExtensionResults: Record<string, never>;
  response: Record<string, string>;
}

export interface PasskeyAnswer {
  response: PasskeyResponse;
  /** The challenge that was signed; null if the service did not issue it, it has expired, or it was used before. */
  challenge: string | null;
}

/** Creates a challenge. `userId` is the user who adds a passkey; null for a sign-in and for a repeated proof. */
export async function issuePasskeyChallenge(
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

/** Reads a response and deletes its challenge, even if the response is wrong, so that none is answered twice. */
export async function consumePasskeyResponse(
  database: Database,
  sent: Record<string, unknown>,
  { field, userId, now }: { field: string; userId: string | null; now: Date },
): Promise<PasskeyAnswer> {
  const response = copyPasskeyResponse(sent);
  if (!response)
    throw invalidFieldError(
      field,
      `${field} must be the JSON of a passkey response`,
      'This is not the response of a browser to a passkey request. Send it as JSON, unchanged.',
    );
  const signed = parsePasskeyChallenge(response);
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

const maxLength = { id: 1400, part: 65_536 };

/** Copies only the fields that are verified later, so that no other part of the request is used. */
function copyPasskeyResponse({ id, rawId, type, response }: Record<string, unknown>): PasskeyResponse | null {
  if (!isBase64UrlText(id, maxLength.id) || rawId !== id || type !== 'public-key') return null;
  if (typeof response !== 'object' || response === null) return null;
  const parts = ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle'].flatMap(
    (name) => {
      const part = (response as Record<string, unknown>)[name];
      return isBase64UrlText(part, maxLength.part) ? [[name, part] as const] : [];
    },
  );
  return { id, rawId: id, type, clientExtensionResults: {}, response: Object.fromEntries(parts) };
}

function isBase64UrlText(value: unknown, max: number): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= max && /^[A-Za-z0-9_-]+$/.test(value);
}

function parsePasskeyChallenge({ response: { clientDataJSON = '' } }: PasskeyResponse): string | null {
  try {
    const { challenge } = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString()) as { challenge?: unknown };
    return isBase64UrlText(challenge, 64) ? challenge : null;
  } catch {
    return null;
  }
}
