import { assertMayWrite, readWriteCondition } from '../conditions';
import { getBucketOfCall, getKeyOfCall, type Call } from '../operation';
import { formatObjectTime, selectStoredHeaders } from '../storage/object-metadata';
import { sendEmpty } from '../wire/respond';
import { stageFile } from '../storage/stored-file';

export async function putObject(call: Call): Promise<void> {
  const { request, response, store, now } = call;
  const bucket = getBucketOfCall(call);
  const key = getKeyOfCall(call);
  const condition = readWriteCondition(request.headers);
  // The condition is checked again after the upload. This first check avoids an upload that would be rejected.
  assertMayWrite(condition, bucket.index.getEntry(key));
  const headers = selectStoredHeaders(request.headers);
  const payload = call.openPayload({ maxBytes: MAX_PUT_BYTES });
  const staged = await stageFile({
    directory: store.tempDirectory,
    chunks: payload.chunks,
    describe: () => ({
      key,
      etag: payload.getVerifiedMd5().toString('hex'),
      lastModified: formatObjectTime(now()),
      headers,
    }),
  });
  bucket.putFile(staged, condition);
  await bucket.flush();
  sendEmpty(response, 200, { etag: `"${staged.metadata.etag}"` });
}

const MAX_PUT_BYTES = 5 * 1024 ** 3;
