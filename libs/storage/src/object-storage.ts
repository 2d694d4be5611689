import { createReadStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { AppError } from '@muster/contracts';
import type { S3Client } from '@aws-sdk/client-s3';
import { buildContentHeaders } from './build-content-headers';
import { getPublicAddress, Readiness, registerErrorReader } from '@muster/platform';
import { StorageConfig } from './storage.config';
import { isStorageFullError, readStorageError } from './storage-errors';

/** Path of objects below the service's own address, if the service forwards the requests to the storage. */
export const objectProxyPath = '/objects';
/**
 * Host for which the URLs below `objectProxyPath` are signed. The storage's own address is not used, because it can
 * change when the storage restarts.
 */
export const objectSigningHost = 'objects.muster.internal';
/** Maximum size in bytes of an object that the service forwards. */
export const maxProxiedBytes = 100 * 1024 * 1024;
const deleteConcurrency = 8;

/**
 * Reads and writes the bucket. The SDK is loaded at the first use, because it is large and most requests do not need
 * it.
 */
@Injectable()
export class ObjectStorage implements OnApplicationShutdown {
  private connected?: Promise<{ sdk: typeof import('@aws-sdk/client-s3'); client: S3Client; public: S3Client }>;

  constructor(
    @Inject(StorageConfig) private readonly config: StorageConfig,
    @Inject(Readiness) readiness: Readiness,
  ) {
    registerErrorReader(readStorageError);
    readiness.registerCheck('storage', () => this.checkBucket(), {
      required: false,
      deep: () => this.checkFreeSpace(),
    });
  }

  async put(key: string, body: Buffer, contentType: string): Promise<void> {
    const { sdk, client } = await this.loadClients();
    const { s3Bucket: Bucket } = this.config;
    await client.send(new sdk.PutObjectCommand({ Bucket, Key: key, Body: body, ContentType: contentType }));
  }

  /** Uploads a file as a stream, so that it is never in memory as a whole. */
  async putFile(key: string, { path, size }: { path: string; size: number }, contentType: string): Promise<void> {
    const { sdk, client } = await this.loadClients();
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

  /** Returns the object as a stream, or null if it does not exist. The ETag identifies its version. */
  async read(
    key: string,
  ): Promise<{ chunks: AsyncIterable<Uint8Array>; size: number; etag: string; contentType: string } | null> {
    const { sdk, client } = await this.loadClients();
    try {
      const answer = await client.send(new sdk.GetObjectCommand({ Bucket: this.config.s3Bucket, Key: key }));
      const { Body, ContentLength = 0, ETag = '', ContentType = 'application/octet-stream' } = answer;
      const chunks = readObjectChunks(Body as unknown as IncomingMessage);
      return { chunks, size: ContentLength, etag: ETag, contentType: ContentType };
    } catch (error) {
      if (error instanceof sdk.NoSuchKey) return null;
      throw error;
    }
  }

  /** Lists all objects whose keys start with the prefix, page by page. */
  async *list(prefix: string): AsyncIterable<{ key: string; size: number; etag: string }> {
    const { sdk, client } = await this.loadClients();
    const { s3Bucket: Bucket } = this.config;
    const pages = sdk.paginateListObjectsV2({ client }, { Bucket, Prefix: prefix });
    for await (const { Contents = [] } of pages)
      for (const { Key, Size = 0, ETag = '' } of Contents) yield { key: Key!, size: Size, etag: ETag };
  }

  /** Returns the size of an object in bytes, or null if it does not exist. */
  async readObjectSize(key: string): Promise<number | null> {
    const { sdk, client } = await this.loadClients();
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

  /** Copies an object within the storage. Returns false if its ETag has changed or it does not exist. */
  async copy(from: string, to: string, { etag }: { etag: string }): Promise<boolean> {
    const { sdk, client } = await this.loadClients();
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

  /** Returns the object's bytes, or null if it does not exist or exceeds `maxBytes`. */
  async get(key: string, { maxBytes = Infinity }: { maxBytes?: number } = {}): Promise<Buffer | null> {
    const { sdk, client } = await this.loadClients();
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
    const { sdk, client } = await this.loadClients();
    await client.send(new sdk.DeleteObjectCommand({ Bucket: this.config.s3Bucket, Key: key }));
  }

  /** Deletes objects, a few at the same time. */
  async deleteAll(keys: readonly string[]): Promise<void> {
    const waiting = [...keys];
    const deleteNextKeys = async () => {
      for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) await this.delete(key);
    };
    await Promise.all(Array.from({ length: deleteConcurrency }, deleteNextKeys));
  }

  /** Presigns a URL that reads the object without credentials. A browser shows images and saves anything else. */
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
      /** The service's address for the reader of the URL; by default the public one, or that of the current request. */
      address?: string;
    },
  ): Promise<string> {
    const { sdk, public: client } = await this.loadClients();
    const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
    const name = filename ?? key.slice(key.lastIndexOf('/') + 1);
    const command = new sdk.GetObjectCommand({
      Bucket: this.config.s3Bucket,
      Key: key,
      ...buildContentHeaders(name, contentType),
    });
    return this.toProxiedUrl(await getSignedUrl(client, command, { expiresIn: expiresInSeconds }), address);
  }

  /**
   * Presigns a URL that uploads one object of this type (and size, if specified); returns the headers to send with it.
   */
  async presignPut(
    key: string,
    {
      contentType,
      size,
      expiresInSeconds,
      address,
    }: { contentType: string; size?: number; expiresInSeconds: number; address?: string },
  ): Promise<{ url: string; headers: Record<string, string> }> {
    const { sdk, public: client } = await this.loadClients();
    const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
    const command = new sdk.PutObjectCommand({
      Bucket: this.config.s3Bucket,
      Key: key,
      ContentType: contentType,
      ContentLength: size,
    });
    const url = await getSignedUrl(client, command, {
      expiresIn: expiresInSeconds,
      // The type and the size are part of the signature, so that the storage rejects an upload with other values.
      signableHeaders: new Set(['content-type', 'host', ...(size === undefined ? [] : ['content-length'])]),
    });
    return { url: this.toProxiedUrl(url, address), headers: { 'content-type': contentType } };
  }

  private toProxiedUrl(signed: string, address = getPublicAddress(this.config)): string {
    if (!this.config.s3ThroughService) return signed;
    const { pathname, search } = new URL(signed);
    return `${address}${objectProxyPath}${pathname}${search}`;
  }

  async checkBucket(): Promise<void> {
    const { sdk, client } = await this.loadClients();
    await client.send(new sdk.HeadBucketCommand({ Bucket: this.config.s3Bucket }));
  }

  /** Checks for free space by writing a few bytes to the same key each time. */
  private async checkFreeSpace(): Promise<void> {
    try {
      await this.put('health/room-to-write', Buffer.from('x'), 'text/plain');
    } catch (error) {
      throw isStorageFullError(error) ? Object.assign(new Error('the disk is full'), { code: 'full' }) : error;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    const clients = await this.connected;
    clients?.client.destroy();
    clients?.public.destroy();
  }

  private loadClients() {
    this.connected ??= import('@aws-sdk/client-s3').then((sdk) => {
      const { s3Endpoint, s3PublicEndpoint, s3ThroughService, s3Region, s3AccessKeyId, s3SecretAccessKey } =
        this.config;
      const createClient = (endpoint: string | undefined) =>
        new sdk.S3Client({
          region: s3Region,
          endpoint,
          forcePathStyle: endpoint !== undefined,
          maxAttempts: 2,
          // The SDK is configured to add no checksum, because a presigned URL is created before the bytes are known.
          requestChecksumCalculation: 'WHEN_REQUIRED',
          requestHandler: { connectionTimeout: 2000, requestTimeout: 30_000 },
          ...(s3AccessKeyId
            ? { credentials: { accessKeyId: s3AccessKeyId, secretAccessKey: s3SecretAccessKey ?? '' } }
            : {}),
        });
      return {
        sdk,
        client: createClient(s3Endpoint),
        public: createClient(s3ThroughService ? `http://${objectSigningHost}` : (s3PublicEndpoint ?? s3Endpoint)),
      };
    });
    return this.connected;
  }
}

const silenceMs = 30_000;

/**
 * Yields the chunks. Throws service_unavailable if the connection is lost or silent for 30 seconds during an object.
 */
function readObjectChunks(body: IncomingMessage): AsyncIterable<Uint8Array> {
  body.setTimeout(silenceMs, () => body.destroy(new Error('the object storage sent no data for 30 s')));
  const readBody = async function* () {
    try {
      for await (const chunk of body) yield chunk as Uint8Array;
    } catch (cause) {
      throw new AppError('service_unavailable', { detail: 'The object storage does not answer; try again.', cause });
    }
  };
  return readBody();
}
