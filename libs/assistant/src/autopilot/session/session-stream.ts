import { AsyncResource } from 'node:async_hooks';
import type { OutgoingMessage } from 'node:http';
import type { LastingAccess } from '@muster/access';
import type { AutopilotEventEntity, AutopilotPause, AutopilotSessionEntity, Database } from '@muster/database';
import type { OpenStreams, PubSub } from '@muster/platform';
import type { PresignImage } from './present-session';
import { noSuchSession } from './session-row';

const batchSize = 200;
const pollEveryMs = 2000;
const beatMs = 15_000;
const maxUnreadBytes = 1024 * 1024;

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
export async function beginOfStream(
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
  if (!session) throw noSuchSession();
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
  let seq = after;
  let reading = false;
  let again = false;
  let beats = 0;
  const open = () => !connection.destroyed && !connection.writableEnded;
  const end = () => void (open() && connection.end());
  const checkAccess = () =>
    void access.holds().then(
      (holds) => holds || end(),
      // If the database does not answer, the stream stays open and the access is checked again later.
      () => undefined,
    );

  // A notification runs in another async context. The presigned URLs depend on the context of the client's request.
  const read = AsyncResource.bind(async () => {
    again = true;
    if (reading) return;
    reading = true;
    try {
      while (again && open()) {
        again = false;
        // The client is too slow. It reconnects with Last-Event-ID and resumes there.
        if (connection.writableLength > maxUnreadBytes) return void connection.destroy();
        const rows = await database.query<EventRow & object>(
          { organizationId },
          `SELECT seq, type, data, at FROM autopilot_event
           WHERE session_id = $1 AND organization_id = $2 AND seq > $3 ORDER BY seq LIMIT $4`,
          [sessionId, organizationId, seq, batchSize],
          'autopilot_events',
        );
        const frames = await Promise.all(rows.map((row) => frameOf(sessionId, row, presignImage)));
        if (rows.length > 0 && open()) connection.write(frames.join(''));
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
  const beat = setInterval(() => {
    if (open()) connection.write(': still here\n\n');
    beats += 1;
    if (beats % 2 === 0) checkAccess();
  }, beatMs);
  const removeStream = streams.add(end);
  const stopChecking = access.onChange(checkAccess);
  connection.on('error', () => undefined);
  connection.once('close', () => {
    stopListening();
    clearInterval(poll);
    clearInterval(beat);
    removeStream();
    stopChecking();
  });
  void read();
}

async function frameOf(
  sessionId: string,
  { seq, type, data, at }: EventRow,
  presignImage: PresignImage,
): Promise<string> {
  const pause = data['pausedFor'] as AutopilotPause | undefined;
  const presented = pause && {
    pausedFor: {
      reason: pause.reason,
      question: pause.question,
      screenshotUrl: await presignImage(pause.screenshotKey ?? null),
    },
  };
  const event = { type, sessionId, ...data, ...presented, timestamp: at.toISOString() };
  return `id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
}
