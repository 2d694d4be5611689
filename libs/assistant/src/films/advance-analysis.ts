import { loadSecretRedactor, type Principal } from '@muster/access';
import { findRecording, readCommandStatus, startFramesCommand } from '@muster/commands';
import { appendTimeline } from '@muster/timeline';
import { AppError } from '@muster/contracts';
import type { Database, Transaction, VideoAnalysisEntity } from '@muster/database';
import { toJpegDataUrl, maxPictureBytes, ModelFault, type ModelUsage, noUsage, sumUsages } from '@muster/models';
import { runWhileRenewingLease } from '@muster/platform';
import { findModelForCaller, type ModelParts } from '@muster/pricing';
import type { ObjectStorage } from '@muster/storage';
import { createWorkflow, maxRecordingBytes, prepareRecordingUpload, readRecording, type Step } from '@muster/workflows';
import { Logger } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AnalysisFault, type AnalysisRow, buildFrameKey, maxFilmMs, maxFrames } from './analysis-row';
import { askAboutFrames } from './ask-about-frames';
import { convertRecordedSteps, convertVideoSteps, type SeenStep } from './film-steps';
import { findStoredAnswer, createAnswerSaver } from './stored-answers';

export interface AnalysisParts extends ModelParts {
  storage: ObjectStorage;
  wakeTimeoutMs: number;
  /** Maximum duration of a model call with its second try, in milliseconds. */
  modelMs: number;
}

/** The result of one step: columns to set, and the delay until the next step in milliseconds. */
interface Next {
  set: Partial<Pick<AnalysisRow, 'step' | 'progress' | 'frames' | 'frameTimes' | 'seen' | 'commandId'>> & {
    usage?: { inputTokens: number; outputTokens: number; costMicros: number };
  };
  inMs: number;
}

const framesPerQuestion = 40;
const framesTimeoutMs = 20 * 60_000;
const pollMs = 1000;
const attempts = 5;
const computeLeaseMs = (modelMs: number) => modelMs + 60_000;
const framesScript = readFileSync(join(__dirname, 'take-frames.py'), 'utf8');
const log = new Logger('video analysis');

/**
 * Executes one step of an analysis. If the process dies, another one repeats the step after the lease has expired. The
 * row's `turn` changes with each lease, so only the result of the latest lease is applied.
 */
export async function advanceAnalysis(parts: AnalysisParts, id: string): Promise<void> {
  const row = await acquireAnalysisLease(parts, id);
  if (!row) return;
  try {
    const next = await runAnalysisStep(parts, row);
    if (next) await saveAnalysisProgress(parts.database, row, next);
  } catch (error) {
    await retryOrFailAnalysis(parts, row, error);
  }
}

function runAnalysisStep(parts: AnalysisParts, row: AnalysisRow): Promise<Next | null> {
  switch (row.step) {
    case 'read':
      return readRecordingStep(parts, row);
    case 'frames':
      return readExtractedFrames(parts, row);
    case 'ask':
      return askAboutNextFrames(parts, row);
    case 'make':
      return createDraftWorkflow(parts, row, convertVideoSteps(row, row.seen as SeenStep[])).then(() => null);
  }
}

/** Renews the lease during a model call, which can wait long for a busy model. */
async function renewAnalysisLease({ database, modelMs }: AnalysisParts, { id, turn }: AnalysisRow): Promise<void> {
  await database
    .queryUnflushed(
      'system',
      `UPDATE video_analysis SET due_at = muster_now() + $3 * interval '1 millisecond'
       WHERE id = $1 AND turn = $2`,
      [id, turn, computeLeaseMs(modelMs)],
      'renew_analysis',
    )
    .catch((error: Error) => log.warn(`the lease of video analysis ${id} could not be renewed: ${error.message}`));
}

async function acquireAnalysisLease({ database, modelMs }: AnalysisParts, id: string): Promise<AnalysisRow | null> {
  const [row] = await database.query<AnalysisRow>(
    'system',
    `UPDATE video_analysis SET turn = turn + 1, status = 'running', due_at = muster_now() + $2 * interval '1 millisecond'
     WHERE id = $1 AND due_at <= muster_now() RETURNING *`,
    [id, computeLeaseMs(modelMs)],
  );
  return row ?? null;
}

