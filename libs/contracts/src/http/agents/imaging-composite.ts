import { IntListField, TextField, UrlField } from '../fields';
import { CommandStatus } from './commands';

export class ImagingCompositeBody {
  @TextField({
    max: 500,
    pattern: /\S/,
    example: 'Smith, Ann (PATIMAGEID: 1234)',
    description:
      'Patient to find: the image id of the patient (PATIMAGEID), a label that contains it, a chart number, or a ' +
      'name (`Last, First` or `First Last`).',
  })
  patientLookup!: string;
  @IntListField({
    minItems: 1,
    maxItems: 32,
    min: 1,
    max: 32,
    example: [3, 14],
    description: 'Tooth numbers from 1 to 32, in the numbering of the American Dental Association.',
  })
  teeth!: number[];
}

export class ImagingCompositeStatus extends CommandStatus {
  @UrlField({
    optional: true,
    nullable: true,
    max: 4096,
    description:
      'Presigned URL of the PNG, valid for one hour. Present if the command succeeded; null if it could not be signed.',
  })
  compositeUrl?: string | null;
}
