import { AppError, invalidFieldError } from '@muster/contracts';
import { parseJsonBody } from '@muster/platform';
import { type Step, checkStepType } from '../check-steps';
import { recorderTypes } from '../step-types';
import { unzipRecording, type ZippedRecording } from './unzip-recording';

export const maxRecordingBytes = 20 * 1024 * 1024;
const maxSteps = 2000;
const maxErrors = 20;

export interface Recording {
  title: string;
  /** The steps with ids added; the recorder writes steps without ids. */
  steps: Step[];
  /** Timeout of the recording in milliseconds, for steps without a timeout; null if the recording has none. */
  timeoutMs: number | null;
  screenshots: ZippedRecording['screenshots'];
}

/** Reads a Chrome DevTools Recorder JSON, or a zip of one with its screenshots. */
export async function readRecording(bytes: Buffer): Promise<Recording> {
  const zipped = bytes.subarray(0, 2).toString('latin1') === 'PK';
  const { recording, screenshots } = zipped ? await unzipRecording(bytes) : { recording: bytes, screenshots: [] };
  const flow = await parseRecordingJson(recording);
  if (!Array.isArray(flow['steps'])) {
    throw unreadableRecordingError('The file is not a recording of Chrome’s DevTools Recorder: it has no list steps.');
  }
  if (flow['steps'].length === 0) throw unreadableRecordingError('The recording has no steps. Record at least one.');
  if (flow['steps'].length > maxSteps) throw unreadableRecordingError(`The recording has more than ${maxSteps} steps.`);
  const steps = flow['steps'].map(addStepId);
  requireRecordedSteps(steps);
  const { title, timeout } = flow;
  return {
    title: typeof title === 'string' ? title.trim() : '',
    steps,
    timeoutMs: typeof timeout === 'number' && timeout > 0 ? timeout : null,
    screenshots,
  };
}

async function parseRecordingJson(recording: Buffer): Promise<Record<string, unknown>> {
  let flow: unknown;
  const mark = recording.subarray(0, 3).toString('hex') === 'efbbbf' ? 3 : 0;
  try {
    flow = await parseJsonBody(recording.subarray(mark));
  } catch (error) {
    throw unreadableRecordingError((error as Error).message.replace('The body', 'The recording'));
  }
  if (typeof flow !== 'object' || flow === null || Array.isArray(flow)) {
    throw unreadableRecordingError(
      'The file is not a recording of Chrome’s DevTools Recorder: it is not a JSON object.',
    );
  }
  return flow as Record<string, unknown>;
}

function addStepId(step: unknown, at: number): Step {
  if (typeof step !== 'object' || step === null || Array.isArray(step)) {
    throw unreadableRecordingError(`Step ${at + 1} is not an object.`, `steps.${at}`);
  }
  const { id: _id, ...rest } = step as Step;
  return { id: `step-${at + 1}`, ...rest };
}

function requireRecordedSteps(steps: Step[]): void {
  const errors = steps.flatMap((step, at) => {
    const addFieldError = (field: string, message: string) => ({
      field: `steps.${at}.${field}`,
      message: `step ${at + 1}: ${message}`,
    });
    const { type, selectors } = step;
    if (typeof type !== 'string' || !Object.hasOwn(recorderTypes, type)) {
      return [addFieldError('type', `the recorder has no step type ${String(type).slice(0, 100)}`)];
    }
    // The recorder finds elements only by selectors; people may also name a form's field.
    const named = step['field'] ?? step['selector'] ?? step['text'];
    const { element } = recorderTypes[type]!;
    if (selectors === undefined && (element === 'required' || (element && named !== undefined))) {
      return [addFieldError('selectors', 'selectors is required')];
    }
    return checkStepType(step, recorderTypes).map(([name, message]) => addFieldError(name, message));
  });
  if (errors.length) {
    throw new AppError('invalid_payload', {
      detail: `The recording is invalid: ${errors[0]!.message}.`,
      errors: errors.slice(0, maxErrors),
    });
  }
}

function unreadableRecordingError(detail: string, field = 'recording'): AppError {
  return invalidFieldError(field, detail, detail);
}
