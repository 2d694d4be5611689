import { createReadStream, statSync } from 'node:fs';
import { extname } from 'node:path';
import { Readable } from 'node:stream';
import type { UploadBody, UploadTicket } from '@muster/contracts';
import { isObject, toStringOrEmpty } from './command';
import { describeRefusal } from './callbacks';
import { serializeBody, classifyStatus, type Service, type Verdict } from './service';
import { withTimeout } from '../host/waiting';

const sendMs = 15 * 60_000;

export interface Upload {
  path: string;
  filename: string;
  jobId?: string;
  agentId: string;
}

const types: Record<string, string> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
  '.pdf': 'application/pdf',
  '.json': 'application/json',
  '.csv': 'text/csv',
  '.txt': 'text/plain',
  '.html': 'text/html',
  '.zip': 'application/zip',
  '.mkv': 'video/x-matroska',
};

/** Makes one attempt: requests an upload URL and sends the file to it. */
export async function uploadFile(
  service: Service,
  { path, filename, jobId, agentId }: Upload,
  signal: AbortSignal,
): Promise<{ verdict: Verdict; key?: string; reason: string; retryAfterMs: number }> {
  const size = readFileSize(path);
  if (size === null) return { verdict: 'refused', reason: 'the file no longer exists', retryAfterMs: 0 };
  const contentType = types[extname(filename).toLowerCase()] ?? 'application/octet-stream';
  const text = serializeBody<UploadBody>({ jobId, filename, contentType, size });
  const ticket = await service.callService<UploadTicket>({
    method: 'POST',
    path: `/api/agents/${agentId}/uploads`,
    text,
  });
  const { key, uploadUrl, method, headers } = ticket.body;
  const verdict = classifyStatus(ticket.status);
  if (verdict !== 'delivered' || !toStringOrEmpty(uploadUrl)) {
    const reason = verdict === 'delivered' ? 'the response has no uploadUrl' : describeRefusal(ticket);
    return { verdict: verdict === 'delivered' ? 'later' : verdict, reason, retryAfterMs: ticket.retryAfterMs };
  }

  // The API key is for the service only: the store gets just the headers that the service returned.
  const response = await withTimeout(sendMs, [signal], async (signal) => {
    const answer = await fetch(new URL(toStringOrEmpty(uploadUrl), service.baseUrl), {
      method: toStringOrEmpty(method) || 'PUT',
      headers: {
        ...(isObject(headers) ? (headers as Record<string, string>) : { 'content-type': contentType }),
        'content-length': String(size),
      },
      body: size ? (Readable.toWeb(createReadStream(path)) as ReadableStream) : '',
      duplex: 'half',
      redirect: 'error',
      signal,
    } as RequestInit);
    await answer.arrayBuffer();
    return answer;
  });
  return {
    // A URL that the store refuses may have expired; the next attempt requests a new one.
    verdict: response.ok ? 'delivered' : 'later',
    key: toStringOrEmpty(key),
    reason: `the object storage returned status ${response.status}`,
    retryAfterMs: 0,
  };
}

function readFileSize(path: string): number | null {
  try {
    return statSync(path).size;
  } catch {
    return null;
  }
}
