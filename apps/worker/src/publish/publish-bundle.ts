import { isObject, toStringOrEmpty } from '../protocol/command';
import { computeBackoffMs } from '../protocol/backoff';
import { type Answer, getErrorMessage, type Service } from '../protocol/service';
import { waitUnlessAborted, withTimeout } from '../host/waiting';
import type { MadeBundle } from './make-bundle';

export interface Published {
  runtimeBundleId: string;
  digest: string;
}

/** The service or its store refused the request. */
export class Refused extends Error {}
/** The service or its store gave no usable answer. */
export class Unreached extends Error {}
/** The current draft is not the draft that this one should replace. */
export class HeadMoved extends Error {
  constructor(
    readonly current: string | null,
    readonly expected: string | null,
    readonly since: string,
  ) {
    super('the draft was changed in between');
  }
}

const attempts = 4;
const putMs = 15 * 60_000;
/** Timeout of a request, during which the service may check the whole bundle. */
const finalizeMs = 5 * 60_000;

interface Publishing {
  service: Service;
  pack: string;
  bundle: MadeBundle;
  /** Draft to replace; null for none. */
  base: string | null;
  /** Whether to replace any current draft. */
  force: boolean;
  stop: AbortSignal;
}

/** Uploads the bundle to the store; then the service reads it there and makes it the pack's draft. */
export async function publishBundle(publishing: Publishing): Promise<Published> {
  const { service, pack, bundle, stop } = publishing;
  const path = `/api/workflow-packs/${pack}/publish-from-vm`;
  const ticket = await postWithRetries(
    service,
    `${path}/upload`,
    { fileName: 'bundle.zip', contentType: 'application/zip' },
    stop,
  );
  const uploadKey = toStringOrEmpty((ticket as { uploadKey?: unknown }).uploadKey);
  await uploadZip(ticket, service.baseUrl, bundle.zip, stop);
  let { base } = publishing;
  for (;;) {
    const body = { uploadKey, baseRuntimeBundleId: base, files: bundle.files };
    try {
      const draft = await postWithRetries(service, `${path}/finalize`, body, stop);
      return { runtimeBundleId: toStringOrEmpty(draft.runtimeBundleId), digest: toStringOrEmpty(draft.digest) };
    } catch (error) {
      if (!(error instanceof HeadMoved) || !publishing.force || error.current === base) throw error;
      // An upload can be finalized again after a conflict, to replace the current draft.
      base = error.current;
    }
  }
}

type JsonObject = Record<string, unknown>;

/**
 * Sends a POST request, and repeats it after no answer or a temporary error. Both requests of publishing are safe to
 * repeat.
 */
async function postWithRetries(
  service: Service,
  path: string,
  body: JsonObject,
  stop: AbortSignal,
): Promise<JsonObject> {
  const answer = await runWithRetries(stop, async () => {
    const got = await service.callService({ method: 'POST', path, text: JSON.stringify(body), timeoutMs: finalizeMs });
    if (got.status >= 500 || got.status === 429)
      throw new Error(`the service returned status ${got.status}${formatDetailSuffix(got)}`);
    return got;
  });
  if (answer.status < 300) return answer.body as JsonObject;
  throw createAnswerError(answer, body);
}

async function uploadZip(ticket: JsonObject, baseUrl: string, zip: Buffer, stop: AbortSignal): Promise<void> {
  const { uploadUrl, method, headers } = ticket;
  const url = new URL(toStringOrEmpty(uploadUrl), baseUrl);
  const status = await runWithRetries(stop, () =>
    withTimeout(putMs, [stop], async (signal) => {
      // The API key is for the service only: the store gets just the headers that the service returned.
      const sent = isObject(headers) ? (headers as Record<string, string>) : { 'content-type': 'application/zip' };
      const answer = await fetch(url, {
        method: toStringOrEmpty(method) || 'PUT',
        headers: sent,
        body: new Uint8Array(zip),
        redirect: 'error',
        signal,
      });
      await answer.arrayBuffer();
      if (answer.status >= 500) throw new Error(`the object storage returned status ${answer.status}`);
      return answer.status;
    }),
  );
  if (status >= 300) throw new Refused(`the object storage rejected the upload with status ${status}`);
}

async function runWithRetries<T>(stop: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (stop.aborted || attempt === attempts) throw new Unreached(getErrorMessage(error));
      await waitUnlessAborted(computeBackoffMs(attempt), stop);
    }
  }
}

function createAnswerError(answer: Answer, body: JsonObject): Error {
  const response = answer.body as JsonObject;
  if (response.code === 'draft_head_conflict') {
    const since = [toStringOrEmpty(response.createdBy), toStringOrEmpty(response.createdAt)].filter(Boolean).join(', ');
    return new HeadMoved(
      toStringOrEmpty(response.currentRuntimeBundleId) || null,
      body.baseRuntimeBundleId as string | null,
      since,
    );
  }
  const faults = Array.isArray(response.errors) ? response.errors.filter(isObject) : [];
  const lines = faults.map(({ path, field, reason, message }) => {
    const [where, reasonText] = [
      toStringOrEmpty(path) || toStringOrEmpty(field),
      toStringOrEmpty(reason) || toStringOrEmpty(message),
    ];
    return `\n  ${where ? `${where}: ` : ''}${reasonText}`;
  });
  const word = toStringOrEmpty(response.code) ? ` (${toStringOrEmpty(response.code)})` : '';
  return new Refused(
    `the service returned status ${answer.status}${word}${formatDetailSuffix(answer)}${lines.join('')}`,
  );
}

function formatDetailSuffix({ body }: Answer): string {
  const detail = toStringOrEmpty((body as JsonObject).detail);
  return detail ? `: ${detail}` : '';
}