/** Reads the recording. Recorded events alone need no model. A video needs frames and a model. */
async function readRecordingStep(parts: AnalysisParts, row: AnalysisRow): Promise<Next | null> {
  const { filmKey, events, durationMs } = await openSourceObject(parts, row);
  if (durationMs !== null && durationMs > maxFilmMs) {
    throw new AnalysisFault('recording_too_long', 'The recording is longer than 60 minutes.');
  }
  const model = filmKey ? await findModelForCaller(parts, toModelCaller(row)) : null;
  if (events && !model) {
    await createDraftWorkflow(parts, row, convertRecordedSteps(await parseRecordedSteps(events)));
    return null;
  }
  if (!filmKey) throw new AnalysisFault('recording_unreadable', 'The recording has neither a video nor steps.');
  if (!model) throw new AnalysisFault('model_not_configured', 'A video needs a language model; none is configured.');
  const commandId = await issueFramesCommand(parts, row, filmKey);
  return { set: { step: 'frames', progress: 10, commandId }, inMs: pollMs };
}

async function openSourceObject({ database, storage }: AnalysisParts, row: AnalysisRow) {
  const { organizationId, recordingId, uploadKey } = row;
  if (recordingId) {
    const found = await findRecording(database, organizationId, recordingId).catch(() => null);
    if (!found) throw new AnalysisFault('recording_not_found', 'The recording no longer exists.');
    const { storageKey: filmKey, eventsKey, eventsSize, startedAt, endedAt } = found;
    const isReadable = eventsKey !== null && (eventsSize ?? 0) <= maxRecordingBytes;
    const durationMs = startedAt && endedAt ? endedAt.getTime() - startedAt.getTime() : null;
    return { filmKey, events: isReadable ? await storage.get(eventsKey) : null, durationMs };
  }
  const size = await storage.readObjectSize(uploadKey!);
  if (size === null) throw new AnalysisFault('recording_not_found', 'No file was uploaded with this key.');
  const events = size <= maxRecordingBytes ? await readRecordedEvents(storage, uploadKey!) : null;
  return { filmKey: events ? null : uploadKey, events, durationMs: null };
}

