import { readWriteCondition } from '../conditions';
import { callBucket, callKey, type Call } from '../operation';
import { sendEmpty } from '../wire/respond';

export async function deleteObject(call: Call): Promise<void> {
  const bucket = callBucket(call);
  bucket.remove(callKey(call), readWriteCondition(call.request.headers));
  await bucket.flush();
  sendEmpty(call.response, 204);
}
