import { DateTimeField, EnumField, IntField, ListField, ObjectField, TextField, TextMapField } from '../fields';
import { IgnoreUnknownFields } from '../unknown-fields';

/** Matches a file name that is one path segment. A name that leads to another folder does not match. */
const filenamePattern = /^(?!\.$)(?![\s\S]*\.\.)[^/\\]+$/;

const mostImages = 4000;

export class ImagingImage {
  @IntField({ example: 1, description: 'Number of the image, unique within the request.' }) ordinal!: number;
  @TextField({ max: 255, pattern: filenamePattern, example: '00012345.dex' }) filename!: string;
}

export class ImagingImagesBody {
  @TextField({
    max: 1024,
    pattern: /\S/,
    description:
      'Folder of the image files: a path on the machine of the agent, or a share in the network of the practice ' +
      'such as `\\\\server\\share\\…`.',
    example: '\\\\imaging\\images\\1234',
  })
  imagingPath!: string;
  @IntField({ min: 1, max: Number.MAX_SAFE_INTEGER, example: 1234 }) patimageid!: number;
  @ListField(() => ImagingImage, { minItems: 1, maxItems: mostImages }) images!: ImagingImage[];
}

const signedUrl = {
  max: 4096,
  format: 'uri',
  example: 'https://bucket.example.com/imaging/1-full.jpg?X-Amz-Signature=0a',
};
const presignedUrl =
  'Presigned URL to download the image without credentials, valid for one hour. Null if there is no image or the URL ' +
  'could not be signed.';

export class ConvertedImage extends ImagingImage {
  @TextField({ nullable: true, max: 1024 }) fullKey!: string | null;
  @TextField({ nullable: true, max: 1024 }) thumbnailKey!: string | null;
  @TextField({ ...signedUrl, nullable: true, description: presignedUrl }) fullUrl!: string | null;
  @TextField({ ...signedUrl, nullable: true, description: presignedUrl }) thumbnailUrl!: string | null;
  @IntField({ nullable: true, example: 2000 }) width!: number | null;
  @IntField({ nullable: true, example: 1500 }) height!: number | null;
  @IntField({ nullable: true, example: 412_000, description: 'Size of the full-size JPEG in bytes.' }) bytes!:
    number | null;
  @TextField({ optional: true, max: 1000, example: 'the file ends within its pixels' }) error?: string;
  @TextField({
    optional: true,
    example: 'damaged',
    description:
      'Error code: not_found, not_a_tiff, damaged, unsupported, image_too_large, path_not_allowed or upload_failed.',
  })
  code?: string;
}

export class ImagingImagesOutput {
  @IntField({ max: Number.MAX_SAFE_INTEGER, example: 1234 }) patimageid!: number;
  @ListField(() => ConvertedImage, { maxItems: mostImages }) images!: ConvertedImage[];
  @IntField({ example: 12 }) converted!: number;
  @IntField({ example: 0 }) failed!: number;
}

export class ImagingImagesStatus {
  @EnumField(['pending', 'success', 'failed']) status!: 'pending' | 'success' | 'failed';
  @ObjectField(() => ImagingImagesOutput, { optional: true }) output?: ImagingImagesOutput;
  @TextField({ optional: true, min: 0, max: 100_000, example: 'none of 3 images could be converted' }) error?: string;
  @TextField({ optional: true, example: 'no_image_converted' }) code?: string;
}

const imagingObjectNames = ['full', 'thumbnail', 'composite'] as const;
export type ImagingObjectName = (typeof imagingObjectNames)[number];

@IgnoreUnknownFields()
export class CommandUploadObject {
  @EnumField(imagingObjectNames, {
    description: 'Kind of file. Each converted image has two files, full and thumbnail. A composite has one file.',
  })
  name!: ImagingObjectName;
  @IntField({
    optional: true,
    description: '`ordinal` of the image in the command from which the file is made. Absent for a composite.',
  })
  ordinal?: number;
  @IntField({ max: Number.MAX_SAFE_INTEGER, example: 412_000, description: 'Size in bytes; at most 100 MiB.' })
  size!: number;
}

@IgnoreUnknownFields()
export class CommandUploadsBody {
  @ListField(() => CommandUploadObject, { minItems: 1, maxItems: 100 }) objects!: CommandUploadObject[];
}

export class CommandUploadTicket {
  @EnumField(imagingObjectNames) name!: ImagingObjectName;
  @IntField({ optional: true }) ordinal?: number;
  @TextField({ max: 1024, example: 'imaging/1234/…/1-full.jpg' }) key!: string;
  @TextField(signedUrl) uploadUrl!: string;
  @EnumField(['PUT']) method!: 'PUT';
  @TextMapField({ description: 'Headers that the upload request must send unchanged.' }) headers!: Record<
    string,
    string
  >;
}

export class CommandUploads {
  @ListField(() => CommandUploadTicket, { description: 'Upload URLs, in the order of the requested objects.' })
  uploads!: CommandUploadTicket[];
  @DateTimeField() expiresAt!: string;
}

@IgnoreUnknownFields()
export class CommandProgressBody {
  @IntField({ example: 120 }) done!: number;
  @IntField({ example: 2 }) failed!: number;
  @IntField({ min: 1, example: 500 }) total!: number;
}
