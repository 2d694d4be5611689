import { assertMayWrite, readWriteCondition } from '../conditions';
import { callBucket, callKey, type Call } from '../operation';
import { objectTime, storedHeaders } from '../storage/object-metadata';
import { sendEmpty } from '../wire/respond';
import { stageFile } from '../storage/stored-file';

export async function putObject(call: Call): Promise<void> {
  const { request, response, store, now } = call;
  const bucket = callBucket(call);
  const key = callKey(call);
  const condition = readWriteCondition(request.headers);
  // Checked again after the upload; this check avoids an upload that would be rejected.
  assertMayWrite(condition, bucket.index.get(key));
  const headers = storedHeaders(request.headers);
  const payload = call.openPayload({ maxBytes: MAX_PUT_BYTES });
  const staged = await stageFile({
    directory: store.tempDirectory,
    chunks: payload.chunks,
    describe: () => ({ key, etag: payload.verified().toString('hex'), lastModified: objectTime(now()), headers }),
  });
  bucket.put(staged, condition);
  await bucket.flush();
  sendEmpty(response, 200, { etag: `"${staged.metadata.etag}"` });
}

const MAX_PUT_BYTES = 5 * 1024 ** 3;
