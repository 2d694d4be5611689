import type { OutgoingMessage } from 'node:http';
import { AppError, isTerminalStatus, notFoundError, type ScreenFrame } from '@muster/contracts';
import type { Database, JobEntity } from '@muster/database';
import { formatEventFrame, type OpenStreams } from '@muster/platform';
import type { Reporter } from '../reports/reporter';
import { type FrameLimit, renewWatchMs, type ScreenRelay } from './screen-relay';

const heartbeatMs = 15_000;

/** Throws unless the run is running on the reporter's agent. */
export async function requireRunOfWorker(
  database: Database,
  { organizationId, agentId }: Reporter,
  jobId: string,
): Promise<void> {
  const [job] = await database.query<Pick<JobEntity, 'status'>>(
    { organizationId },
    'SELECT status FROM job WHERE id = $1 AND organization_id = $2 AND ($3::uuid IS NULL OR agent_id = $3)',
    [jobId, organizationId, agentId],
    'status_of_screen',
  );
  if (!job) throw notFoundError('job');
  if (isTerminalStatus(job.status)) {
    throw new AppError('conflict', { detail: `The run has already ended with the status ${job.status}.` });
  }
}

interface WorkerStream {
  database: Database;
  screens: ScreenRelay;
  streams: OpenStreams;
  reporter: Reporter;
  jobId: string;
  connection: OutgoingMessage;
}

/**
 * Tells the worker whether somebody watches the run's browser, and passes input on to it, until the worker disconnects
 * or the run ends.
 */
export function serveScreenWorker({ database, screens, streams, reporter, jobId, connection }: WorkerStream): void {
  let watched = false;
  const sendWatched = (isWatched: boolean) => {
    watched = isWatched;
    if (!connection.writableEnded) connection.write(formatEventFrame({ event: 'watch', data: { watched } }));
  };
  const checkWatch = async () => {
    // If Redis does not answer, the last state that the worker received stays in effect.
    const isWatched = await screens.isWatched(jobId).catch(() => watched);
    if (isWatched !== watched) sendWatched(isWatched);
  };
  const checkRun = async () => {
    connection.write(': still here\n\n');
    const isOver = await requireRunOfWorker(database, reporter, jobId).then(
      () => false,
      (error: unknown) => error instanceof AppError,
    );
    if (isOver) connection.end();
  };
  const stopListening = screens.listenForControl(jobId, {
    // A person who joins needs an image at once, and a page that does not change sends none.
    watch: () => sendWatched(true),
    input: (input) => void connection.write(formatEventFrame({ event: 'input', data: input })),
  });
  const poll = setInterval(() => void checkWatch(), renewWatchMs);
  const beat = setInterval(() => void checkRun(), heartbeatMs);
  const removeStream = streams.addStream(() => connection.end(), 'screen');
  connection.on('error', () => undefined);
  connection.once('close', () => {
    stopListening();
    clearInterval(poll);
    clearInterval(beat);
    removeStream();
  });
  void checkWatch();
}

/** The limits of the runs whose workers send images to this process. */
export class FrameLimits {
  private readonly limits = new Map<string, { limit: FrameLimit; usedAt: number }>();

  constructor(private readonly create: () => FrameLimit) {}

  mayPassFrameOfJob(jobId: string, now: number): boolean {
    const entry = this.limits.get(jobId) ?? { limit: this.create(), usedAt: now };
    entry.usedAt = now;
    this.limits.set(jobId, entry);
    if (this.limits.size > maxLimits) this.removeUnusedLimits(now);
    return entry.limit.mayPassFrame(now);
  }

  /** Removes the limits of runs that sent nothing within the last second, which no longer limit anything. */
  private removeUnusedLimits(now: number): void {
    for (const [jobId, { usedAt }] of this.limits) if (now - usedAt > 1000) this.limits.delete(jobId);
  }
}

const maxLimits = 1000;

/** Passes an image from a worker on to the people who watch. Returns whether somebody watches. */
export async function relayFrameToViewers(
  { database, screens, limits }: { database: Database; screens: ScreenRelay; limits: FrameLimits },
  reporter: Reporter,
  { jobId, frame, now }: { jobId: string; frame: ScreenFrame; now: number },
): Promise<boolean> {
  if (!limits.mayPassFrameOfJob(jobId, now)) {
    throw new AppError('rate_limited', {
      detail: 'A run may send at most 5 images of its browser per second.',
      headers: { 'retry-after': '1' },
    });
  }
  await requireRunOfWorker(database, reporter, jobId);
  // If Redis does not answer, nobody can be watching.
  if (!(await screens.isWatched(jobId).catch(() => false))) return false;
  await screens.sendFrame(jobId, frame).catch(() => undefined);
  return true;
}
