import { S3Error } from '../errors';
import { getBucketOfCall, type Call } from '../operation';
import { sendEmpty, sendXml } from '../wire/respond';
import type { XmlNode } from '../wire/xml';

export async function listBuckets({ response, store }: Call): Promise<void> {
  const buckets = store.listBuckets().map(({ name, createdAt }): XmlNode => [
    'Bucket',
    [
      ['Name', name],
      ['CreationDate', createdAt.toISOString()],
    ],
  ]);
  sendXml(response, ['ListAllMyBucketsResult', [['Buckets', buckets]]]);
}

export async function headBucket(call: Call): Promise<void> {
  getBucketOfCall(call);
  sendEmpty(call.response, 200, { 'x-amz-bucket-region': call.region });
}

export async function createBucket(call: Call): Promise<void> {
  const { request, response, store, region } = call;
  const name = request.target.bucket ?? '';
  const created = await store.createBucket(name);
  // Only us-east-1, the oldest region, allows an owner to create an existing bucket again.
  if (!created && region !== 'us-east-1') throw new S3Error('BucketAlreadyOwnedByYou', { BucketName: name });
  sendEmpty(response, 200, { location: `/${name}` });
}
