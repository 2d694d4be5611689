import { BaseConfig, type ChecksItself, EnvFlag, EnvText, EnvUrl } from '@muster/platform';

/** For apps that keep objects. */
export class StorageConfig extends BaseConfig implements ChecksItself {
  @EnvUrl('S3_ENDPOINT', {
    description: 'An S3 endpoint; absent means AWS.',
    protocols: ['http:', 'https:'],
    optional: true,
  })
  readonly s3Endpoint?: string;

  @EnvUrl('S3_PUBLIC_ENDPOINT', {
    description: 'The same storage as workers and browsers reach it, for presigned URLs; absent means S3_ENDPOINT.',
    protocols: ['http:', 'https:'],
    optional: true,
  })
  readonly s3PublicEndpoint?: string;

  @EnvFlag('S3_THROUGH_SERVICE', {
    description:
      'Presigned URLs are the service’s own, below /objects, and it passes them on to S3_ENDPOINT: for a store that ' +
      'workers and browsers do not reach.',
    default: false,
  })
  readonly s3ThroughService!: boolean;

  @EnvText('S3_REGION', { description: 'The bucket’s region.', default: 'us-east-1' })
  readonly s3Region!: string;

  @EnvText('S3_BUCKET', {
    description: 'Where screenshots, recordings, images and bundles are kept.',
    default: 'muster',
  })
  readonly s3Bucket!: string;

  @EnvText('S3_ACCESS_KEY_ID', {
    description: 'Absent means the platform’s own credentials (an instance role, a web identity).',
    optional: true,
  })
  readonly s3AccessKeyId?: string;

  @EnvText('S3_SECRET_ACCESS_KEY', { description: 'Belongs to S3_ACCESS_KEY_ID.', optional: true, secret: true })
  readonly s3SecretAccessKey?: string;

  faults(): string[] {
    const { s3AccessKeyId, s3SecretAccessKey } = this;
    return Boolean(s3AccessKeyId) === Boolean(s3SecretAccessKey)
      ? []
      : ['S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY belong together'];
  }
}
