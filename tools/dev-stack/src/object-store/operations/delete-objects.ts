import type { Bucket } from '../storage/bucket';
import { promisedChecksum } from '../wire/checksums';
import { S3Error } from '../errors';
import { callBucket, type Call } from '../operation';
import { sendXml } from '../wire/respond';
import { childText, type XmlElement, type XmlNode } from '../wire/xml';
import { readXmlBody } from './xml-body';

export async function deleteObjects(call: Call): Promise<void> {
  const { headers } = call.request;
  const bucket = callBucket(call);
  if (!headers.has('content-md5') && !promisedChecksum(headers)) {
    throw new S3Error('InvalidRequest', { message: 'Missing required header for this request: Content-MD5' });
  }
  const { keys, quiet } = readDeletion(await readXmlBody(call, 'Delete'));
  const results = keys.map((key) => removeOne(bucket, { key, quiet }));
  await bucket.flush();
  sendXml(call.response, ['DeleteResult', results]);
}

const MAX_KEYS = 1000;

function readDeletion(root: XmlElement): { keys: string[]; quiet: boolean } {
  const objects = root.children.filter((child) => child.name === 'Object');
  if (objects.length === 0 || objects.length > MAX_KEYS) throw new S3Error('MalformedXML');
  const keys = objects.map((object) => {
    const strange = object.children.find((child) => child.name !== 'Key');
    if (strange) throw new S3Error('NotImplemented', { Element: strange.name });
    const key = childText(object, 'Key');
    if (!key) throw new S3Error('MalformedXML');
    return key;
  });
  return { keys, quiet: childText(root, 'Quiet') === 'true' };
}

function removeOne(bucket: Bucket, { key, quiet }: { key: string; quiet: boolean }): XmlNode | undefined {
  bucket.remove(key, { onlyIfAbsent: false });
  return quiet ? undefined : ['Deleted', [['Key', key]]];
}
