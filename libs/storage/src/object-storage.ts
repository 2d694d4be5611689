import { createReadStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { AppError } from '@muster/contracts';
import type { S3Client } from '@aws-sdk/client-s3';
import { shownAs } from './shown-as';
import { publicAddress, Readiness, registerErrorReader } from '@muster/platform';
import { StorageConfig } from './storage.config';
import { isFull, readStorageError } from './storage-errors';

/** Where lent objects are below the service's own address, where it passes them on. */
export const lentPath = '/objects';
/** What their URLs are signed for: not where the store happens to be, so that they outlive a restart. */
export const lentHost = 'objects.muster.internal';
/** What of them the service passes on at most. */
export const maxLentBytes = 100 * 1024 * 1024;

/** The bucket. The SDK is loaded with the first use: it is large, and most requests need none of it. */
@Injectable()
export class ObjectStorage implements OnApplicationShutdown {
  private connected?: Promise<{ sdk: typeof import('@aws-sdk/client-s3'); client: S3Client; public: S3Client }>;

  constructor(
    @Inject(StorageConfig) private readonly config: StorageConfig,
    @Inject(Readiness) readiness: Readiness,
  ) {
    registerErrorReader(readStorageError);
    readiness.register('storage', () => this.check(), { required: false, deep: () => this.checkRoom() });
  }

  async put(key: string, body: Buffer, contentType: string): Promise<void> {
    const { sdk, client } = await this.connect();
    const { s3Bucket: Bucket } = this.config;
    await client.send(new sdk.PutObjectCommand({ Bucket, Key: key, Body: body, ContentType: contentType }));
  }

  /** As put, for what lies in a file: it is never in memory as a whole. */
  async putFile(key: string, { path, size }: { path: string; size: number }, contentType: string): Promise<void> {
    const { sdk, client } = await this.connect();
    const { s3Bucket: Bucket } = this.config;
    const Body = createReadStream(path);
    try {
      await client.send(
        new sdk.PutObjectCommand({ Bucket, Key: key, Body, ContentLength: size, ContentType: contentType }),
      );
    } finally {
      Body.destroy();
    }
  }

  /** The object's bytes as they come, or null where there is none. The tag says which version of it they are. */
  async read(
    key: string,
  ): Promise<{ chunks: AsyncIterable<Uint8Array>; size: number; etag: string; contentType: string } | null> {
    const { sdk, client } = await this.connect();
    try {
      const answer = await client.send(new sdk.GetObjectCommand({ Bucket: this.config.s3Bucket, Key: key }));
      const { Body, ContentLength = 0, ETag = '', ContentType = 'application/octet-stream' } = answer;
      const chunks = chunksOf(Body as unknown as IncomingMessage);
      return { chunks, size: ContentLength, etag: ETag, contentType: ContentType };
    } catch (error) {
      if (error instanceof sdk.NoSuchKey) return null;
      throw error;
    }
  }

  /** All objects whose keys begin so, page by page. */
  async *list(prefix: string): AsyncIterable<{ key: string; size: number; etag: string }> {
    const { sdk, client } = await this.connect();
    const { s3Bucket: Bucket } = this.config;
    const pages = sdk.paginateListObjectsV2({ client }, { Bucket, Prefix: prefix });
    for await (const { Contents = [] } of pages)
      for (const { Key, Size = 0, ETag = '' } of Contents) yield { key: Key!, size: Size, etag: ETag };
  }

  /** How many bytes an object has, or null where there is none. */
  async sizeOf(key: string): Promise<number | null> {
    const { sdk, client } = await this.connect();
    try {
      const { ContentLength = 0 } = await client.send(
        new sdk.HeadObjectCommand({ Bucket: this.config.s3Bucket, Key: key }),
      );
      return ContentLength;
    } catch (error) {
      if (error instanceof sdk.NotFound) return null;
      throw error;
    }
  }

  /** Copies within the store the version of an object that was read; false where it is another one by now, or none. */
  async copy(from: string, to: string, { etag }: { etag: string }): Promise<boolean> {
    const { sdk, client } = await this.connect();
    const { s3Bucket: Bucket } = this.config;
    try {
      await client.send(
        new sdk.CopyObjectCommand({
          Bucket,
          Key: to,
          CopySource: `${Bucket}/${encodeURI(from)}`,
          CopySourceIfMatch: etag,
        }),
      );
      return true;
    } catch (error) {
      const { $metadata } = error as { $metadata?: { httpStatusCode?: number } };
      if ([404, 412].includes($metadata?.httpStatusCode ?? 0)) return false;
      throw error;
    }
  }

  /** The object's bytes, or null where there is none, or one that is larger than may be. */
  async get(key: string, { maxBytes = Infinity }: { maxBytes?: number } = {}): Promise<Buffer | null> {
    const { sdk, client } = await this.connect();
    try {
      const answer = await client.send(new sdk.GetObjectCommand({ Bucket: this.config.s3Bucket, Key: key }));
      if ((answer.ContentLength ?? 0) > maxBytes) {
        (answer.Body as IncomingMessage).destroy();
        return null;
      }
      return Buffer.from(await answer.Body!.transformToByteArray());
    } catch (error) {
      if (error instanceof sdk.NoSuchKey) return null;
      throw error;
    }
  }

  async delete(key: string): Promise<void> {
    const { sdk, client } = await this.connect();
    await client.send(new sdk.DeleteObjectCommand({ Bucket: this.config.s3Bucket, Key: key }));
  }

  /** A URL that reads the object for a while, without credentials. It shows pictures, and anything else it saves. */
  async presignGet(
    key: string,
    {
      filename,
      contentType,
      expiresInSeconds,
      address,
    }: {
      filename?: string;
      contentType?: string;
      expiresInSeconds: number;
      /** Of the service, as whoever reads it reaches it; unless said, as whoever asks does. */
      address?: string;
    },
  ): Promise<string> {
    const { sdk, public: client } = await this.connect();
    const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
    const name = filename ?? key.slice(key.lastIndexOf('/') + 1);
    const command = new sdk.GetObjectCommand({
      Bucket: this.config.s3Bucket,
      Key: key,
      ...shownAs(name, contentType),
    });
    return this.lent(await getSignedUrl(client, command, { expiresIn: expiresInSeconds }), address);
  }

  /** A URL that takes one object of this type, and size where it is given, for a while, and what must be sent along. */
  async presignPut(
    key: string,
    {
      contentType,
      size,
      expiresInSeconds,
      address,
    }: { contentType: string; size?: number; expiresInSeconds: number; address?: string },
  ): Promise<{ url: string; headers: Record<string, string> }> {
    const { sdk, public: client } = await this.connect();
    const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
    const command = new sdk.PutObjectCommand({
      Bucket: this.config.s3Bucket,
      Key: key,
      ContentType: contentType,
      ContentLength: size,
    });
    const url = await getSignedUrl(client, command, {
      expiresIn: expiresInSeconds,
      // Signed as headers, so that the store holds the sender to them.
      signableHeaders: new Set(['content-type', 'host', ...(size === undefined ? [] : ['content-length'])]),
    });
    return { url: this.lent(url, address), headers: { 'content-type': contentType } };
  }

  private lent(signed: string, address = publicAddress(this.config)): string {
    if (!this.config.s3ThroughService) return signed;
    const { pathname, search } = new URL(signed);
    return `${address}${lentPath}${pathname}${search}`;
  }

  async check(): Promise<void> {
    const { sdk, client } = await this.connect();
    await client.send(new sdk.HeadBucketCommand({ Bucket: this.config.s3Bucket }));
  }

  /** A few bytes, over and over at one place. */
  private async checkRoom(): Promise<void> {
    try {
      await this.put('health/room-to-write', Buffer.from('x'), 'text/plain');
    } catch (error) {
      throw isFull(error) ? Object.assign(new Error('no room to write'), { code: 'full' }) : error;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    const clients = await this.connected;
    clients?.client.destroy();
    clients?.public.destroy();
  }

  private connect() {
    this.connected ??= import('@aws-sdk/client-s3').then((sdk) => {
      const { s3Endpoint, s3PublicEndpoint, s3ThroughService, s3Region, s3AccessKeyId, s3SecretAccessKey } =
        this.config;
      const make = (endpoint: string | undefined) =>
        new sdk.S3Client({
          region: s3Region,
          endpoint,
          forcePathStyle: endpoint !== undefined,
          maxAttempts: 2,
          // A presigned upload's checksum would have to be known before its bytes are.
          requestChecksumCalculation: 'WHEN_REQUIRED',
          requestHandler: { connectionTimeout: 2000, requestTimeout: 30_000 },
          ...(s3AccessKeyId
            ? { credentials: { accessKeyId: s3AccessKeyId, secretAccessKey: s3SecretAccessKey ?? '' } }
            : {}),
        });
      return {
        sdk,
        client: make(s3Endpoint),
        public: make(s3ThroughService ? `http://${lentHost}` : (s3PublicEndpoint ?? s3Endpoint)),
      };
    });
    return this.connected;
  }
}

const silenceMs = 30_000;

/** A store that falls silent amid an object, or breaks off, is one that does not answer. */
function chunksOf(body: IncomingMessage): AsyncIterable<Uint8Array> {
  body.setTimeout(silenceMs, () => body.destroy(new Error('silence')));
  const read = async function* () {
    try {
      for await (const chunk of body) yield chunk as Uint8Array;
    } catch (cause) {
      throw new AppError('service_unavailable', { detail: 'The object storage does not answer; try again.', cause });
    }
  };
  return read();
}