/** Reads a DevTools recording, which is JSON. Returns null for any other file after its first chunk. */
async function readRecordedEvents(storage: AnalysisParts['storage'], key: string): Promise<Buffer | null> {
  const object = await storage.read(key);
  if (!object) return null;
  const chunks: Uint8Array[] = [];
  for await (const chunk of object.chunks) {
    if (chunks.length === 0 && !/^(\xef\xbb\xbf)?\s*\{/.test(Buffer.from(chunk).toString('latin1', 0, 1000)))
      return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function parseRecordedSteps(events: Buffer): Promise<Step[]> {
  try {
    return (await readRecording(events)).steps;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const isEmpty = /has no steps/.test(error.message);
    throw new AnalysisFault(isEmpty ? 'no_steps_found' : 'recording_unreadable', error.message);
  }
}

async function issueFramesCommand(parts: AnalysisParts, row: AnalysisRow, filmKey: string): Promise<string> {
  const { database, storage, keyRing, wakeTimeoutMs, clock } = parts;
  const { organizationId, agentId } = row;
  const expiresInSeconds = (framesTimeoutMs + wakeTimeoutMs) / 1000;
  // If the service proxies the object store, the URLs are relative: the machine adds its own address of the service.
  const [film, ...frames] = await Promise.all([
    storage.presignGet(filmKey, { expiresInSeconds, address: '' }),
    ...Array.from({ length: maxFrames }, (_, at) =>
      storage.presignPut(buildFrameKey(row, at + 1), { contentType: 'image/jpeg', expiresInSeconds, address: '' }),
    ),
  ]);
  try {
    return await database.transaction({ organizationId }, (tx) =>
      startFramesCommand(tx, {
        ...{ organizationId, agentId, code: framesScript, keyRing, wakeTimeoutMs, timeoutMs: framesTimeoutMs },
        secrets: { film, frames: JSON.stringify(frames) },
        now: clock.now(),
      }),
    );
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AnalysisFault('frames_unavailable', error.message);
  }
}

async function readExtractedFrames({ database }: AnalysisParts, row: AnalysisRow): Promise<Next> {
  const { organizationId, agentId, commandId } = row;
  const command = await readCommandStatus(database, { organizationId, agentId, commandId: commandId! }, ['snippet']);
  if (command.status === 'pending') return { set: {}, inMs: pollMs };
  if (command.status === 'failed') {
    throw new AnalysisFault(
      'frames_unavailable',
      `The machine could not extract images from the video: ${command.error ?? 'it reported no reason'}`,
    );
  }
  const report = parseFramesOutput(command.output);
  if (report.code) throw new AnalysisFault(report.code, report.error ?? 'The machine extracted no images.');
  const frameTimes = (report.frames ?? []).slice(0, maxFrames);
  if (frameTimes.length === 0)
    throw new AnalysisFault('recording_unreadable', 'No image could be extracted from the video.');
  return { set: { step: 'ask', progress: 30, frames: frameTimes.length, frameTimes }, inMs: 0 };
}

function parseFramesOutput(output: string | undefined) {
  const faults = ['frames_unavailable', 'recording_unreadable', 'recording_too_long'] as const;
  try {
    const { code, error, frames } = JSON.parse(output!.trim()) as { code?: string; error?: string; frames?: unknown };
    const times = Array.isArray(frames) ? frames.filter((each): each is number => Number.isSafeInteger(each)) : [];
    return { code: faults.find((each) => each === code), error, frames: times };
  } catch {
    throw new AnalysisFault('frames_unavailable', 'The machine’s list of the extracted images cannot be read.');
  }
}

async function askAboutNextFrames(parts: AnalysisParts, row: AnalysisRow): Promise<Next> {
  const { storage } = parts;
  const { frameTimes, name, hint, asked: framesAsked } = row;
  const numbers = frameTimes.map((_, at) => at + 1).slice(framesAsked, framesAsked + framesPerQuestion);
  const stored = await findStoredAnswer(parts.database, row);
  if (stored.steps) return appendSeenSteps(row, { ...stored, steps: stored.steps, frames: numbers.length });
  const frames = await Promise.all(
    numbers.map(async (number) => {
      const bytes = await storage.get(buildFrameKey(row, number), { maxBytes: maxPictureBytes });
      if (!bytes) throw new AnalysisFault('frames_unavailable', `Image ${number} was not uploaded or is too large.`);
      const dataUrl = toJpegDataUrl(bytes);
      if (!dataUrl) throw new AnalysisFault('frames_unavailable', `Image ${number} is not a JPEG image.`);
      return { number, atMs: frameTimes[number - 1]!, dataUrl };
    }),
  );
  const model = await findModelForCaller(parts, { ...toModelCaller(row), keep: createAnswerSaver(row) });
  if (!model) throw new AnalysisFault('model_not_configured', 'The language model is no longer configured.');
  const { events } = await openSourceObject(parts, row);
  const before = row.seen as SeenStep[];
  const recorded = events && (await parseRecordedSteps(events).catch(() => null));
  const hidden = await loadSecretRedactor(parts, row);
  const { steps, usage } = await runWhileRenewingLease(
    () => renewAnalysisLease(parts, row),
    () => askAboutFrames(model, { name, hint, events: recorded, before, frames }, hidden),
    computeLeaseMs(parts.modelMs) / 3,
  );
  return appendSeenSteps(row, { steps, usage: sumUsages([stored.usage, usage]), frames: frames.length });
}

function appendSeenSteps(
  { asked: framesAsked, frameTimes, seen }: AnalysisRow,
  { steps, usage, frames }: { steps: SeenStep[]; usage: ModelUsage; frames: number },
): Next {
  const isLast = framesAsked + frames >= frameTimes.length;
  const progress = 30 + Math.round((60 * (framesAsked + frames)) / frameTimes.length);
  return {
    set: { step: isLast ? 'make' : 'ask', progress, seen: [...(seen as SeenStep[]), ...steps], usage },
    inMs: 0,
  };
}

/** Creates the workflow and completes the analysis in one transaction. */
async function createDraftWorkflow({ database }: AnalysisParts, row: AnalysisRow, steps: Step[]): Promise<void> {
  const { organizationId, agentId, id, turn, recordingId } = row;
  if (steps.length === 0) throw new AnalysisFault('no_steps_found', 'No steps can be seen in the recording.');
  const title = row.name ?? 'Film';
  const prepared = prepareRecordingUpload(
    { title, steps, timeoutMs: null, screenshots: [] },
    { organizationId, name: title },
  );
  const { name, variables, script } = prepared;
  await database.transaction({ organizationId }, async (tx) => {
    const ended = await tx.execute(
      `UPDATE video_analysis SET status = 'completed', progress = 100, workflow_id = $3, due_at = NULL
       WHERE id = $1 AND turn = $2 AND due_at IS NOT NULL`,
      [id, turn, prepared.id],
    );
    if (ended === 0) return;
    const body = { name, variables, script, steps: prepared.steps };
    await createWorkflow(tx, row.actor as unknown as Principal, body, prepared.id, { kind: 'video', recordingId });
    appendAnalysisEntry(
      tx,
      { organizationId, agentId },
      `A recording was turned into the workflow ${name}, a draft of ${steps.length} steps`,
    );
  });
}

async function saveAnalysisProgress(
  database: Database,
  { id, organizationId, turn }: AnalysisRow,
  { set, inMs }: Next,
): Promise<void> {
  const { usage = noUsage } = set;
  await database.transaction({ organizationId }, async (tx) => {
    const updated = await tx.execute(
      `UPDATE video_analysis SET step = COALESCE($3, step), progress = COALESCE($4, progress),
         frames = COALESCE($5, frames), frame_times = COALESCE($6::jsonb, frame_times), seen = COALESCE($7::jsonb, seen),
         asked = CASE WHEN $7::jsonb IS NULL THEN asked ELSE LEAST(asked + ${framesPerQuestion}, frames) END,
         command_id = COALESCE($8, command_id), input_tokens = input_tokens + $9, output_tokens = output_tokens + $10,
         cost_micros = cost_micros + $11, faults = 0, due_at = muster_now() + $12 * interval '1 millisecond'
       WHERE id = $1 AND turn = $2`,
      [
        ...[id, turn, set.step ?? null, set.progress ?? null, set.frames ?? null],
        ...[toJsonOrNull(set.frameTimes), toJsonOrNull(set.seen), set.commandId ?? null],
        ...[usage.inputTokens, usage.outputTokens, usage.costMicros, inMs],
      ],
    );
    if (updated > 0 && inMs === 0) {
      await tx.enqueue({ queue: 'dispatch', name: 'analyze-video', payload: { analysisId: id } });
    }
  });
}

function toJsonOrNull(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

/** Fails the analysis on a permanent error, or when all attempts are used. Otherwise the step is repeated. */
async function retryOrFailAnalysis({ database }: AnalysisParts, row: AnalysisRow, error: unknown): Promise<void> {
  const { id, organizationId, agentId, turn } = row;
  const isFinal = error instanceof AnalysisFault || error instanceof AppError;
  if (!isFinal && row.faults + 1 < attempts) {
    log.warn(`a step of analysis ${id} failed and will be repeated: ${(error as Error).message}`);
    await database.query(
      'system',
      `UPDATE video_analysis SET faults = faults + 1, due_at = muster_now() + interval '5 seconds' WHERE id = $1 AND turn = $2`,
      [id, turn],
    );
    return;
  }
  const { inputTokens = 0, outputTokens = 0, costMicros = 0 } = error instanceof ModelFault ? error.usage : {};
  const code = isFinal ? (error as AnalysisFault | AppError).code : 'internal_error';
  const message = isFinal ? (error as Error).message : 'The service failed because of a defect. Try again.';
  await database.transaction({ organizationId }, async (tx) => {
    const ended = await tx.execute(
      `UPDATE video_analysis SET status = 'failed', code = $3, error = $4, due_at = NULL,
         input_tokens = input_tokens + $5, output_tokens = output_tokens + $6, cost_micros = cost_micros + $7
       WHERE id = $1 AND turn = $2 AND due_at IS NOT NULL`,
      [id, turn, code, message.slice(0, 2000), inputTokens, outputTokens, costMicros],
    );
    if (ended)
      appendAnalysisEntry(
        tx,
        { organizationId, agentId },
        `A recording could not be turned into a workflow: ${message}`,
        'error',
      );
  });
}

function appendAnalysisEntry(
  tx: Transaction,
  agentRef: { organizationId: string; agentId: string },
  message: string,
  level: 'info' | 'error' = 'info',
): void {
  appendTimeline(tx, agentRef, [{ kind: 'execution', message: message.slice(0, 500), level, source: 'assistant' }]);
}

function toModelCaller({
  organizationId,
  agentId,
  id,
}: Pick<VideoAnalysisEntity, 'organizationId' | 'agentId' | 'id'>) {
  return { organizationId, agentId, sessionId: id, purpose: 'video_analyze' as const };
}
