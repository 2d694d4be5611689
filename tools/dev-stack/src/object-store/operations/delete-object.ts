import { readWriteCondition } from '../conditions';
import { getBucketOfCall, getKeyOfCall, type Call } from '../operation';
import { sendEmpty } from '../wire/respond';

export async function deleteObject(call: Call): Promise<void> {
  const bucket = getBucketOfCall(call);
  bucket.removeKey(getKeyOfCall(call), readWriteCondition(call.request.headers));
  await bucket.flush();
  sendEmpty(call.response, 204);
}
