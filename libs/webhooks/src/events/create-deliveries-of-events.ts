import type { WebhookType } from '@muster/contracts';
import type { AgentEntity, Database, Transaction, WebhookEndpointEntity, WebhookEventEntity } from '@muster/database';
import { newId, Round, sweepRows, type SweepCounts } from '@muster/platform';
import { passesChannelFilter } from '../channels/passes-channel-filter';

/** A stored webhook event. */
export type EventRow = Pick<
  WebhookEventEntity,
  'id' | 'organizationId' | 'type' | 'subjectId' | 'sequence' | 'details' | 'createdAt'
>;

export interface FanOutParts {
  database: Database;
  /** Reads the event’s resource as its GET route returns it; null if it was deleted. */
  readSubject(event: EventRow): Promise<object | null>;
  /** Evaluates the alert rules, in the transaction that marks the event as fanned out. */
  evaluate(tx: Transaction, event: EventRow): Promise<void>;
  /** Called with the endpoints for which deliveries were just inserted. */
  notify(endpointIds: string[]): void;
  now(): Date;
}

const readConcurrency = 4;
/** Maximum seconds between two attempts to read the resource of an event. */
const maxRetryDelaySeconds = 600;

/**
 * Creates deliveries for the waiting events of one organization or of all: one for each endpoint that wants the event.
 * The body is built once, and every endpoint gets the same body.
 */
export function createDeliveriesOfEvents(
  { database, readSubject, evaluate, notify, now }: FanOutParts,
  round = new Round('fan out webhooks'),
  organizationId: string | null = null,
): Promise<SweepCounts<'told' | 'unheard'>> {
  return sweepRows(round, {
    name: `events ${organizationId ?? ''}`,
    outcomes: ['told', 'unheard'],
    atOnce: readConcurrency,
    candidates: (after: EventRow | null, limit) => readWaitingEvents(database, { organizationId, after, limit }),
    settle: async (event) => {
      let body: string;
      try {
        body = buildEventBody(event, await readSubject(event));
      } catch (error) {
        await postponeUnreadableEvent(database, event);
        throw error;
      }
      const endpoints = await database.transaction('system', (tx) =>
        insertDeliveries(tx, event, { body, now: now(), evaluate }),
      );
      if (endpoints) notify(endpoints);
      return endpoints?.length ? 'told' : 'unheard';
    },
    rowOf: ({ id, type }) => `event ${id} (${type})`,
  });
}

function readWaitingEvents(
  database: Database,
  { organizationId, after, limit }: { organizationId: string | null; after: EventRow | null; limit: number },
): Promise<EventRow[]> {
  return database.query<EventRow>(
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

/** Returns the body: the resource as it is now, except for its state, which is that at the time of the event. */
function buildEventBody({ type, createdAt, subjectId, details, sequence }: EventRow, subject: object | null): string {
  const data = { ...(subject ?? { id: subjectId, deleted: true }), ...details, sequence };
  return JSON.stringify({ type, timestamp: createdAt.toISOString(), data });
}

/** Returns the ids of the endpoints; null if another process has already fanned out the event. */
async function insertDeliveries(
  tx: Transaction,
  event: EventRow,
  { body, now, evaluate }: { body: string; now: Date; evaluate: FanOutParts['evaluate'] },
): Promise<string[] | null> {
  const { id, organizationId, type } = event;
  const updated = await tx.execute(
    'UPDATE webhook_event SET body = $2, fanned_out_at = muster_now() WHERE id = $1 AND fanned_out_at IS NULL',
    [id, body],
    'fan_out_webhook_event',
  );
  if (updated === 0) return null;
  await evaluate(tx, event);
  const found = await tx.query<TargetEndpoint>(
    `SELECT w.id, w.kind, w.recipients, w.filter FROM webhook_endpoint w
     WHERE w.organization_id = $1 AND w.enabled
       AND (w.events && ARRAY['*', $2::text] OR w.id = ANY ((SELECT channel_ids FROM webhook_event WHERE id = $3)::uuid[]))
       AND w.created_at <= (SELECT created_at FROM webhook_event WHERE id = $3)
     ORDER BY w.id FOR SHARE`,
    [organizationId, type, id],
    'endpoints_of_event',
  );
  const targets = await filterEndpointsByEvent(tx, found, { type, body });
  // Each e-mail recipient has a separate delivery, so that one refused address does not cause resends to the others.
  const deliveries = targets.flatMap(({ id: endpointId, kind, recipients }) =>
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
  return targets.map((endpoint) => endpoint.id);
}

type TargetEndpoint = Pick<WebhookEndpointEntity, 'id' | 'kind' | 'recipients' | 'filter'>;

/** Returns the endpoints whose filter the event passes. Reads the agent’s labels only if a filter needs them. */
async function filterEndpointsByEvent(
  tx: Transaction,
  found: TargetEndpoint[],
  { type, body }: { type: WebhookType; body: string },
): Promise<TargetEndpoint[]> {
  if (found.every(({ filter }) => !filter)) return found;
  const { data } = JSON.parse(body) as { data: Record<string, unknown> };
  const agentId = type.startsWith('agent.') ? data['id'] : data['agentId'];
  const [agent] = found.some(({ filter }) => filter?.labels?.length)
    ? await tx.query<Pick<AgentEntity, 'labels'>>('SELECT labels FROM agent WHERE id = $1', [agentId ?? null])
    : [];
  const subject = { type, data, labels: agent?.labels ?? [] };
  return found.filter(({ filter }) => passesChannelFilter(filter, subject));
}

async function postponeUnreadableEvent(database: Database, { id }: EventRow): Promise<void> {
  await database.query(
    'system',
    `UPDATE webhook_event SET faults = faults + 1,
       rests_until = muster_now() + LEAST(power(2, LEAST(faults + 1, 20)), $2) * interval '1 second'
     WHERE id = $1`,
    [id, maxRetryDelaySeconds],
    'postpone_event',
  );
}
