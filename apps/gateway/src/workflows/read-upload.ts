import { findRecording } from '@muster/commands';
import { AppError, invalidFieldError, UploadWorkflowBody, UploadWorkflowForm } from '@muster/contracts';
import type { Database } from '@muster/database';
import { checkBody, type FormOrJson } from '@muster/platform';
import type { ObjectStorage } from '@muster/storage';
import { maxRecordingBytes, readRecording } from '@muster/workflows';

type Recording = Awaited<ReturnType<typeof readRecording>>;

interface Parts {
  database: Database;
  storage: ObjectStorage;
  organizationId: string;
}

/** Reads the recording that a form contains, or the stored recording that a form or JSON refers to by its id. */
export async function parseUploadRequest(
  input: FormOrJson,
  parts: Parts,
): Promise<{ recording: Recording; name?: string }> {
  const { file, recordingId, name } = input.isForm
    ? await parseUploadForm(input)
    : { ...parseUploadBody(input.jsonBody ?? {}), file: undefined };
  if (file) return { recording: await readRecording(file), name };
  const recorded = await readStoredRecording(parts, recordingId!);
  return { ...recorded, name: name ?? recorded.name };
}

function parseUploadBody(body: unknown): UploadWorkflowBody {
  if (typeof body === 'object' && body !== null && 'steps' in body) {
    throw new AppError('unsupported_media_type', { detail: 'Send the recording as a file in multipart/form-data.' });
  }
  return checkBody(UploadWorkflowBody, body);
}

async function parseUploadForm(input: FormOrJson) {
  const { fields, file } = await input.readForm({ file: 'recording', maxFileBytes: maxRecordingBytes }, readBytes);
  const { recordingId, name } = checkBody(UploadWorkflowForm, {
    ...fields,
    ...(file ? { recording: 'given' } : {}),
  });
  if (!file && !recordingId) throw invalidFieldError('recording', 'recording or recordingId is required');
  if (file && recordingId) throw invalidFieldError('recordingId', 'recordingId and recording cannot be combined');
  return { file: file?.content, recordingId, name };
}

/** Reads the steps and the name of a recording that a worker made and stored. */
async function readStoredRecording({ database, storage, organizationId }: Parts, recordingId: string) {
  const { name, status, eventsKey, eventsSize } = await findRecording(database, organizationId, recordingId);
  const createUploadError = (detail: string) =>
    new AppError('conflict', { detail, extra: { recordingStatus: status } });
  if (status !== 'kept')
    throw createUploadError(
      `The recording has the status ${status}. A workflow can be created only from a recording with the status kept. Wait until the recording is saved, or choose another one.`,
    );
  if (!eventsKey)
    throw createUploadError(
      'The recording is a video and contains no steps. Create the workflow with POST /api/agents/{id}/video-analyze ' +
        'instead.',
    );
  if (eventsSize! > maxRecordingBytes)
    throw new AppError('payload_too_large', { detail: 'The recording is too large. Upload a shorter one.' });
  const bytes = await storage.get(eventsKey).catch((cause: unknown) => {
    throw new AppError('service_unavailable', { detail: 'The recording could not be read. Try again later.', cause });
  });
  if (!bytes) throw createUploadError('The steps of the recording are no longer stored. Choose another recording.');
  return { recording: await readRecording(bytes), name: name ?? undefined };
}

async function readBytes(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const chunk of chunks) pieces.push(chunk);
  return Buffer.concat(pieces);
}
