import { createHash } from 'node:crypto';
import { AppError } from '@muster/contracts';
import { type IdempotencyKeyEntity, type Transaction, tryAdvisoryLock } from '@muster/database';
import { getBodyDigest, isUuid } from '@muster/platform';
import { isSealedText, type KeyRing, openText, sealText } from '@muster/vault';
import type { FastifyRequest } from 'fastify';

/** A request with an Idempotency-Key. */
interface Repeatable {
  keyRing: KeyRing;
  organizationId: string;
  request: FastifyRequest;
  key: string;
}

interface Answer<Body> extends Pick<IdempotencyKeyEntity, 'status'> {
  body: Body;
  location?: string;
  etag?: string;
}

const retentionHours = 24;

/** Returns the response of the first request with this key; null if this request is the first. */
export async function findStoredAnswer<Body>(tx: Transaction, repeatable: Repeatable): Promise<Answer<Body> | null> {
  const { organizationId, request, key } = repeatable;
  const route = getRequestPath(request);
  if (!(await tryAdvisoryLock(tx, 'idempotency', organizationId, route, key))) {
    throw new AppError('idempotency_key_in_flight', {
      detail: 'The first request with this Idempotency-Key is still being processed; repeat this one in a moment.',
      headers: { 'retry-after': '1' },
    });
  }
  const [stored] = await tx.query<
    Pick<IdempotencyKeyEntity, 'requestHash' | 'status' | 'location'> & { body: unknown }
  >(
    `SELECT request_hash, status, location, body FROM idempotency_key
     WHERE organization_id = $1 AND route = $2 AND key = $3 AND expires_at > muster_now()`,
    [organizationId, route, key],
  );
  if (!stored) return null;
  if (stored.requestHash !== hashRequestContent(request)) {
    throw new AppError('idempotency_key_reused', {
      detail: 'This Idempotency-Key was used with another request. Use a new key for each new request.',
    });
  }
  const { body, etag } = decryptStoredAnswer<Body>(repeatable, stored.body);
  return { body, etag, status: stored.status, location: stored.location ?? undefined };
}

/**
 * Stores the response for a day, in the transaction of its change. The response is sealed, because it may contain a
 * secret, and no row may contain a secret in plain text.
 */
export async function storeAnswer(
  tx: Transaction,
  repeatable: Repeatable,
  { body, etag, status, location }: Answer<unknown>,
): Promise<void> {
  const { keyRing, organizationId, request, key } = repeatable;
  const sealedAnswer = sealText(keyRing, buildAssociatedData(repeatable), JSON.stringify({ body, etag }));
  await tx.execute(
    `INSERT INTO idempotency_key (organization_id, route, key, request_hash, status, location, body, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, muster_now() + $8 * interval '1 hour')
     ON CONFLICT (organization_id, route, key) DO UPDATE
     SET request_hash = excluded.request_hash, status = excluded.status, location = excluded.location,
         body = excluded.body, created_at = muster_now(), expires_at = excluded.expires_at`,
    [
      organizationId,
      getRequestPath(request),
      key,
      hashRequestContent(request),
      status,
      location ?? null,
      JSON.stringify(sealedAnswer),
      retentionHours,
    ],
  );
}

function decryptStoredAnswer<Body>(repeatable: Repeatable, stored: unknown): { body: Body; etag?: string } {
  // An older version of the service stored the response unsealed.
  if (!isSealedText(stored)) return { body: stored as Body };
  const { keyRing } = repeatable;
  if (!keyRing.findKey(stored.masterKeyId)) {
    throw new AppError('conflict', {
      detail:
        'The first request with this Idempotency-Key was executed, but its response can no longer be decrypted. ' +
        'Read the resource to see the result.',
    });
  }
  return JSON.parse(openText(keyRing, buildAssociatedData(repeatable), stored)) as { body: Body; etag?: string };
}

/** The associated data that binds a stored response to its organization and its request. */
function buildAssociatedData({ organizationId, request, key }: Repeatable): string {
  return `${organizationId}/idempotency-key/${getRequestPath(request)}/${key}`;
}

/**
 * Returns the path of a request instead of its route pattern, because the same action on two agents counts as two
 * different requests.
 */
function getRequestPath(request: FastifyRequest): string {
  const params = request.params as Record<string, string>;
  const path = request.routeOptions.url!.replaceAll(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(lowerCaseIfUuid(params[name] ?? '')),
  );
  return `${request.method} ${path}`;
}

/** Returns the same hash for a repeated request, whatever the order of its fields and the spelling of its ids. */
function hashRequestContent(request: FastifyRequest): string {
  const digest = getBodyDigest(request);
  if (digest) return digest;
  const text = JSON.stringify(request.body ?? null, (_, value: unknown) => {
    if (typeof value === 'string') return lowerCaseIfUuid(value);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
  return createHash('sha256').update(text).digest('hex');
}

function lowerCaseIfUuid(text: string): string {
  return isUuid(text) ? text.toLowerCase() : text;
}
