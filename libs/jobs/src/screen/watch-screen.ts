import { audit, type LastingAccess, type Principal } from '@muster/access';
import {
  AppError,
  invalidFieldError,
  isTerminalStatus,
  notFoundError,
  type ScreenFrame,
  type ScreenInput,
} from '@muster/contracts';
import type { Database, JobEntity, QuestionEntity, Transaction } from '@muster/database';
import { formatEventFrame, type OpenStreams, type PubSub } from '@muster/platform';
import { ReaderConnection } from '@muster/timeline';
import type { OutgoingMessage } from 'node:http';
import { listAudiencesOfCaller } from '../questions/question-row';
import { FrameLimit, renewWatchMs, type ScreenRelay } from './screen-relay';

type Watched = Pick<JobEntity, 'status' | 'agentId'>;

/** Records in the audit log that the caller opens the screen of a run. Throws unless the run is running. */
export async function auditOpenScreen(tx: Transaction, caller: Principal, jobId: string): Promise<void> {
  await requireRunningJob(tx, caller.organizationId, jobId);
  audit(tx, caller, { action: 'screen.open', target: { type: 'job', id: jobId } });
}

async function requireRunningJob(tx: Transaction, organizationId: string, jobId: string): Promise<void> {
  const [job] = await tx.query<Watched>(
    'SELECT status, agent_id FROM job WHERE id = $1 AND organization_id = $2',
    [jobId, organizationId],
    'job_of_screen',
  );
  if (!job) throw notFoundError('job');
  if (isTerminalStatus(job.status)) {
    throw new AppError('conflict', { detail: `The run has already ended with the status ${job.status}.` });
  }
}

interface WatchParts {
  database: Database;
  pubSub: PubSub;
  streams: OpenStreams;
  screens: ScreenRelay;
  access: LastingAccess;
}

const beatMs = 15_000;

/**
 * Sends the images of a run's browser until the client disconnects or loses its access, or the run ends. A client that
 * reads too slowly misses images.
 */
export function watchScreen(
  { database, pubSub, streams, screens, access }: WatchParts,
  { organizationId, jobId }: { organizationId: string; jobId: string },
  connection: OutgoingMessage,
): void {
  const reader = new ReaderConnection({ organizationId, connection, access });
  const limit = new FrameLimit();
  const sendFrame = ({ data, width, height }: ScreenFrame) => {
    if (connection.writableNeedDrain || !limit.mayPassFrame(performance.now())) return;
    reader.write(formatEventFrame({ event: 'frame', data: { data, width, height } }));
  };
  const endWithRun = async () => {
    const [job] = await database.query<Watched>(
      { organizationId },
      'SELECT status, agent_id FROM job WHERE id = $1 AND organization_id = $2',
      [jobId, organizationId],
      'job_of_screen',
    );
    if (job && !isTerminalStatus(job.status)) return;
    reader.write(formatEventFrame({ event: 'end', data: { status: job?.status ?? 'deleted' } }));
    reader.end();
  };
  const checkRun = () => void endWithRun().catch(() => undefined);
  const renewWatch = () => void screens.renewWatch(jobId).catch(() => undefined);
  const stopFrames = screens.listenForFrames(jobId, sendFrame);
  const stopListening = pubSub.subscribe('job', (id) => void (id === jobId && checkRun()));
  const renew = setInterval(renewWatch, renewWatchMs);
  const beat = setInterval(() => {
    reader.sendHeartbeat();
    checkRun();
  }, beatMs);
  const removeStream = streams.addStream(() => reader.end(), 'screen');
  reader.runOnceClosed(() => {
    stopFrames();
    stopListening();
    clearInterval(renew);
    clearInterval(beat);
    removeStream();
  });
  void screens.startWatching(jobId).catch(() => undefined);
}

/** The fields that each kind of screen input must have. */
const neededFields = { click: ['x', 'y'], type: ['text'], key: ['key'], scroll: ['x', 'y'] } as const;

/**
 * Records in the audit log that the caller sends input to the browser of a run. The typed text is not recorded. Throws
 * unless the run waits for an answer to a question that lets people take its browser over, and the caller may answer it.
 */
export async function auditScreenInput(
  tx: Transaction,
  caller: Principal,
  { jobId, input }: { jobId: string; input: ScreenInput },
): Promise<void> {
  const { organizationId } = caller;
  for (const field of neededFields[input.kind]) {
    if (input[field] === undefined) {
      throw invalidFieldError(field, `${field} is required`, `An input of the kind ${input.kind} needs ${field}.`);
    }
  }
  await requireRunningJob(tx, organizationId, jobId);
  const questions = await tx.query<Pick<QuestionEntity, 'id' | 'audience'>>(
    `SELECT id, audience FROM question
     WHERE job_id = $1 AND organization_id = $2 AND status = 'open' AND takeover AND expires_at > muster_now()`,
    [jobId, organizationId],
    'questions_with_takeover',
  );
  if (questions.length === 0) {
    throw new AppError('conflict', { detail: 'The run does not ask a person to take its browser over.' });
  }
  const own = listAudiencesOfCaller(caller);
  if (!questions.some(({ audience }) => audience.length === 0 || audience.some((entry) => own.includes(entry)))) {
    throw new AppError('permission_denied', {
      detail: 'Only the recipients of the question can take the browser over.',
    });
  }
  const { text: _, ...fields } = input;
  audit(tx, caller, { action: 'screen.input', target: { type: 'job', id: jobId }, changes: { ...fields } });
}
