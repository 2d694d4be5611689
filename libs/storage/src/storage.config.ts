import { BaseConfig, type ChecksItself, EnvFlag, EnvText, EnvUrl } from '@muster/platform';

/** Configuration of the object storage. */
export class StorageConfig extends BaseConfig implements ChecksItself {
  @EnvUrl('S3_ENDPOINT', {
    description: 'URL of an S3-compatible storage. If absent, AWS is used.',
    protocols: ['http:', 'https:'],
    optional: true,
  })
  readonly s3Endpoint?: string;

  @EnvUrl('S3_PUBLIC_ENDPOINT', {
    description:
      'URL at which workers and browsers reach the same storage, for presigned URLs. If absent, S3_ENDPOINT is used.',
    protocols: ['http:', 'https:'],
    optional: true,
  })
  readonly s3PublicEndpoint?: string;

  @EnvFlag('S3_THROUGH_SERVICE', {
    description:
      'Whether presigned URLs lead to the path /objects of the service, and the service forwards the requests to ' +
      'S3_ENDPOINT. Set it to true if workers and browsers cannot reach the storage.',
    default: false,
  })
  readonly s3ThroughService!: boolean;

  @EnvText('S3_REGION', { description: 'Region of the bucket.', default: 'us-east-1' })
  readonly s3Region!: string;

  @EnvText('S3_BUCKET', {
    description: 'Bucket that stores screenshots, recordings, images and bundles.',
    default: 'muster',
  })
  readonly s3Bucket!: string;

  @EnvText('S3_ACCESS_KEY_ID', {
    description:
      'Access key of the S3 storage. If absent, the platform’s credentials are used (an instance role or a web ' +
      'identity).',
    optional: true,
  })
  readonly s3AccessKeyId?: string;

  @EnvText('S3_SECRET_ACCESS_KEY', { description: 'Secret of S3_ACCESS_KEY_ID.', optional: true, secret: true })
  readonly s3SecretAccessKey?: string;

  findFaults(): string[] {
    const { s3AccessKeyId, s3SecretAccessKey } = this;
    return Boolean(s3AccessKeyId) === Boolean(s3SecretAccessKey)
      ? []
      : ['S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY belong together; set both or neither'];
  }
}
