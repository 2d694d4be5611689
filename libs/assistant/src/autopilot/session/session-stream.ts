import { AsyncResource } from 'node:async_hooks';
import type { OutgoingMessage } from 'node:http';
import type { LastingAccess } from '@muster/access';
import type { AutopilotEventEntity, AutopilotPause, AutopilotSessionEntity, Database } from '@muster/database';
import { formatEventFrame, type OpenStreams, type PubSub } from '@muster/platform';
import { ReaderConnection } from '@muster/timeline';
import type { PresignImage } from './present-session';
import { sessionNotFoundError } from './session-row';

const batchSize = 200;
const pollEveryMs = 2000;
const beatMs = 15_000;

interface SessionRef {
  organizationId: string;
  agentId: string;
  sessionId: string;
}

interface StreamParts {
  database: Database;
  pubSub: PubSub;
  streams: OpenStreams;
  presignImage: PresignImage;
  access: LastingAccess;
}

type EventRow = Pick<AutopilotEventEntity, 'seq' | 'type' | 'data' | 'at'>;

/** Returns the number of the event after which a stream starts: `lastEventId`, or 0 without one. */
export async function findStreamStart(
  database: Database,
  { organizationId, agentId, sessionId }: SessionRef,
  lastEventId: string | undefined,
): Promise<number> {
  const [session] = await database.query<Pick<AutopilotSessionEntity, 'lastEvent'>>(
    { organizationId },
    'SELECT last_event FROM autopilot_session WHERE id = $1 AND organization_id = $2 AND agent_id = $3',
    [sessionId, organizationId, agentId],
    'autopilot_stream_head',
  );
  if (!session) throw sessionNotFoundError();
  const requested = Number(lastEventId ?? 0);
  // The number is higher than the last event if the database was restored from a backup. Then all events are sent.
  return requested <= session.lastEvent ? requested : 0;
}

/** Streams a session's stored and new events until the client disconnects or loses its access. */
export function followSession(
  { database, pubSub, streams, presignImage, access }: StreamParts,
  { organizationId, sessionId }: SessionRef,
  { connection, after }: { connection: OutgoingMessage; after: number },
): void {
  const reader = new ReaderConnection({ organizationId, connection, access });
  let seq = after;
  let reading = false;
  let again = false;

  // A notification runs in another async context. `read` is bound to the context of the client's request, because the
  // presigned URLs depend on it.
  const read = AsyncResource.bind(async () => {
    again = true;
    if (reading) return;
    reading = true;
    try {
      while (again && reader.open) {
        again = false;
        const rows = await database.query<EventRow & object>(
          { organizationId },
          `SELECT seq, type, data, at FROM autopilot_event
           WHERE session_id = $1 AND organization_id = $2 AND seq > $3 ORDER BY seq LIMIT $4`,
          [sessionId, organizationId, seq, batchSize],
          'autopilot_events',
        );
        const frames = await Promise.all(rows.map((row) => buildEventFrame(sessionId, row, presignImage)));
        if (rows.length > 0) reader.write(frames.join(''));
        seq = rows.at(-1)?.seq ?? seq;
        again ||= rows.length === batchSize;
      }
    } catch {
      // The next poll resumes after the last event that was sent.
    } finally {
      reading = false;
    }
  });

  const stopListening = pubSub.subscribe('autopilot', (id) => void (id === sessionId && read()));
  const poll = setInterval(() => void read(), pollEveryMs);
  const beat = setInterval(() => reader.sendHeartbeat(), beatMs);
  const removeStream = streams.addStream(() => reader.end());
  reader.runOnceClosed(() => {
    stopListening();
    clearInterval(poll);
    clearInterval(beat);
    removeStream();
  });
  void read();
}

async function buildEventFrame(
  sessionId: string,
  { seq, type, data, at }: EventRow,
  presignImage: PresignImage,
): Promise<string> {
  const pause = data['pausedFor'] as AutopilotPause | undefined;
  const presented = pause && {
    pausedFor: {
      reason: pause.reason,
      questionId: pause.questionId ?? null,
      question: pause.question,
      screenshotUrl: await presignImage(pause.screenshotKey ?? null),
    },
  };
  const event = { type, sessionId, ...data, ...presented, timestamp: at.toISOString() };
  return formatEventFrame({ id: seq, event: type, data: event });
}
