import { DateTimeField, EnumField, IntField, TextField, TextMapField, UuidField } from '../fields';
import { IgnoreUnknownFields } from '../unknown-fields';

@IgnoreUnknownFields()
export class UploadBody {
  @UuidField({ optional: true, nullable: true, description: 'Job that the file belongs to.' }) jobId?: string | null;
  @TextField({ max: 255, example: 'eob.pdf' }) filename!: string;
  @TextField({ max: 200, pattern: /^[\w.+-]+\/[\w.+-]+(; ?[\w=.+-]+)*$/, example: 'application/pdf' })
  contentType!: string;
  @IntField({ max: Number.MAX_SAFE_INTEGER, example: 52_120, description: 'Size in bytes; at most 100 MiB.' })
  size!: number;
}

@IgnoreUnknownFields()
export class DownloadBody {
  @UuidField({ description: 'ID of a pending deploy_extension command of the machine.' }) commandId!: string;
}

export class DownloadTicket {
  @TextField({
    max: 4096,
    format: 'uri',
    example: 'https://bucket.example.com/artifacts/marker.zip?X-Amz-Signature=0a1b',
  })
  downloadUrl!: string;
  @TextField({ max: 255, example: 'marker-1.4.0.zip' }) filename!: string;
  @TextField({
    optional: true,
    max: 71,
    example: `sha256:${'0a'.repeat(32)}`,
    description:
      'SHA-256 digest of a pack’s bundle. The machine must compare the digest of the downloaded file with it. ' +
      'Absent for an artifact.',
  })
  digest?: string;
  @DateTimeField() expiresAt!: string;
}

export class UploadTicket {
  @TextField({ max: 1024, example: 'artifacts/…/eob.pdf' }) key!: string;
  @TextField({ max: 4096, format: 'uri', example: 'https://bucket.example.com/artifacts/eob.pdf?X-Amz-Signature=0a1b' })
  uploadUrl!: string;
  @EnumField(['PUT']) method!: 'PUT';
  @TextMapField({ description: 'Headers that the upload request must send unchanged.' }) headers!: Record<
    string,
    string
  >;
  @DateTimeField() expiresAt!: string;
}
