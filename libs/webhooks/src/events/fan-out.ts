import type { WebhookType } from '@muster/contracts';
import type { AgentEntity, Database, Transaction, WebhookEndpointEntity, WebhookEventEntity } from '@muster/database';
import { newId, Round, sweep, type SweepCounts } from '@muster/platform';
import { passesFilter } from '../channels/passes-filter';

/** A stored event. */
export type FactRow = Pick<
  WebhookEventEntity,
  'id' | 'organizationId' | 'type' | 'subjectId' | 'sequence' | 'details' | 'createdAt'
>;

export interface FanOutParts {
  database: Database;
  /** Reads the event’s resource as its GET route returns it; null if it was deleted. */
  readSubject(fact: FactRow): Promise<object | null>;
  /** Called with the endpoints for which deliveries were just inserted. */
  ring(endpointIds: string[]): void;
  now(): Date;
}

const readAtOnce = 4;
/** Maximum seconds between two attempts to read the resource of an event. */
const longestRestSeconds = 600;

/**
 * Creates deliveries for the waiting events of one organization or of all: one for each endpoint that wants the event.
 * The body is read once, here, and every endpoint gets the same one.
 */
export function fanOut(
  { database, readSubject, ring, now }: FanOutParts,
  round = new Round('fan out webhooks'),
  organizationId: string | null = null,
): Promise<SweepCounts<'told' | 'unheard'>> {
  return sweep(round, {
    name: `events ${organizationId ?? ''}`,
    outcomes: ['told', 'unheard'],
    atOnce: readAtOnce,
    candidates: (after: FactRow | null, limit) => waitingFacts(database, { organizationId, after, limit }),
    settle: async (fact) => {
      let body: string;
      try {
        body = bodyOf(fact, await readSubject(fact));
      } catch (error) {
        await postpone(database, fact);
        throw error;
      }
      const endpoints = await database.transaction('system', (tx) => writeDeliveries(tx, fact, { body, now: now() }));
      if (endpoints) ring(endpoints);
      return endpoints?.length ? 'told' : 'unheard';
    },
    rowOf: ({ id, type }) => `event ${id} (${type})`,
  });
}

function waitingFacts(
  database: Database,
  { organizationId, after, limit }: { organizationId: string | null; after: FactRow | null; limit: number },
): Promise<FactRow[]> {
  return database.query<FactRow>(
    'system',
    `SELECT id, organization_id, type, subject_id, sequence, details, created_at FROM webhook_event
     WHERE fanned_out_at IS NULL AND ($1::uuid IS NULL OR organization_id = $1)
       AND ($2::uuid IS NULL OR (organization_id, id) > ($3::uuid, $2))
       AND (rests_until IS NULL OR rests_until < muster_now())
     ORDER BY organization_id, id LIMIT $4`,
    [organizationId, after?.id ?? null, after?.organizationId ?? null, limit],
    'waiting_webhook_events',
  );
}

/** The current resource, with the state from the event, which the resource may have left since. */
function bodyOf({ type, createdAt, subjectId, details, sequence }: FactRow, subject: object | null): string {
  const data = { ...(subject ?? { id: subjectId, deleted: true }), ...details, sequence };
  return JSON.stringify({ type, timestamp: createdAt.toISOString(), data });
}

/** Returns the ids of the endpoints; null if another process has already fanned out the event. */
async function writeDeliveries(
  tx: Transaction,
  { id, organizationId, type }: FactRow,
  { body, now }: { body: string; now: Date },
): Promise<string[] | null> {
  const taken = await tx.execute(
    'UPDATE webhook_event SET body = $2, fanned_out_at = muster_now() WHERE id = $1 AND fanned_out_at IS NULL',
    [id, body],
    'fan_out_webhook_event',
  );
  if (taken === 0) return null;
  const found = await tx.query<Wanting>(
    `SELECT w.id, w.kind, w.recipients, w.filter FROM webhook_endpoint w
     WHERE w.organization_id = $1 AND w.enabled AND w.events && ARRAY['*', $2::text]
       AND w.created_at <= (SELECT created_at FROM webhook_event WHERE id = $3)
     ORDER BY w.id FOR SHARE`,
    [organizationId, type, id],
    'endpoints_of_event',
  );
  const wanting = await passing(tx, found, { type, body });
  // Each e-mail recipient has a separate delivery, so that one refused address does not cause resends to the others.
  const deliveries = wanting.flatMap(({ id: endpointId, kind, recipients }) =>
    (kind === 'email' ? recipients : ['']).map((recipient) => ({ endpointId, recipient })),
  );
  if (deliveries.length === 0) return [];
  await tx.execute(
    `INSERT INTO webhook_delivery (id, organization_id, endpoint_id, event_id, type, due_at, recipient)
     SELECT d.id, $1, d.endpoint_id, $2, $3, $4, d.recipient
     FROM unnest($5::uuid[], $6::uuid[], $7::text[]) AS d (id, endpoint_id, recipient)
     ON CONFLICT (event_id, endpoint_id, recipient) DO NOTHING`,
    [
      ...[organizationId, id, type, now, deliveries.map(() => newId())],
      ...[deliveries.map(({ endpointId }) => endpointId), deliveries.map(({ recipient }) => recipient)],
    ],
    'insert_webhook_deliveries',
  );
  return wanting.map((endpoint) => endpoint.id);
}

type Wanting = Pick<WebhookEndpointEntity, 'id' | 'kind' | 'recipients' | 'filter'>;

/** Returns the endpoints whose filter the event passes. Reads the agent’s labels only if a filter needs them. */
async function passing(
  tx: Transaction,
  found: Wanting[],
  { type, body }: { type: WebhookType; body: string },
): Promise<Wanting[]> {
  if (found.every(({ filter }) => !filter)) return found;
  const { data } = JSON.parse(body) as { data: Record<string, unknown> };
  const agentId = type.startsWith('agent.') ? data['id'] : data['agentId'];
  const [agent] = found.some(({ filter }) => filter?.labels?.length)
    ? await tx.query<Pick<AgentEntity, 'labels'>>('SELECT labels FROM agent WHERE id = $1', [agentId ?? null])
    : [];
  const subject = { type, data, labels: agent?.labels ?? [] };
  return found.filter(({ filter }) => passesFilter(filter, subject));
}

async function postpone(database: Database, { id }: FactRow): Promise<void> {
  await database.query(
    'system',
    `UPDATE webhook_event SET faults = faults + 1,
       rests_until = muster_now() + LEAST(power(2, LEAST(faults + 1, 20)), $2) * interval '1 second'
     WHERE id = $1`,
    [id, longestRestSeconds],
    'postpone_event',
  );
}
